"""What the tracked files are on disk now, as ids of their contents.

Every file is looked at, only those whose stamp changed since the last look are read, so that 2,000
files cost 2,000 looks. Links are never followed.
"""

import os
import stat
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from threading import Lock

from jenny.workspace import paths
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import reason_of
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
        return bool(self.skipped) and any(
            path == row.path or path.startswith(f"{row.path}/") for row in self.skipped
        )


@dataclass(frozen=True, slots=True)
class _Folder:
    """What is in a folder: paths, and what is skipped for its name."""

    stamp: _Stamp
    children: tuple[str, ...]
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class _Known:
    """What the last look found, each with the stamp it had. Nothing that had changed so shortly
    before that the next change might leave the stamp as it is."""

    files: dict[str, tuple[_Stamp, str]] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


_known: Kept[_Known] = Kept(_KEPT_WORKSPACES)


def scan(root: Path, only: Collection[str] | None = None) -> Disk:
    """Look at every tracked file of the workspace at *root* (its real folder).

    *only*: what in the tracked folders is looked at; the tracked files are in any case.
    """
    known = _known.get(str(root))
    if known is None:
        known = _Known()
        _known.put(str(root), known)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with known.lock:
            look = _Look(root, fd, known)
            below = tracked.TRACKED_FOLDERS if only is None else only
            for path in dict.fromkeys((*tracked.TRACKED_FILES, *below)):
                look.from_the_top(path)
            if only is None:
                known.files, known.folders = look.now.files, look.now.folders
    finally:
        os.close(fd)
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
    """One look at the tracked files, from the workspace's open folder."""

    def __init__(self, root: Path, fd: int, known: _Known) -> None:
        self.root = root
        self.known = known
        self.now = _Known()
        self.files: dict[str, str] = {}
        self.skipped: list[Skipped] = []
        self._fd = fd
        self._fresh = time.time_ns() - _TICK_NS

    def from_the_top(self, path: str) -> None:
        """Look at a file or folder, and at whether a link stands on the way to it."""
        if any(self.root.joinpath(folder).is_symlink() for folder in Path(path).parents):
            self._skip(path, "lies behind a link")
        else:
            self._at(path)

    def _at(self, path: str) -> None:
        """Look at a file or folder; its folder is a plain one."""
        try:
            status = os.lstat(path, dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._skip(path, f"cannot be looked at: {reason_of(error)}")
            return
        mode, stamp = status.st_mode, _stamp(status)
        known = self.known.files.get(path)
        if known is not None and known[0] == stamp:
            self.files[path] = known[1]
            self.now.files[path] = known
        elif stat.S_ISREG(mode):
            self._file(path, stamp, status.st_size)
        elif not stat.S_ISDIR(mode):
            self._skip(path, "is a link" if stat.S_ISLNK(mode) else "is no plain file")
        elif path in tracked.TRACKED_FILES:
            self._skip(path, "is a folder")
        else:
            self._folder(path, stamp)

    def _folder(self, path: str, stamp: _Stamp) -> None:
        found = self.known.folders.get(path)
        if found is None or found.stamp != stamp:
            try:
                found = _Folder(stamp, *_children(self.root, path))
            except OSError as error:
                self._skip(path, f"cannot be read: {reason_of(error)}")
                return
        if stamp[0] <= self._fresh:
            self.now.folders[path] = found
        self.skipped += found.skipped
        for inner in found.children:
            self._at(inner)

    def _file(self, path: str, stamp: _Stamp, size: int) -> None:
        if size > WRITE_BYTES:
            self._skip(path, f"has {size:,} bytes")
            return
        try:
            data = content(self.root, path)
        except OSError:
            self._skip(path, "cannot be read")
            return
        if data is not None:
            self.files[path] = id_of("blob", data)
            if stamp[0] <= self._fresh:
                self.now.files[path] = (stamp, self.files[path])

    def _skip(self, path: str, why: str) -> None:
        self.skipped.append(Skipped(path, why))


def _children(root: Path, path: str) -> tuple[tuple[str, ...], tuple[Skipped, ...]]:
    """The paths of what is in a folder, and what of it is skipped for its name."""
    found, skipped = [], []
    for name in sorted(os.listdir(f"{root}/{path}")):  # noqa: PTH208  (names are wanted)
        inner = f"{path}/{name}"
        if tracked.is_left_out(name):
            continue
        if why := unusable(inner):
            skipped.append(Skipped(inner, f"has a name that {why}"))
        else:
            found.append(inner)
    return tuple(found), tuple(skipped)


# What changes when a file or folder changes; a later change of the same tick is not seen by it.
_stamp: Callable[[os.stat_result], _Stamp] = attrgetter(
    "st_ctime_ns", "st_mtime_ns", "st_size", "st_ino"
)
