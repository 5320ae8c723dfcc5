"""Text files read as they are, with whatever stands in the way said in words."""

import os
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.errors import FileMissing, PathRefused

MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file gave: its text, or why there is none (``problem``, a sentence).

    The text is without byte order mark and its lines end in LF; *data* is as on disk.
    """

    path: str
    data: bytes = b""
    text: str = ""
    problem: str = ""
    is_missing: bool = False


def read_text(root: Path, path: str) -> Reading:
    """A file's text through the gate; whatever stands in the way becomes the problem."""
    try:
        fd = paths.open_file(paths.locate(Path(os.path.realpath(root)), path))
    except FileMissing:
        return Reading(path, is_missing=True)
    except PathRefused as error:
        return Reading(path, problem=f"{path} cannot be read: {error.sentence}")
    return read_open(fd, path)


def read_open(fd: int, path: str) -> Reading:
    """The text of the open plain file *fd*, which is closed; *path* names it."""
    try:
        size = os.fstat(fd).st_size
        if size > MAX_BYTES:
            return Reading(path, problem=_too_large(path, size))
        data = os.read(fd, size + 1)
        while len(data) > size and len(data) <= MAX_BYTES:
            # It grew since it was measured, or says no size (as files of /proc do).
            size = len(data)
            data += os.read(fd, MAX_BYTES)
    except OSError as error:
        return Reading(path, problem=f"{path} cannot be read: {error.strerror}.")
    finally:
        os.close(fd)
    if len(data) > MAX_BYTES:
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
    return Reading(path, data, text.replace("\r\n", "\n").replace("\r", "\n"))


def _too_large(path: str, size: int) -> str:
    return (
        f"{path} has {size:,} bytes, more than the {MAX_BYTES:,} that are read at once, "
        "so it was left out. Make it smaller."
    )
