"""Forgotten texts and their effects.

A tombstone is a line of ``memory/.forgotten.jsonl``. Unattended writers may not write what says
the same, in any file; prompts, pending history and recall leave it out. A click or a newer
statement of the user lifts it.
"""

from memory.ledgers import land
from memory.suppression.forget import (
    ForgettableLine,
    Forgot,
    choice_page,
    describe,
    file_without,
    forget,
    forget_lines,
    lines_to_forget,
    note_wish,
)
from memory.suppression.hide import Filtered, view, without, without_forgotten
from memory.suppression.tombstones import (
    PATH,
    Tombstone,
    find_tombstone,
    lift_tombstone,
    list_tombstones,
    match,
    remove_tombstones,
    restated,
)
from memory.suppression.write_rule import guard, remember_removals

__all__ = [
    "PATH",
    "Filtered",
    "ForgettableLine",
    "Forgot",
    "Tombstone",
    "choice_page",
    "describe",
    "file_without",
    "find_tombstone",
    "forget",
    "forget_lines",
    "guard",
    "land",
    "lift_tombstone",
    "lines_to_forget",
    "list_tombstones",
    "match",
    "note_wish",
    "remember_removals",
    "remove_tombstones",
    "restated",
    "view",
    "without",
    "without_forgotten",
]
