"""Uploads that arrive in parts. A part that is sent twice is stored once."""

import os
import re
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{32}")
_DIGITS = 15


def is_id(text: str) -> bool:
    """True for 32 hex digits, the id that the sender chooses for an upload."""
    return _ID.fullmatch(text) is not None


def number(text: str | None) -> int | None:
    """Parse an offset or a size in bytes; ``None`` when it is none."""
    return int(text) if text and text.isdecimal() and len(text) <= _DIGITS else None


def append(waiting: Path, data: bytes, at: int) -> int:
    """Append a part at offset *at* and return the size of the file.

    A part at any other offset than the file's end is not stored.

    Raises:
        OSError: the disk refused.
    """
    waiting.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(waiting, flags, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        there = os.fstat(descriptor).st_size
        # The part is there already: it was sent again because its answer was lost.
        if at == there:
            file.seek(there)
            file.write(data)
            there += len(data)
    return there
