"""What the user asked to be forgotten, and what follows from it.

A tombstone is a line of ``memory/.forgotten.jsonl``. Unattended writers are refused what says the
same, in every file; prompts, pending history and recall leave it out. A click lifts it, and so
does the user who says it again in a newer message.
"""

from memory.forgotten.forgetting import Forgot, forget
from memory.forgotten.guard import guard, remember_removals
from memory.forgotten.leaving_out import Filtered, without, without_forgotten
from memory.forgotten.stones import (
    PATH,
    Tombstone,
    lift,
    lifting,
    match,
    relevant,
    restated,
    tombstones,
)
from memory.ledger import land

__all__ = [
    "PATH",
    "Filtered",
    "Forgot",
    "Tombstone",
    "forget",
    "guard",
    "land",
    "lift",
    "lifting",
    "match",
    "relevant",
    "remember_removals",
    "restated",
    "tombstones",
    "without",
    "without_forgotten",
]
