"""Queue lines for a ledger that is kept in a database.

The queue is a file beside the workspace's locks, so no write ever waits for the database. A line is
added under the workspace's lock, without a sync: a killed process loses nothing; a power cut may
lose lines, which are not part of the write itself.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, paths, transactions
from jenny.workspace.locks import OWN_FOLDER

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
