"""A file's stat signature: while it stays the same, so does the content of the file.

Clocks of file systems tick every few milliseconds, so a file may change once more within the tick
of its last change and keep its signature. As in git's index, such a signature is *racy*: a cache
does not rely on it.
"""

import os
import stat
import struct
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter

# Convert file times to formats with a smaller range.
#
# A disk stores any number of nanoseconds before or after 1970. A time outside a format's range
# becomes its first or last moment.


NANOSECONDS = 1_000_000_000
# The range of a 64-bit number of seconds, in nanoseconds: no disk stores more.
MOST_NANOSECONDS = (1 << 63) * NANOSECONDS
# A day inside the years of ``datetime``, so that every time zone can show it.
_FIRST_SECOND, _LAST_SECOND = -62_135_510_400, 253_402_214_400
# The years of a zip's own time: 1980 to 2107.
_FIRST_ZIP, _LAST_ZIP = 315_532_800, 4_354_819_198
# "Extended timestamp": seconds since 1970 in 32 bits.
_SECONDS_ID, _SECONDS_FIELD = 0x5455, struct.Struct("<HHBl")
# "NTFS": its times count 100 nanoseconds from 1601.
_TICKS_ID, _TICKS_FIELD = 0x000A, struct.Struct("<HHIHHQQQ")
_TICK = 100
_TICKS_BEFORE_1970 = 116_444_736_000_000_000
_MOST_TICKS = (1 << 63) - 1
_FIELD_HEAD = 4


def moment_of(seconds: float) -> datetime:
    """Return the time in UTC, or the nearest one that a page can show."""
    return datetime.fromtimestamp(min(max(seconds, _FIRST_SECOND), _LAST_SECOND), UTC)


def set_zip_time(info: zipfile.ZipInfo, modified: int) -> None:
    """Store a file's modification time (nanoseconds since 1970) in its zip entry."""
    seconds = modified // NANOSECONDS
    year, month, day, hour, minute, second = time.gmtime(min(max(seconds, _FIRST_ZIP), _LAST_ZIP))[
        :6
    ]
    info.date_time = (year, month, day, hour, minute, second)
    ticks = min(max(modified // _TICK + _TICKS_BEFORE_1970, 0), _MOST_TICKS)
    size = _TICKS_FIELD.size - _FIELD_HEAD
    info.extra = _TICKS_FIELD.pack(_TICKS_ID, size, 0, 1, 24, ticks, ticks, ticks)
    if -(1 << 31) <= seconds < 1 << 31:
        size = _SECONDS_FIELD.size - _FIELD_HEAD
        info.extra += _SECONDS_FIELD.pack(_SECONDS_ID, size, 1, seconds)


def zip_time(info: zipfile.ZipInfo) -> int | None:
    """Return a zip entry's modification time in nanoseconds since 1970; ``None``: unknown."""
    extra, found = info.extra, None
    while len(extra) >= _FIELD_HEAD:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _TICKS_ID and len(extra) >= _TICKS_FIELD.size <= size + _FIELD_HEAD:
            ticks = int(_TICKS_FIELD.unpack_from(extra)[5])
            return (ticks - _TICKS_BEFORE_1970) * _TICK
        if kind == _SECONDS_ID and len(extra) >= _SECONDS_FIELD.size <= size + _FIELD_HEAD:
            found = int(_SECONDS_FIELD.unpack_from(extra)[3]) * NANOSECONDS
        extra = extra[_FIELD_HEAD + size :]
    return found


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
