"""Read and write plain files at paths that were already checked (``paths.Place``)."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from jenny.workspace import atomic, names, paths
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    HardLinkRefused,
    NotText,
    PathRefused,
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
        """Decode the content.

        Raises:
            NotText: it is not UTF-8.
        """
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{names.shown(self.path)} is not a text file (its bytes are not UTF-8)."
            raise NotText(message) from error


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_content(place: Place, limit: int | None, *, only_name: bool = False) -> FileVersion:
    """Read the plain file at *place*. *only_name*: refuse a file with other hard links.

    Raises:
        HardLinkRefused: it has one.
    """
    with os.fdopen(paths.open_file(place), "rb") as file:
        if only_name and os.fstat(file.fileno()).st_nlink > 1:
            raise HardLinkRefused(
                f"{names.shown(place.relative)} is a hard link: the same file has another name, "
                "which may lie outside the workspace, so it is not read. A person can put a copy "
                "in its place."
            )
        data = file.read() if limit is None else file.read(limit + 1)
        size = os.fstat(file.fileno()).st_size
    if limit is not None and len(data) > limit:
        message = (
            f"{names.shown(place.relative)} has {size:,} bytes; at most {limit:,} are read at once."
        )
        raise FileTooLarge(message)
    return version(place.relative, data)


def write_content(place: Place, new: bytes | None) -> None:
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
    return FileVersion(path, data, version_of(data))


def missing(place: Place) -> str:
    meant = paths.hint(place)
    return f"There is no file {names.shown(place.relative)}." + (
        f" Did you mean {names.shown(meant)}?" if meant else ""
    )


def check_size(place: Place, new: bytes | None) -> None:
    if new is not None and len(new) > WRITE_BYTES:
        message = (
            f"{names.shown(place.relative)} would have {len(new):,} bytes; a file here has at most "
            f"{WRITE_BYTES:,}. Nothing was written."
        )
        raise FileTooLarge(message)


def expect_version(current: FileVersion | None, expect: str | None, path: str) -> None:
    """Refuse a write that is based on another version than the current one."""
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


MAX_TEXT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a file, or the reason why there is none (``problem``, a sentence).

    The text is without byte order mark and its lines end in LF; *data* is as on disk.
    *is_hard_link*: the file has another name, which may be outside the workspace.
    """

    path: str
    data: bytes = b""
    text: str = ""
    problem: str = ""
    is_missing: bool = False
    is_hard_link: bool = False


def read_text(root: Path, path: str) -> Reading:
    """Read a text file at a checked path; any error becomes the problem."""
    try:
        fd = paths.open_file(paths.locate(Path(os.path.realpath(root)), path))
    except FileMissing:
        return Reading(path, is_missing=True)
    except PathRefused as error:
        return Reading(path, problem=f"{path} cannot be read: {error.message}")
    return read_open(fd, path)


def read_open(fd: int, path: str) -> Reading:
    """Read the open plain file *fd*, and close it; *path* is its name in messages."""
    try:
        status = os.fstat(fd)
        size, is_hard_link = status.st_size, status.st_nlink > 1
        if size > MAX_TEXT_BYTES:
            return Reading(path, problem=_too_large(path, size))
        data = os.read(fd, size + 1)
        while len(data) > size and len(data) <= MAX_TEXT_BYTES:
            # The file grew since it was measured, or reports no size (as files of /proc do).
            size = len(data)
            data += os.read(fd, MAX_TEXT_BYTES)
    except OSError as error:
        return Reading(path, problem=f"{path} cannot be read: {error.strerror}.")
    finally:
        os.close(fd)
    if len(data) > MAX_TEXT_BYTES:
        return Reading(path, problem=_too_large(path, len(data)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Reading(
            path,
            data,
            problem=f"{path} is not UTF-8 text (byte {error.start + 1:,}), so it was left out. "
            "Save it as UTF-8.",
        )
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return Reading(path, data, plain, is_hard_link=is_hard_link)


def _too_large(path: str, size: int) -> str:
    return (
        f"{path} has {size:,} bytes, more than the {MAX_TEXT_BYTES:,} that are read at once, "
        "so it was left out. Make it smaller."
    )
