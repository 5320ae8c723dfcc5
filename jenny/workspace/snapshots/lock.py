"""The lock of a store: who writes or prunes holds it; reading needs none.

It comes before the workspace lock: who holds that one must not ask for this one.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace.errors import LockTimeout

_PAUSE_SECONDS = 0.01


class _Mine(threading.local):
    """The lock files that this thread holds."""

    def __init__(self) -> None:
        self.held: set[tuple[int, Path]] = set()


_mine = _Mine()
_open: set[int] = set()


@contextlib.contextmanager
def hold(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file *path*, whose folder exists; the same thread may do so again.

    Raises:
        LockTimeout: another process or thread kept it for *timeout* seconds.
    """
    key = (os.getpid(), path)
    if key in _mine.held:
        yield
        return
    fd = _take(path, time.monotonic() + timeout)
    _open.add(fd)
    _mine.held.add(key)
    try:
        yield
    finally:
        if key[0] == os.getpid():  # not in a child that was forked meanwhile
            _mine.held.discard(key)
            _open.discard(fd)
            os.close(fd)


def holds(path: Path) -> bool:
    """Whether this thread holds it."""
    return (os.getpid(), path) in _mine.held


def _take(path: Path, deadline: float) -> int:
    """A descriptor of the lock file, locked; it goes with its holder."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            if time.monotonic() >= deadline:
                raise LockTimeout(
                    "Another process is working on the snapshots of this workspace. "
                    "Nothing was done. Try again in a moment."
                ) from None
            time.sleep(_PAUSE_SECONDS)
            continue
        except BaseException:
            os.close(fd)
            raise
        if _is_same(fd, path):
            return fd
        os.close(fd)


def _is_same(fd: int, path: Path) -> bool:
    """Whether the locked file is still the one in the folder."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _forget() -> None:
    """In a forked child: let go of the parent's descriptors, which would keep its locks held."""
    for fd in _open:
        with contextlib.suppress(OSError):
            os.close(fd)
    _open.clear()
    _mine.held.clear()


os.register_at_fork(after_in_child=_forget)
