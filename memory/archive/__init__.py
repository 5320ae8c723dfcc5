"""What left the memory files: one file a text under ``memory/archive``, to be found and brought
back."""

from memory.archive.back import BroughtBack, bring_back
from memory.archive.store import Archived, Event, count, find, get, listing, search

__all__ = [
    "Archived",
    "BroughtBack",
    "Event",
    "bring_back",
    "count",
    "find",
    "get",
    "listing",
    "search",
]
