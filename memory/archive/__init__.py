"""The archive: texts that left the memory files, one file each under ``memory/archive``."""

from memory.archive.reinsert import BroughtBack, Standing, bring_back, standing
from memory.archive.store import (
    Archived,
    Event,
    count,
    find,
    get,
    listing,
    removed,
    removed_by,
    search,
)

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
    "removed",
    "removed_by",
    "search",
    "standing",
]
