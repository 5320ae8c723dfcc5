"""Store uploads of any size, wholly or not at all."""

import os
from typing import Protocol

from jenny.workspace import atomic, names, paths, transactions
from jenny.workspace.errors import FileTooLarge, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.move_copy import free_place, put_to_rules, status_of
from jenny.workspace.paths import Place

CHUNK_BYTES = 1_000_000


class Source(Protocol):
    """A stream of bytes."""

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
