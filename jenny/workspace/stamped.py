"""Text files that every prompt reads anew, kept in memory for as long as their stamp stands.

Nothing here is timed out or told of changes: each call looks at the disk, so an edit by
anybody is in the next prompt. A stamp is what changes with a file; clocks of file systems
tick every few milliseconds, so what changed less than ``_TICK_NS`` before it was read is read
again next time.
"""

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from threading import Lock

from jenny.workspace import names, paths
from jenny.workspace.errors import PathRefused
from jenny.workspace.reading import Reading, read_open, read_text

type Stamp = tuple[int, int, int, int]

_stamp: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_ctime_ns", "st_mtime_ns", "st_size", "st_ino"
)
_TICK_NS = 50_000_000
# Of file systems that keep whole seconds, or every other one.
_COARSE_TICK_NS = 2_100_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Kept[V]:
    """Values by key, the least recently used of more than *size* dropped; for many threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = Lock()
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        """The value, or ``None``."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: str, value: V) -> None:
        """Keep the value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _File[R]:
    stamp: Stamp | None
    is_fresh: bool
    result: R


class StampedFile[R]:
    """One file of each workspace, with what *derive* makes of its reading."""

    def __init__(self, path: str, derive: Callable[[Reading], R], *, size: int = 256) -> None:
        self.path = path
        self._derive = derive
        self._kept: Kept[_File[R]] = Kept(size)

    def read(self, root: Path) -> R:
        """What *derive* makes of the file as it is on disk now."""
        found = _stamp_at(f"{root}/{self.path}")
        kept = self._kept.get(str(root))
        if kept is not None and not kept.is_fresh and kept.stamp == found and found is not None:
            return kept.result
        # Stamped before it is read: a change in between is then seen next time.
        is_fresh = found is not None and _is_fresh(found)
        result = self._derive(read_text(root, self.path))
        self._kept.put(str(root), _File(found, is_fresh, result))
        return result


class StampedFiles[R]:
    """Several files of each workspace together, with what *derive* makes of its folder; for what
    reads them by itself. None of them is followed when it is a link."""

    def __init__(self, files: Sequence[str], derive: Callable[[Path], R]) -> None:
        self._files = tuple(files)
        self._derive = derive
        self._kept: Kept[tuple[tuple[Stamp | None, ...], R]] = Kept(256)

    def read(self, root: Path) -> R:
        """What *derive* makes of the files as they are on disk now."""
        found = tuple(_stamp_at(f"{root}/{path}") for path in self._files)
        kept = self._kept.get(str(root))
        if kept is not None and kept[0] == found:
            return kept[1]
        # Stamped before they are read, as above.
        is_fresh = any(stamp is not None and _is_fresh(stamp) for stamp in found)
        result = self._derive(root)
        if not is_fresh:
            self._kept.put(str(root), (found, result))
        return result


@dataclass(frozen=True, slots=True)
class _Child[T]:
    """A folder's child: its file's stamp and what was made of it. Without a stamp the file is
    missing, or must be read every time."""

    name: str
    stamp: Stamp | None
    is_missing: bool
    value: T | None


@dataclass(frozen=True, slots=True)
class _Folder[T, R]:
    stamp: Stamp
    is_fresh: bool
    children: tuple[_Child[T], ...]
    # Paths from the folder that are looked at in one go, their stamps, and what is not there.
    paths: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    missing: tuple[str, ...]
    result: R

    def stands(self, fd: int) -> bool:
        """Whether nothing changed in the open folder, whose own stamp is the same."""
        if self.is_fresh or len(self.stamps) + len(self.missing) < len(self.children):
            return False
        if any(_is_there(fd, path) for path in self.missing):
            return False
        return self.stamps == _stamps(fd, self.paths)


class StampedFolder[T, R]:
    """The file of one name in each child of a folder (``skills/*/SKILL.md``).

    *read_one* makes a value of a child's name and reading (``None`` leaves it out), *gather*
    one result of all values, ordered by name.
    """

    def __init__(
        self,
        folder: str,
        file: str,
        read_one: Callable[[str, Reading], T | None],
        gather: Callable[[Sequence[T]], R],
    ) -> None:
        self.folder = folder
        self.file = file
        self._read_one = read_one
        self._gather = gather
        self._kept: Kept[_Folder[T, R]] = Kept(64)

    def read(self, root: Path) -> R:
        """What is made of the folder as it is on disk now."""
        kept = self._kept.get(str(root))
        try:
            fd = os.open(f"{root}/{self.folder}", _FOLDER)
        except OSError:
            return self._through_the_gate(root)
        try:
            found = _stamp(os.fstat(fd))
            if kept is not None and kept.stamp == found and kept.stands(fd):
                return kept.result
            return self._anew(root, fd, found, kept)
        finally:
            os.close(fd)

    def _through_the_gate(self, root: Path) -> R:
        """The folder is missing, a link or no folder: a link inside the workspace is followed."""
        try:
            place = paths.locate(Path(os.path.realpath(root)), self.folder)
        except PathRefused:
            return self._gather(())
        if not place.is_folder:
            return self._gather(())
        children = [self._child(root, None, name, None) for name in _children(place.path)]
        return self._gather([each.value for each in children if each.value is not None])

    def _anew(self, root: Path, fd: int, found: Stamp, kept: _Folder[T, R] | None) -> R:
        """Read what changed since *kept* (or everything), and keep it."""
        old = {child.name: child for child in kept.children} if kept else {}
        is_fresh = _is_fresh(found)
        children = tuple(
            self._child(root, fd, name, old.get(name)) for name in sorted(_children(fd))
        )
        stamps = {f"{each.name}/{self.file}": each.stamp for each in children if each.stamp}
        missing = tuple(f"{each.name}/{self.file}" for each in children if each.is_missing)
        result = self._gather([each.value for each in children if each.value is not None])
        self._kept.put(
            str(root),
            _Folder(
                found, is_fresh, children, tuple(stamps), tuple(stamps.values()), missing, result
            ),
        )
        return result

    def _child(self, root: Path, fd: int | None, name: str, old: _Child[T] | None) -> _Child[T]:
        """One child as it is now; *old* serves when its stamp stands."""
        path = f"{self.folder}/{name}/{self.file}"
        status = _plain(fd, f"{name}/{self.file}") if fd is not None else None
        found = _stamp(status) if status is not None else None
        if old is not None and found is not None and old.stamp == found:
            return old
        if found is not None and _is_fresh(found):
            found = None
        beside = _read_beside(fd, name, self.file, path) if fd is not None else None
        reading = beside or read_text(root, path)
        return _Child(name, found, reading.is_missing, self._read_one(name, reading))


def _read_beside(fd: int, name: str, file: str, path: str) -> Reading | None:
    """``name/file`` under the folder *fd*, no link followed; ``None``: ask the gate."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=fd)
        try:
            opened = os.open(file, _FILE, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        return None
    return read_open(opened, path)


def _children(folder: int | Path) -> list[str]:
    """Names of the folder's folders and links that can be shown; hidden ones left out."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                and (entry.is_dir(follow_symlinks=False) or entry.is_symlink())
                and not names.unusable(entry.name)
            ]
    except OSError:
        return []


def _plain(fd: int, path: str) -> os.stat_result | None:
    """The status of a plain file under the folder *fd*; ``None`` when it is none."""
    try:
        status = os.stat(path, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _stamps(fd: int, files: tuple[str, ...]) -> tuple[Stamp, ...] | None:
    """The stamps of files under the folder *fd*; ``None`` when one of them is gone."""
    stamp, look = _stamp, os.lstat  # asked for thousands of files before each prompt
    try:
        return tuple([stamp(look(file, dir_fd=fd)) for file in files])
    except OSError:
        return None


def _is_there(fd: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def _stamp_at(path: str) -> Stamp | None:
    """The stamp of a plain file; ``None`` when it is none or is a link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return _stamp(status) if stat.S_ISREG(status.st_mode) else None


def _is_fresh(stamp: Stamp) -> bool:
    """Whether a file could change once more without its stamp showing it."""
    tick = _TICK_NS if stamp[0] % 1_000_000_000 else _COARSE_TICK_NS
    return stamp[0] > time.time_ns() - tick
