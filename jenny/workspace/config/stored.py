"""Where ``config.json`` lies on disk, with what stands in for it when it cannot be read.

* ``config.json.bak``: the file as it was before the last change, when that could be read.
* ``.jenny/config.json``: a copy of the last file in which everything was right, kept by whoever
  reads it, so that a slip of the hand in an editor costs nothing.
* ``config.corrupt-<UTC>.json``: copies of files that could not be read.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import atomic, paths
from jenny.workspace.config import document
from jenny.workspace.config.document import Raw, Unreadable
from jenny.workspace.config.values import Origin
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.locks import OWN_FOLDER

NAME = "config.json"
BACKUP = "config.json.bak"
KEPT = f"{OWN_FOLDER}/{NAME}"
QUARANTINE = "config.corrupt-"
MODE = 0o600


@dataclass(frozen=True)
class Stored:
    """What is on disk. ``raw``: the object that counts, migrated; ``source``: the name of the file
    it is from (empty: there is none).

    ``earlier``: older objects, for values that are wrong in ``raw``. ``fault``: why
    ``config.json`` cannot be read, empty when it can (or is not there).
    """

    raw: Raw
    source: str
    earlier: tuple[Raw, ...]
    data: bytes | None
    fault: str
    version: int

    @property
    def origin(self) -> Origin:
        """Whether the file itself counts, a copy of it, or nothing."""
        if not self.source:
            return "defaults"
        return "file" if self.source == NAME else "bak"

    @property
    def is_newer(self) -> bool:
        """Whether a newer version of Jenny wrote it."""
        return self.version > document.CURRENT_VERSION


def look(root: Path) -> Stored:
    """Read what is on disk at *root* (the real folder)."""
    data, fault = _bytes(root, NAME)
    raw = None
    if data is not None:
        try:
            raw = document.parse(data)
        except Unreadable as error:
            fault = str(error)
    kept, backup = _object(root, KEPT), _object(root, BACKUP)
    if raw is not None:
        candidates = [(NAME, raw), (KEPT, kept), (BACKUP, backup)]
    elif fault:
        candidates = [(KEPT, kept), (BACKUP, backup)]
    else:  # somebody removed it: the copy that the reader kept is no reason to undo that
        candidates = [(BACKUP, backup)]
    found = [(name, candidate) for name, candidate in candidates if candidate is not None]
    source, first = found[0] if found else ("", {})
    written_for = document.version(first)
    for _, candidate in found:
        document.migrate(candidate)
    earlier = tuple(candidate for _, candidate in found[1:])
    return Stored(first, source, earlier, data, fault, written_for)


def stamps(root: Path) -> tuple[paths.Stamp | None, ...]:
    """What changes when any of the files that count changes."""
    return tuple([paths.stamp(f"{root}/{name}") for name in (NAME, BACKUP, KEPT)])


def set_aside(root: Path, data: bytes) -> str:
    """Copy a file that cannot be read beside it, once; the copy's name.

    Raises:
        OSError: it cannot be written.
    """
    for name in quarantined(root):
        with contextlib.suppress(OSError):
            if (root / name).read_bytes() == data:
                return name
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for name in _names(moment):
        if not (root / name).exists():
            with paths.open_folder(root, ()) as folder:
                atomic.replace(folder, name, data, mode=MODE)
            return name
    raise AssertionError  # _names has no end


def quarantined(root: Path) -> list[str]:
    """The names of the copies set aside, oldest first."""
    return sorted(path.name for path in root.iterdir() if path.match(f"{QUARANTINE}*.json"))


def keep(root: Path, data: bytes) -> None:
    """Keep a copy of a file in which everything is right; best effort."""
    with contextlib.suppress(OSError):
        if root.joinpath(OWN_FOLDER, NAME).read_bytes() == data:
            return
    with contextlib.suppress(OSError), paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        atomic.replace(folder, NAME, data, mode=MODE)


def put(root: Path, name: str, data: bytes) -> None:
    """Replace ``config.json`` or its backup.

    Raises:
        OSError: it cannot be written.
    """
    with paths.open_folder(root, ()) as folder:
        atomic.replace(folder, name, data, mode=MODE)


def _names(moment: str) -> Iterator[str]:
    """Names for a copy made at *moment*."""
    yield f"{QUARANTINE}{moment}.json"
    number = 2
    while True:
        yield f"{QUARANTINE}{moment}-{number}.json"
        number += 1


def _bytes(root: Path, name: str) -> tuple[bytes | None, str]:
    """A file's bytes, or why there are none; both empty when there is no file."""
    try:
        parts = tuple(name.split("/"))
        fd = paths.open_file(paths.Place(root, parts, None))
        with os.fdopen(fd, "rb") as file:
            return file.read(document.MAX_BYTES + 1), ""
    except FileMissing:
        return None, ""
    except (WorkspaceError, OSError) as error:
        if isinstance(error, WorkspaceError):
            return None, "it is a link, a folder, or may not be opened"
        return None, f"the disk says: {error.strerror}"


def _object(root: Path, name: str) -> Raw | None:
    """The object in a copy, if it can be read and is not from a newer version."""
    data, _ = _bytes(root, name)
    if data is None:
        return None
    try:
        raw = document.parse(data)
    except Unreadable:
        return None
    return raw if document.version(raw) <= document.CURRENT_VERSION else None
