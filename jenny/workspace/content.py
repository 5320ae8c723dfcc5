"""Content of files: reading and writing the plain file at a place behind the gate."""

import hashlib
import os
from dataclasses import dataclass, field

from jenny.workspace import atomic, names, paths
from jenny.workspace.errors import (
    FileTooLarge,
    NotText,
    VersionMismatch,
    WriteFailed,
    reason_of,
)
from jenny.workspace.paths import Place

READ_BYTES = 1_000_000
WRITE_BYTES = 32_000_000


@dataclass(frozen=True)
class FileVersion:
    """A file's content as it was read or written; ``version`` is its SHA-256 in hex."""

    path: str
    data: bytes = field(repr=False)
    version: str

    @property
    def text(self) -> str:
        """The content as text.

        Raises:
            NotText: it is not UTF-8.
        """
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{names.shown(self.path)} is not a text file (its bytes are not UTF-8)."
            raise NotText(message) from error


def version_of(data: bytes) -> str:
    """The version of a file with this content: SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def read(place: Place, limit: int | None) -> FileVersion:
    """Read the plain file at *place*."""
    with os.fdopen(paths.open_file(place), "rb") as file:
        data = file.read() if limit is None else file.read(limit + 1)
        size = os.fstat(file.fileno()).st_size
    if limit is not None and len(data) > limit:
        message = (
            f"{names.shown(place.relative)} has {size:,} bytes; at most {limit:,} are read at once."
        )
        raise FileTooLarge(message)
    return version(place.relative, data)


def put(place: Place, new: bytes | None) -> None:
    """Write or remove the plain file at *place*."""
    *folders, name = place.parts
    try:
        with paths.open_folder(place.root, tuple(folders), make=new is not None) as folder:
            if new is None:
                atomic.remove(folder, name)
            else:
                atomic.replace(folder, name, new)
    except OSError as error:
        message = (
            f"{names.shown(place.relative)} could not be written: {reason_of(error)}. "
            "It is as it was before."
        )
        raise WriteFailed(message) from error


def version(path: str, data: bytes) -> FileVersion:
    """The value of a file's content."""
    return FileVersion(path, data, version_of(data))


def missing(place: Place) -> str:
    """The sentence for a file that is not there."""
    meant = paths.hint(place)
    return f"There is no file {names.shown(place.relative)}." + (
        f" Did you mean {names.shown(meant)}?" if meant else ""
    )


def check_size(place: Place, new: bytes | None) -> None:
    """Refuse to write more than a workspace's file may hold."""
    if new is not None and len(new) > WRITE_BYTES:
        message = (
            f"{names.shown(place.relative)} would have {len(new):,} bytes; a file here has at most "
            f"{WRITE_BYTES:,}. Nothing was written."
        )
        raise FileTooLarge(message)


def expect_version(current: FileVersion | None, expect: str | None, path: str) -> None:
    """Refuse a write that is based on another version than the one that is there."""
    if (None if current is None else current.version) == expect:
        return
    if current is None:
        what = "has been removed since it was read"
    elif expect is None:
        what = "exists already"
    else:
        what = "has changed since it was read"
    message = f"{names.shown(path)} {what}. Nothing was written. Read it again first."
    raise VersionMismatch(message, current)
