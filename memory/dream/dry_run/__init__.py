"""A dry run: what the next run of Dream would be shown, cost, and change.

It is a run like any other, in a copy of the workspace that is thrown away: the same batch, prompt,
tools and rules, the same model. Nothing is written where it counts, and no place moves.
"""

from memory.dream.dry_run.estimate import Past, estimated
from memory.dream.dry_run.null_store import NullRunStore
from memory.dream.dry_run.runner import NAME, copied, dry_run_in_copy, rows
from memory.dream.dry_run.values import SNAPSHOT, DryRunResult, Estimate, Row

__all__ = [
    "NAME",
    "SNAPSHOT",
    "DryRunResult",
    "Estimate",
    "NullRunStore",
    "Past",
    "Row",
    "copied",
    "dry_run_in_copy",
    "estimated",
    "rows",
]
