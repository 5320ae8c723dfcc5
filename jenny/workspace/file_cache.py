"""Cache text files that every prompt reads, for as long as their stat signature stays the same.

There is no time-out and no invalidation: each call looks at the disk, so anybody's edit is in the
next prompt. A file whose signature was racy when it was read is read again next time.
"""

import hashlib
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from jenny.workspace import names, paths
from jenny.workspace.content import Reading, read_open, read_text
from jenny.workspace.errors import PathRefused
from jenny.workspace.stat_signature import StatSignature, is_racy, read_signature, signature_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Kept[V]:
    """A thread-safe LRU cache of *size* values."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = Lock()
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _File[R]:
    stamp: StatSignature | None
    was_racy: bool
    result: R


class StampedFile[R]:
    """One file of each workspace, cached with the result of *derive*."""

    def __init__(self, path: str, derive: Callable[[Reading], R], *, size: int = 256) -> None:
        self.path = path
        self._derive = derive
        self._kept: Kept[_File[R]] = Kept(size)

    def read(self, root: Path) -> R:
        """Return the result of *derive* for the file as it is on disk now."""
        found = read_signature(f"{root}/{self.path}")
        kept = self._kept.get(str(root))
        if kept is not None and not kept.was_racy and kept.stamp == found and found is not None:
            return kept.result
        # The signature is taken before the read: a change in between is then seen next time.
        was_racy = found is not None and is_racy(found, time.time_ns())
        result = self._derive(read_text(root, self.path))
        self._kept.put(str(root), _File(found, was_racy, result))
        return result


class StampedFiles[R]:
    """Several files of each workspace, cached with the result of *derive* for its folder.

    *derive* reads the files itself. Files that are links are not followed.
    """

    def __init__(self, files: Sequence[str], derive: Callable[[Path], R]) -> None:
        self._files = tuple(files)
        self._derive = derive
        self._kept: Kept[tuple[tuple[StatSignature | None, ...], R]] = Kept(256)

    def read(self, root: Path) -> R:
        """Return the result of *derive* for the files as they are on disk now."""
        found = tuple(read_signature(f"{root}/{path}") for path in self._files)
        kept = self._kept.get(str(root))
        if kept is not None and kept[0] == found:
            return kept[1]
        # The signatures are taken before the read, as above.
        was_racy = any(stamp is not None and is_racy(stamp, time.time_ns()) for stamp in found)
        result = self._derive(root)
        if not was_racy:
            self._kept.put(str(root), (found, result))
        return result


@dataclass(frozen=True, slots=True)
class _Grown[R]:
    """A value made of a file's first *size* bytes, which have this *digest*."""

    size: int
    digest: bytes
    stamp: StatSignature | None
    value: R


class GrowingFile[R]:
    """A file of lines in each workspace that mostly grows. *read* reads its bytes; *derive* makes a
    value of the value before and of the bytes added since. Where that gives ``None``, and at
    first, it gets ``None`` and all bytes.

    A file counts as grown only when its first bytes are still the same ones, so that an edit by
    hand is always seen.
    """

    def __init__(
        self,
        path: str,
        read: Callable[[Path], bytes],
        derive: Callable[[R | None, bytes], R | None],
        *,
        size: int = 256,
    ) -> None:
        self._path = path
        self._read = read
        self._derive = derive
        self._kept: Kept[_Grown[R]] = Kept(size)

    def read(self, root: Path) -> R:
        """Return the value that *derive* makes of the file as it is on disk now."""
        stamp = read_signature(f"{root}/{self._path}")
        kept = self._kept.get(str(root))
        if kept is not None and stamp is not None and kept.stamp == stamp:
            return kept.value
        was_racy = stamp is None or is_racy(stamp, time.time_ns())
        data = self._read(root)
        result = None
        size = kept.size if kept is not None and kept.size <= len(data) else 0
        seen = hashlib.blake2b(data[:size])
        if kept is not None and seen.digest() == kept.digest:
            result = kept.value if size == len(data) else self._derive(kept.value, data[size:])
        if result is None:
            result = self._derive(None, data)
        if result is None:
            raise ValueError(self._path)
        # A line that is still being written is read again.
        if data.endswith(b"\n"):
            seen.update(data[size:])
            now = _Grown(len(data), seen.digest(), None if was_racy else stamp, result)
            self._kept.put(str(root), now)
        return result


@dataclass(frozen=True, slots=True)
class _Child[T]:
    """A folder's child: its file's signature and its value.

    Without a signature the file is missing, or must be read every time.
    """

    name: str
    stamp: StatSignature | None
    is_missing: bool
    value: T | None


@dataclass(frozen=True, slots=True)
class _Folder[T, R]:
    stamp: StatSignature
    was_racy: bool
    children: tuple[_Child[T], ...]
    # Paths from the folder that are checked together, their signatures, and the missing ones.
    paths: tuple[str, ...]
    stamps: tuple[StatSignature, ...]
    missing: tuple[str, ...]
    result: R

    def stands(self, fd: int) -> bool:
        """True when nothing changed in the open folder, whose own signature is the same."""
        if self.was_racy or len(self.stamps) + len(self.missing) < len(self.children):
            return False
        if any(_is_there(fd, path) for path in self.missing):
            return False
        return self.stamps == _stamps(fd, self.paths)


class StampedFolder[T, R]:
    """The file of one name in each child of a folder (``skills/*/SKILL.md``), cached.

    *read_one* makes a value of a child's name and reading (``None`` leaves it out), *gather* one
    result of all values, ordered by name.
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
        """Return the result for the folder as it is on disk now."""
        kept = self._kept.get(str(root))
        try:
            fd = os.open(f"{root}/{self.folder}", _FOLDER)
        except OSError:
            return self._through_the_gate(root)
        try:
            found = signature_of(os.fstat(fd))
            if kept is not None and kept.stamp == found and kept.stands(fd):
                return kept.result
            return self._anew(root, fd, found, kept)
        finally:
            os.close(fd)

    def _through_the_gate(self, root: Path) -> R:
        """Read a folder that is missing or not plain; a link inside the workspace is followed."""
        try:
            place = paths.locate(Path(os.path.realpath(root)), self.folder)
        except PathRefused:
            return self._gather(())
        if not place.is_folder:
            return self._gather(())
        children = [self._child(root, None, name, None) for name in _children(place.path)]
        return self._gather([each.value for each in children if each.value is not None])

    def _anew(self, root: Path, fd: int, found: StatSignature, kept: _Folder[T, R] | None) -> R:
        """Read what changed since *kept* (or everything), and cache it."""
        old = {child.name: child for child in kept.children} if kept else {}
        was_racy = is_racy(found, time.time_ns())
        children = tuple(
            self._child(root, fd, name, old.get(name)) for name in sorted(_children(fd))
        )
        stamps = {f"{each.name}/{self.file}": each.stamp for each in children if each.stamp}
        missing = tuple(f"{each.name}/{self.file}" for each in children if each.is_missing)
        result = self._gather([each.value for each in children if each.value is not None])
        self._kept.put(
            str(root),
            _Folder(
                found, was_racy, children, tuple(stamps), tuple(stamps.values()), missing, result
            ),
        )
        return result

    def _child(self, root: Path, fd: int | None, name: str, old: _Child[T] | None) -> _Child[T]:
        """Return one child as it is now; *old* is reused when its signature is unchanged."""
        path = f"{self.folder}/{name}/{self.file}"
        status = _plain(fd, f"{name}/{self.file}") if fd is not None else None
        found = signature_of(status) if status is not None else None
        if old is not None and found is not None and old.stamp == found:
            return old
        if found is not None and is_racy(found, time.time_ns()):
            found = None
        beside = _read_beside(fd, name, self.file, path) if fd is not None else None
        reading = beside or read_text(root, path)
        return _Child(name, found, reading.is_missing, self._read_one(name, reading))


def _read_beside(fd: int, name: str, file: str, path: str) -> Reading | None:
    """Read ``name/file`` under *fd* without following links; ``None``: use the checked path."""
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
    """List the folder's folders and links with valid names; hidden ones are left out."""
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
    """Return the status of a plain file under the folder *fd*; ``None`` when it is not one."""
    try:
        status = os.stat(path, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _stamps(fd: int, files: tuple[str, ...]) -> tuple[StatSignature, ...] | None:
    """Return the signatures of files under the folder *fd*; ``None`` when one of them is gone."""
    stamp, look = signature_of, os.lstat  # called for thousands of files before each prompt
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
