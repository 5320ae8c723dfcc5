"""The single moves of a swap, through folder descriptors that follow no link."""

import contextlib
import errno
import os
import shutil
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from jenny.workspace import atomic
from jenny.workspace.swap.book import Item, parts_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})
_CHUNK = 1 << 20
_NAME_BYTES = 255


class Folders:
    """The folders in which things move: the last one stays open, and each is synced once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parts: tuple[str, ...] | None = None
        self._fd = -1
        self._touched: set[tuple[str, ...]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.forget()

    def open(self, path: str, *, make: bool = True) -> tuple[int, str]:
        """A descriptor of the folder that *path* lies in, and its name there.

        With *make*, missing folders are made, and what is no folder but stands in their way (a
        file or a link that somebody put there meanwhile) moves beside.
        """
        *folders, name = parts_of(path)
        parts = tuple(folders)
        if parts != self._parts:
            self.forget()
            self._fd = self._walk(parts, make=make)
            self._parts = parts
        self._touched.add(parts)
        return self._fd, name

    def forget(self) -> None:
        """Keep none open: folders came or went."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._parts = -1, None

    def sync(self) -> None:
        """Make all moves durable."""
        self.forget()
        for parts in {part[:end] for part in self._touched for end in range(len(part) + 1)}:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                fd = self._walk(parts, make=False)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    def _walk(self, parts: tuple[str, ...], *, make: bool) -> int:
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if make:
                    _make_way(fd, part)
                inner = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
        except BaseException:
            os.close(fd)
            raise
        return fd


def status(folder: int, name: str) -> os.stat_result | None:
    """What is there itself; ``None`` when nothing is."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def move(source: int, name: str, target: int, new_name: str) -> None:
    """Move a file; to another disk by a copy that appears there whole."""
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, name, target, new_name)
        os.unlink(name, dir_fd=source)


def keep(folder: int, name: str, old: int, number: str) -> None:
    """Keep what is there as *number* too, so that it can come back: a second name for it, or,
    where the disk knows none, a copy."""
    try:
        os.link(name, number, src_dir_fd=folder, dst_dir_fd=old, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(folder, name, old, number)


def beside(folder: int, name: str) -> None:
    """Give what nobody reckoned with another name, under which its owner will find it."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    for number in range(1, 1000):
        mark = f".kept-{stamp}" + ("" if number == 1 else f"-{number}")
        room = _NAME_BYTES - len(os.fsencode(f"{mark}{dot}{suffix}"))
        new = f"{os.fsdecode(os.fsencode(stem)[:room])}{mark}{dot}{suffix}"
        if status(folder, new) is None:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
            return


def take_over(folder: int, name: str, new: int, item: Item) -> None:
    """Add to the staged file what a file that only grows got since it was looked at; again:
    changes nothing."""
    start = item.was[0] if item.was is not None else 0
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if os.fstat(source).st_size <= start:
            return
        target = os.open(item.file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, dir_fd=new)
        try:
            os.ftruncate(target, item.size)
            os.lseek(source, start, os.SEEK_SET)
            while piece := os.read(source, _CHUNK):
                os.write(target, piece)
            os.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _make_way(fd: int, name: str) -> None:
    """Have a folder of that name."""
    there = status(fd, name)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        beside(fd, name)
        there = None
    if there is None:
        os.mkdir(name, dir_fd=fd)


def _copy(source: int, name: str, target: int, new_name: str) -> None:
    """Copy a file with its permissions and times; it appears whole."""
    temp = atomic.temp_name()
    reading = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with (
            os.fdopen(os.dup(reading), "rb") as old,
            os.fdopen(os.open(temp, flags, 0o600, dir_fd=target), "wb") as new,
        ):
            shutil.copyfileobj(old, new, _CHUNK)
            new.flush()
            found = os.fstat(reading)
            os.fchmod(new.fileno(), stat.S_IMODE(found.st_mode))
            os.utime(new.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
            os.fsync(new.fileno())
        os.rename(temp, new_name, src_dir_fd=target, dst_dir_fd=target)
    except BaseException:
        atomic.discard(target, temp)
        raise
    finally:
        os.close(reading)
