"""Uploads that arrive in parts. A part that is sent twice is stored once."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace.errors import FileTooLarge, WorkspaceError

_ID = re.compile(r"[0-9a-f]{32}")
_DIGITS = 15


@dataclass(frozen=True, slots=True)
class UploadPart:
    """One part of a file: *at* is its offset, *size* that of the whole file, in bytes."""

    id: str
    name: str
    at: int
    size: int


def is_id(text: str) -> bool:
    """True for 32 hex digits, the id that the sender chooses for an upload."""
    return _ID.fullmatch(text) is not None


def number(text: str | None) -> int | None:
    """Parse an offset or a size in bytes; ``None`` when it is none."""
    return int(text) if text and text.isdecimal() and len(text) <= _DIGITS else None


def read_part(form: Mapping[str, str], *, has_data: bool, limit: int) -> UploadPart:
    """Return the part that a form describes; the file may have *limit* bytes.

    Raises:
        FileTooLarge: it has more.
        WorkspaceError: the form describes no part, or has none.
    """
    name, key = form.get("name", ""), form.get("id", "")
    at, size = number(form.get("at")), number(form.get("size"))
    if not (is_id(key) and name and at is not None and size is not None):
        raise WorkspaceError("This is no piece of a file. Nothing was stored.")
    if size > limit:
        raise FileTooLarge(f"{name} is larger than {limit:,} bytes. Nothing was stored.")
    if not has_data and size > 0:
        raise WorkspaceError("This piece is empty. Nothing was stored.")
    return UploadPart(key, name, at, size)


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
