"""A file's stat signature: while it stays the same, so does the content of the file.

Clocks of file systems tick every few milliseconds, so a file may change once more within the tick
of its last change and keep its signature. As in git's index, such a signature is *racy*: a cache
does not rely on it.
"""

import os
import stat
from collections.abc import Callable
from operator import attrgetter

# Change time, modification time (both in nanoseconds), size, inode.
type StatSignature = tuple[int, int, int, int]

_TICK_NS = 50_000_000
# For file systems that keep whole seconds, or every other one.
_COARSE_TICK_NS = 2_100_000_000

signature_of: Callable[[os.stat_result], StatSignature] = attrgetter(
    "st_ctime_ns", "st_mtime_ns", "st_size", "st_ino"
)


def read_signature(path: str) -> StatSignature | None:
    """Return the signature of a plain file; ``None`` when it is not one or is a link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return signature_of(status) if stat.S_ISREG(status.st_mode) else None


def is_racy(signature: StatSignature, read_at: int) -> bool:
    """True when a file that was read at *read_at* (ns since 1970) may change unnoticed."""
    tick = _TICK_NS if signature[0] % 1_000_000_000 else _COARSE_TICK_NS
    return signature[0] > read_at - tick
