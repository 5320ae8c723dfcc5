"""Files that arrive in pieces: each piece where it belongs, also when it is sent twice."""

import os
import re
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{32}")
_DIGITS = 15


def is_id(text: str) -> bool:
    """Whether it can name a file that is arriving: 32 hex digits, the sender's choice."""
    return _ID.fullmatch(text) is not None


def number(text: str | None) -> int | None:
    """A place or a size, in bytes; ``None``: it is none."""
    return int(text) if text and text.isdecimal() and len(text) <= _DIGITS else None


def append(waiting: Path, data: bytes, at: int) -> int:
    """Add a piece where it belongs, and only there; how much there is now.

    Raises:
        OSError: the disk refused.
    """
    waiting.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(waiting, flags, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        there = os.fstat(descriptor).st_size
        # A piece that was sent again, since its answer was lost, is there already.
        if at == there:
            file.seek(there)
            file.write(data)
            there += len(data)
    return there
