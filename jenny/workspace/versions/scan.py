"""What the tracked files are on disk now, as ids of their contents.

Every file is looked at, only those whose stamp changed since the last look are read, so that 2,000
files cost 2,000 looks. Links are never followed.
"""

import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from jenny.workspace import paths
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import WorkspaceError, reason_of
from jenny.workspace.git.objects import id_of
from jenny.workspace.names import unusable
from jenny.workspace.stamped import Kept
from jenny.workspace.versions import tracked

type _Stamp = tuple[int, int, int, int]

_TICK_NS = 50_000_000
_KEPT_WORKSPACES = 32


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder of which no new version is kept, and why (words for a sentence)."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Disk:
    """The tracked files: ids of their contents by path. What is ``skipped`` is unknown."""

    files: dict[str, str]
    skipped: tuple[Skipped, ...]

    def is_unknown(self, path: str) -> bool:
        """Whether nothing can be said of *path*, since it or a folder of it was skipped."""
        return any(path == row.path or path.startswith(f"{row.path}/") for row in self.skipped)


@dataclass(slots=True)
class _Known:
    """What the last look found: ids by file, names by folder, each with the stamp it had."""

    files: dict[str, tuple[_Stamp, str]] = field(default_factory=dict)
    folders: dict[str, tuple[_Stamp, tuple[str, ...]]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


_known: Kept[_Known] = Kept(_KEPT_WORKSPACES)


def scan(root: Path) -> Disk:
    """Look at every tracked file of the workspace at *root* (its real folder)."""
    known = _known.get(str(root))
    if known is None:
        known = _Known()
        _known.put(str(root), known)
    with known.lock:
        look = _Look(root, known)
        for path in (*tracked.TRACKED_FILES, *tracked.TRACKED_FOLDERS):
            look.from_the_top(path)
        known.files, known.folders = look.now.files, look.now.folders
    return Disk(look.files, tuple(look.skipped))


def content(root: Path, path: str) -> bytes | None:
    """The content of a plain file at *path*, no link followed; ``None``: there is none.

    Raises:
        OSError: it cannot be read.
    """
    *folders, name = path.split("/")
    try:
        with paths.open_folder(root, tuple(folders)) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
                return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


class _Look:
    """One look at the tracked files."""

    def __init__(self, root: Path, known: _Known) -> None:
        self.root = root
        self.known = known
        self.now = _Known()
        self.files: dict[str, str] = {}
        self.skipped: list[Skipped] = []
        self._fresh = time.time_ns() - _TICK_NS

    def from_the_top(self, path: str) -> None:
        """Look at a file or folder, and at whether a link stands on the way to it."""
        if any(self.root.joinpath(folder).is_symlink() for folder in Path(path).parents):
            self._skip(path, "lies behind a link")
        else:
            self.at(path)

    def at(self, path: str) -> None:
        """Look at a file or folder, whatever it is; its folder is a plain one."""
        try:
            status = os.lstat(f"{self.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._skip(path, f"cannot be looked at: {reason_of(error)}")
            return
        if stat.S_ISREG(status.st_mode):
            self._file(path, status)
        elif stat.S_ISDIR(status.st_mode):
            if path in tracked.TRACKED_FILES:
                self._skip(path, "is a folder")
            else:
                self._folder(path, status)
        else:
            self._skip(path, "is a link" if stat.S_ISLNK(status.st_mode) else "is no plain file")

    def _folder(self, path: str, status: os.stat_result) -> None:
        stamp = _stamp(status)
        old = self.known.folders.get(path)
        if old is not None and old[0] == stamp:
            names = old[1]
        else:
            try:
                names = tuple(sorted(os.listdir(f"{self.root}/{path}")))  # noqa: PTH208
            except OSError as error:
                self._skip(path, f"cannot be read: {reason_of(error)}")
                return
        if stamp[0] <= self._fresh:
            self.now.folders[path] = (stamp, names)
        for name in names:
            if tracked.is_left_out(name):
                continue
            inner = f"{path}/{name}"
            if why := unusable(inner):
                self._skip(inner, f"has a name that {why}")
            else:
                self.at(inner)

    def _file(self, path: str, status: os.stat_result) -> None:
        stamp = _stamp(status)
        old = self.known.files.get(path)
        if old is not None and old[0] == stamp:
            sha = old[1]
        elif status.st_size > WRITE_BYTES:
            self._skip(path, f"has {status.st_size:,} bytes")
            return
        else:
            try:
                data = content(self.root, path)
            except (OSError, WorkspaceError):
                self._skip(path, "cannot be read")
                return
            if data is None:
                return
            sha = id_of("blob", data)
        self.files[path] = sha
        if stamp[0] <= self._fresh:
            self.now.files[path] = (stamp, sha)

    def _skip(self, path: str, why: str) -> None:
        self.skipped.append(Skipped(path, why))


def _stamp(status: os.stat_result) -> _Stamp:
    """What changes when a file changes; a later change of the same tick is not seen by it."""
    return (
        max(status.st_ctime_ns, status.st_mtime_ns),
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
    )
