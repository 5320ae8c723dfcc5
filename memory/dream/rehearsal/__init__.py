"""A dry run: what the next run of Dream would be shown, cost, and change.

It is a run like any other, in a copy of the workspace that is thrown away: the same batch, prompt,
tools and rules, the same model. Nothing is written where it counts, and no place moves.
"""

from memory.dream.rehearsal.carrying import NAME, copied, rehearsed, rows
from memory.dream.rehearsal.dry_book import DryBook
from memory.dream.rehearsal.estimating import Past, estimated
from memory.dream.rehearsal.values import SNAPSHOT, Estimate, Rehearsal, Row

__all__ = [
    "NAME",
    "SNAPSHOT",
    "DryBook",
    "Estimate",
    "Past",
    "Rehearsal",
    "Row",
    "copied",
    "estimated",
    "rehearsed",
    "rows",
]
