"""Files that only grow, line by line, and the small files of state beside them.

Replacing a whole file for each line added would cost more with every line. Here a line is added in
place and synced, and only a crash can leave half of one, which whoever adds next cuts off. All of
it happens under the history lock, which the caller holds; the write rules are asked as of any
other write.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import atomic, locks, names, paths
from jenny.workspace.errors import LockOrderError, PathRefused, WriteFailed, reason_of
from jenny.workspace.locks import Level
from jenny.workspace.rules import Actor, Change, apply_rules

_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_END_BYTES = 4_096
_WRITING = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Behind whatever is there by then: somebody who takes no lock may have come in between.
_ADDING = _WRITING | os.O_CREAT | os.O_APPEND


type Stamp = tuple[int, int, int, int, int]


class Lines:
    """An open file, as long as it was when it was opened. ``stamp``: what changes whenever
    anybody else writes to it or puts another in its place."""

    def __init__(self, fd: int, status: os.stat_result) -> None:
        self._fd = fd
        self.size = status.st_size
        self.stamp = _stamp(status, self.size)
        # Its end, of which whoever adds wants to know several things.
        self._end = b""

    def read(self, start: int, end: int) -> bytes:
        """The bytes from *start* to before *end*."""
        if self.size - _END_BYTES <= start and end <= self.size:
            if not self._end:
                self._end = self._read(max(0, self.size - _END_BYTES), self.size)
            before = self.size - len(self._end)
            return self._end[max(start - before, 0) : max(end - before, 0)]
        return self._read(start, end)

    def _read(self, start: int, end: int) -> bytes:
        pieces = []
        while start < end and (piece := os.pread(self._fd, end - start, start)):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)


class GrowingLines(Lines):
    """A file that lines are added to; made by ``open_growing``."""

    def __init__(
        self, fd: int, status: os.stat_result, folder: int, about: tuple[Path, str, Actor]
    ) -> None:
        super().__init__(fd, status)
        self._folder = folder
        self._about = about
        self._others: dict[str, int] = {}

    def add(self, data: bytes) -> None:
        """Add *data* at the end, durably. The rules are told of it as a change from nothing.

        Raises:
            WriteRefused: a write rule said no.
            WriteFailed: the disk did; the file is as it was.
        """
        root, path, actor = self._about
        apply_rules([Change(path, b"", data, actor, root)])
        try:
            self._write(data)
            if not self._is_apart(len(data)):
                self._write(b"\n" + data)
            os.fsync(self._fd)
            if not self.size:
                os.fsync(self._folder)  # the file may be new
        except OSError as error:
            with contextlib.suppress(OSError):
                # Unless somebody else has written there, too.
                if data.startswith(os.pread(self._fd, len(data) + 1, self.size)):
                    os.ftruncate(self._fd, self.size)
            raise _failed(path, error) from error
        self.size += len(data)
        # With the size that it has if nobody did come in between.
        self.stamp = _stamp(os.fstat(self._fd), self.size)
        self._end = b""

    def cut(self, size: int) -> None:
        """Take away what lies beyond *size* bytes, durably."""
        try:
            os.ftruncate(self._fd, size)
            os.fsync(self._fd)
        except OSError as error:
            raise _failed(self._about[1], error) from error
        self.size = size
        self.stamp = _stamp(os.fstat(self._fd), self.size)
        self._end = b""

    def beside(self, name: str, most: int) -> bytes | None:
        """The first *most* bytes of the file of that name in the same folder; ``None``: there is
        none.

        Raises:
            PathRefused: it is no plain file, or may not be read.
        """
        try:
            fd = self._other(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PathRefused(_unreadable(self._beside(name), error)) from error
        _check_plain(fd, self._beside(name))
        return os.pread(fd, most, 0)

    def note(self, name: str, data: bytes) -> None:
        """Replace a few bytes of state that can be derived again, in the file of that name in the
        same folder.

        Nothing is synced. As many bytes as are there already go over them in one write, of which
        no process sees a half; renaming over a file can cost more than the sync of the line before
        it.

        Raises:
            WriteRefused: a write rule said no.
            WriteFailed: the disk did; the file is as it was.
        """
        root, _, actor = self._about
        beside = self._beside(name)
        apply_rules([Change(beside, None, data, actor, root)])
        try:
            if not self._written_over(name, data):
                atomic.replace(self._folder, name, data, synced=False)
                if (old := self._others.pop(name, None)) is not None:
                    os.close(old)
        except OSError as error:
            raise _failed(beside, error) from error

    def close(self) -> None:
        """Close it, and what was opened beside it."""
        for fd in (self._fd, *self._others.values()):
            os.close(fd)

    def _other(self, name: str) -> int:
        """A descriptor of the file of that name in the same folder; it stays open as long."""
        if name not in self._others:
            try:
                fd = os.open(name, _WRITING, dir_fd=self._folder)
            except PermissionError:
                fd = os.open(name, _READING, dir_fd=self._folder)
            self._others[name] = fd
        return self._others[name]

    def _written_over(self, name: str, data: bytes) -> bool:
        """Whether *data* took the place of as many bytes in a plain file of one name."""
        try:
            fd = self._other(name)
            status = os.fstat(fd)
            fits = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            return fits and status.st_size == len(data) and os.pwrite(fd, data, 0) == len(data)
        except OSError:
            return False

    def _beside(self, name: str) -> str:
        return f"{self._about[1].rpartition('/')[0]}/{name}"

    def _is_apart(self, count: int) -> bool:
        """Whether the *count* bytes written last stand on lines of their own: somebody may have
        come in between with half a line, behind which nobody could read them."""
        start = os.lseek(self._fd, 0, os.SEEK_CUR) - count
        return start == self.size or os.pread(self._fd, 1, start - 1) == b"\n"

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]


@contextlib.contextmanager
def open_lines(root: Path, path: str) -> Iterator[Lines | None]:
    """The file at *path* of the workspace in the real folder *root*, for reading without any
    lock; ``None`` when there is none.

    Raises:
        PathRefused: it is no plain file, or may not be read.
    """
    parts = tuple(path.split("/"))
    try:
        with paths.open_folder(root, parts[:-1]) as folder:
            fd = os.open(parts[-1], _READING, dir_fd=folder)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise PathRefused(_unreadable(path, error)) from error
    try:
        yield Lines(fd, _check_plain(fd, path))
    finally:
        os.close(fd)


@contextlib.contextmanager
def open_growing(root: Path, path: str, actor: Actor) -> Iterator[GrowingLines]:
    """The file at *path*, made when it is missing, for adding lines; the history lock is held.

    A file that has a second name elsewhere (a backup made of hard links) gets a copy of its own
    first, so that the other one stays as it is.

    Raises:
        PathRefused: it is no plain file.
        WriteFailed: it cannot be opened for writing.
    """
    _check_lock(root)
    *folders, name = path.split("/")
    try:
        with paths.open_folder(root, tuple(folders), make=True) as folder:
            opened = _open_own(folder, name, path)
            file = GrowingLines(*opened, folder, (root, path, actor))
            try:
                yield file
            finally:
                file.close()
    except OSError as error:
        raise _failed(path, error) from error


def put(root: Path, path: str, data: bytes, actor: Actor) -> None:
    """Replace the file at *path* in one step, durably; the history lock is held.

    Raises:
        WriteRefused: a write rule said no.
        WriteFailed: the disk did; the file is as it was.
    """
    _check_lock(root)
    apply_rules([Change(path, None, data, actor, root)])
    *folders, name = path.split("/")
    try:
        with paths.open_folder(root, tuple(folders), make=True) as folder:
            atomic.replace(folder, name, data)
    except OSError as error:
        raise _failed(path, error) from error


def _stamp(status: os.stat_result, size: int) -> Stamp:
    return (
        status.st_dev,
        status.st_ino,
        size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _open_own(folder: int, name: str, path: str) -> tuple[int, os.stat_result]:
    """A descriptor of a plain file that has no second name, and its status."""
    fd = os.open(name, _ADDING, 0o666, dir_fd=folder)
    try:
        status = _check_plain(fd, path)
        if status.st_nlink == 1:
            return fd, status
        lines = Lines(fd, status)
        atomic.replace(folder, name, lines.read(0, lines.size))
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    fd = os.open(name, _ADDING, 0o666, dir_fd=folder)
    return fd, os.fstat(fd)


def _check_plain(fd: int, path: str) -> os.stat_result:
    """The status of the open file; refuses what is no plain one."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        message = f"{names.shown(path)} is no plain file. Nothing was read or written. Move it."
        raise PathRefused(message)
    return status


def _check_lock(root: Path) -> None:
    """A slip in the program, which would tear lines some day, is an error at once."""
    if not locks.holds(root, Level.HISTORY):
        message = "A file of the history is written without the history lock."
        raise LockOrderError(message)


def _failed(path: str, error: OSError) -> WriteFailed:
    message = f"{names.shown(path)} could not be written: {reason_of(error)}. It is as it was."
    return WriteFailed(message)


def _unreadable(path: str, error: OSError) -> str:
    return f"{names.shown(path)} cannot be read: {reason_of(error)}."
