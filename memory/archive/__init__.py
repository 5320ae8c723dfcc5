"""What left the memory files: one file a text under ``memory/archive``, to be found and brought
back."""

from memory.archive.back import BroughtBack, Standing, bring_back, standing
from memory.archive.store import Archived, Event, count, find, get, listing, search

__all__ = [
    "Archived",
    "BroughtBack",
    "Event",
    "Standing",
    "bring_back",
    "count",
    "find",
    "get",
    "listing",
    "search",
    "standing",
]
