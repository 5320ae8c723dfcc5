"""Storing uploads: files of any size, wholly or not at all."""

import os
from typing import Protocol

from jenny.workspace import acts, atomic, names, paths
from jenny.workspace.errors import FileTooLarge, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.paths import Place
from jenny.workspace.subtree import free_place, put_to_rules, status_of

CHUNK_BYTES = 1_000_000


class Source(Protocol):
    """Where the bytes come from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most *size*; none at the end."""


def upload(workspace: Workspace, path: str, stream: Source, *, limit: int) -> str:
    """Put a new file of any size (up to *limit* bytes) there, wholly or not at all; where it is.

    Raises:
        PathRefused: something is there already, or the name cannot be.
        FileTooLarge: it has more bytes. Other errors as for any write.
    """
    root = workspace.root
    place = free_place(root, path, None)
    temp = ""
    try:
        with paths.open_folder(root, place.parts[:-1], make=True) as folder:
            temp = _stage_stream(folder, stream, limit, place)
            with acts.locked(root):
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
    """Write the stream to a temporary file in *folder*, synced; its name."""
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
