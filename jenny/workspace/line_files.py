"""Append to files of lines, and write the small state files beside them.

Replacing a whole file for each added line would cost more with every line. Here a line is appended
and synced; only a crash can leave half of one, which the next append cuts off. The caller holds the
history lock; the write rules are applied as to any other write.
"""

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, locks, names, paths, transactions
from jenny.workspace.errors import LockOrderError, PathRefused, WriteFailed, reason_of
from jenny.workspace.locks import OWN_FOLDER, Level
from jenny.workspace.stat_signature import StatSignature, signature_of
from jenny.workspace.write_rules import Actor, Change, apply_rules

# Queue lines for a ledger that is kept in a database.
#
# The queue is a file beside the workspace's locks, so no write ever waits for the database. A line
# is added under the workspace's lock, without a sync: a killed process loses nothing; a power cut
# may lose lines, which are not part of the write itself.


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def add(root: Path, name: str, rows: Iterable[dict[str, Any]]) -> None:
    """Append the *rows*; the workspace's lock is held.

    Raises:
        OSError: the disk refused.
    """
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        fd = os.open(name, _FLAGS, 0o600, dir_fd=folder)
        try:
            end = os.fstat(fd).st_size
            # A line that a crash cut short is ended first.
            if end and os.pread(fd, 1, end - 1) != b"\n":
                data = b"\n" + data
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)


def size(root: Path, name: str) -> int:
    """Return the size of the queue in bytes."""
    try:
        return root.joinpath(OWN_FOLDER, name).lstat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def taking(root: Path, name: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the queued rows, oldest first.

    When the block ends without an error they are removed; else they stay, and are yielded again.
    The lock is not held meanwhile, so others can write.

    Raises:
        OSError, LockTimeout, WriteFailed: taken rows may be yielded again.
    """
    with transactions.lock_workspace(root):
        data = _read(root, name)
    data = data[: data.rfind(b"\n") + 1]
    yield list(_rows(data))
    if not data:
        return
    with transactions.lock_workspace(root), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        now = _read(root, name)
        if not now.startswith(data):
            # Another process has taken them, too.
            return
        if len(now) == len(data):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        else:
            atomic.replace(folder, name, now[len(data) :], mode=0o600, synced=False)


def _read(root: Path, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with paths.open_folder(root, (OWN_FOLDER,)) as folder:
            fd = os.open(name, flags, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line) if line else None
            if isinstance(row, dict):
                yield row


_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_END_BYTES = 4_096
_WRITING = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Append at the current end: somebody who takes no lock may have written in between.
_ADDING = _WRITING | os.O_CREAT | os.O_APPEND


class Lines:
    """An open file, with its length at the time of opening.

    ``signature``: it changes whenever anybody else writes to the file or replaces it.
    """

    def __init__(self, fd: int, status: os.stat_result) -> None:
        self._fd = fd
        self.size = status.st_size
        self.signature = _signature(status, self.size)
        # Its end, which an append reads several times.
        self._end = b""

    def read(self, start: int, end: int) -> bytes:
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
    """A file that lines are appended to; made by ``open_growing``."""

    def __init__(
        self, fd: int, status: os.stat_result, folder: int, about: tuple[Path, str, Actor]
    ) -> None:
        super().__init__(fd, status)
        self._folder = folder
        self._about = about
        self._others: dict[str, int] = {}

    def add(self, data: bytes) -> None:
        """Append *data*, durably. The write rules get it as a change from nothing.

        Raises:
            WriteRefused: a write rule refused.
            WriteFailed: the disk refused; the file is as it was.
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
        # With the size that it has if nobody wrote in between.
        self.signature = _signature(os.fstat(self._fd), self.size)
        self._end = b""

    def cut(self, size: int) -> None:
        """Truncate the file to *size* bytes, durably."""
        try:
            os.ftruncate(self._fd, size)
            os.fsync(self._fd)
        except OSError as error:
            raise _failed(self._about[1], error) from error
        self.size = size
        self.signature = _signature(os.fstat(self._fd), self.size)
        self._end = b""

    def beside(self, name: str, most: int) -> bytes | None:
        """Return the first *most* bytes of *name* in the same folder; ``None``: there is none.

        Raises:
            PathRefused: it is not a plain file, or may not be read.
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
        """Replace a few bytes of derivable state in the file *name* in the same folder.

        Nothing is synced. If the length is the same, the bytes are overwritten in one write, which
        no process sees half done; a rename can cost more than the sync of the line before it.

        Raises:
            WriteRefused: a write rule refused.
            WriteFailed: the disk refused; the file is as it was.
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
        for fd in (self._fd, *self._others.values()):
            os.close(fd)

    def _other(self, name: str) -> int:
        """Return a descriptor of *name* in the same folder; it stays open until ``close``."""
        if name not in self._others:
            try:
                fd = os.open(name, _WRITING, dir_fd=self._folder)
            except PermissionError:
                fd = os.open(name, _READING, dir_fd=self._folder)
            self._others[name] = fd
        return self._others[name]

    def _written_over(self, name: str, data: bytes) -> bool:
        """Overwrite a plain file of the same length without other hard links; True when done."""
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
        """True when the *count* bytes written last are on lines of their own.

        Somebody may have written half a line in between, which would make them unreadable.
        """
        start = os.lseek(self._fd, 0, os.SEEK_CUR) - count
        return start == self.size or os.pread(self._fd, 1, start - 1) == b"\n"

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]


@contextlib.contextmanager
def open_lines(root: Path, path: str) -> Iterator[Lines | None]:
    """Open the file at *path* for reading without a lock; ``None`` when there is none.

    Raises:
        PathRefused: it is not a plain file, or may not be read.
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
    """Open the file at *path* for appending, and create it if missing; the history lock is held.

    A file with another hard link (a backup made of hard links) is copied first, so that the other
    one stays as it is.

    Raises:
        PathRefused: it is not a plain file.
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


def replace_line_file(root: Path, path: str, data: bytes, actor: Actor) -> None:
    """Replace the file at *path* in one step, durably; the history lock is held.

    Raises:
        WriteRefused: a write rule refused.
        WriteFailed: the disk refused; the file is as it was.
    """
    _check_lock(root)
    apply_rules([Change(path, None, data, actor, root)])
    *folders, name = path.split("/")
    try:
        with paths.open_folder(root, tuple(folders), make=True) as folder:
            atomic.replace(folder, name, data)
    except OSError as error:
        raise _failed(path, error) from error


def _signature(status: os.stat_result, size: int) -> StatSignature:
    changed, modified, _, inode = signature_of(status)
    return (changed, modified, size, inode)


def _open_own(folder: int, name: str, path: str) -> tuple[int, os.stat_result]:
    """Return a descriptor of a plain file that has one name, and its status."""
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
    """Return the status of the open file; refuse one that is not plain."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        message = f"{names.shown(path)} is no plain file. Nothing was read or written. Move it."
        raise PathRefused(message)
    return status


def _check_lock(root: Path) -> None:
    """Raise if the history lock is not held: without it, lines would be torn some day."""
    if not locks.holds(root, Level.HISTORY):
        message = "A file of the history is written without the history lock."
        raise LockOrderError(message)


def _failed(path: str, error: OSError) -> WriteFailed:
    message = f"{names.shown(path)} could not be written: {reason_of(error)}. It is as it was."
    return WriteFailed(message)


def _unreadable(path: str, error: OSError) -> str:
    return f"{names.shown(path)} cannot be read: {reason_of(error)}."
