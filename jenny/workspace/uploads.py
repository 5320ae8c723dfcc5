"""Store uploads of any size, wholly or not at all."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jenny.workspace import atomic, names, paths, transactions
from jenny.workspace.errors import FileTooLarge, PathRefused, WorkspaceError, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.move_copy import free_place, put_to_rules, status_of
from jenny.workspace.paths import Place

# Uploads that arrive in parts. A part that is sent twice is stored once.


# The folder of files that were sent with messages, in the workspace and in each project.
FOLDER = "uploads"
_ID = re.compile(r"[0-9a-f]{32}")
_DIGITS = 15


@dataclass(frozen=True, slots=True)
class UploadPart:
    """One part of a file: *at* is its offset, *size* that of the whole file, in bytes."""

    id: str
    name: str
    at: int
    size: int


def is_upload_id(text: str) -> bool:
    """True for 32 hex digits, the id that the sender chooses for an upload."""
    return _ID.fullmatch(text) is not None


def is_upload_path(path: str) -> bool:
    """True for a normalised path below ``uploads/`` or ``wikis/<project>/uploads/``."""
    parts = path.split("/")
    try:
        paths.checked_parts(parts)
    except PathRefused:
        return False
    inner = parts[2:] if parts[0] == "wikis" else parts
    return len(inner) > 1 and inner[0] == FOLDER


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
    if not (is_upload_id(key) and name and at is not None and size is not None):
        raise WorkspaceError("This is no piece of a file. Nothing was stored.")
    if size > limit:
        raise FileTooLarge(f"{name} is larger than {limit:,} bytes. Nothing was stored.")
    if not has_data and size > 0:
        raise WorkspaceError("This piece is empty. Nothing was stored.")
    return UploadPart(key, name, at, size)


def append_part(waiting: Path, data: bytes, at: int) -> int:
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


CHUNK_BYTES = 1_000_000


class Source(Protocol):
    """A stream of bytes that an upload is read from."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most *size*; none at the end."""


def upload(workspace: Workspace, path: str, stream: Source, *, limit: int) -> str:
    """Write a new file of any size (up to *limit* bytes), wholly or not at all; return its path.

    Raises:
        PathRefused: something is there, or the name is invalid.
        FileTooLarge: it has more bytes. Other errors as for any write.
    """
    root = workspace.root
    place = free_place(root, path, None)
    temp = ""
    try:
        with paths.open_folder(root, place.parts[:-1], make=True) as folder:
            temp = _stage_stream(folder, stream, limit, place)
            with transactions.lock_workspace(root):
                place = free_place(root, path, None)
                beside = Place(root, (*place.parts[:-1], temp), status_of(place.path.parent / temp))
                put_to_rules(workspace, beside, place, is_new=True)
                atomic.land(folder, temp, place.parts[-1])
                temp = ""
    except OSError as error:
        message = (
            f"{names.shown(place.relative)} could not be stored: {reason_of(error)}. Nothing of it "
            "was kept."
        )
        raise WriteFailed(message) from error
    finally:
        if temp:
            root.joinpath(*place.parts[:-1], temp).unlink(missing_ok=True)
    return place.relative


def _stage_stream(folder: int, stream: Source, limit: int, place: Place) -> str:
    """Write the stream to a temporary file in *folder*, synced, and return its name."""
    temp = atomic.temp_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temp, flags, 0o666, dir_fd=folder)
    done = 0
    try:
        with os.fdopen(fd, "wb") as file:
            while done <= limit and (chunk := stream.read(CHUNK_BYTES)):
                done += len(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        atomic.discard(folder, temp)
        raise
    if done > limit:
        atomic.discard(folder, temp)
        message = f"{names.shown(place.relative)} is larger than {limit:,} bytes. It is not stored."
        raise FileTooLarge(message)
    return temp
