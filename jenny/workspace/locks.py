"""Lock a workspace between processes, in one published order: workspace → history → git.

A thread takes the locks in that order and may take one again that it holds; against the order it
gets an error at once instead of a rare deadlock. The lock is the operating system's (``flock``) and
ends with its holder. After taking one, the lock file is checked to be still the one in the folder,
since somebody may have removed or replaced it meanwhile.

The locks are fair: a thread that finds a lock taken queues behind a second lock file and sets a
flag in the first one; a holder that releases the lock and wants it again sees the flag and queues
too.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from jenny.workspace.errors import FileMissing, LockOrderError, LockTimeout, WriteFailed, reason_of

TIMEOUT_SECONDS = 20.0
OWN_FOLDER = ".jenny"


class Level(IntEnum):
    """The locks of a workspace, in the order in which they are taken."""

    WORKSPACE = 1
    HISTORY = 2
    GIT = 3


LOCK_FILES = {
    Level.WORKSPACE: f"{OWN_FOLDER}/workspace.lock",
    Level.HISTORY: "memory/.history.lock",
    Level.GIT: f"{OWN_FOLDER}/git.lock",
}
_TURNSTILES = {level: f"{OWN_FOLDER}/{level.name.lower()}.next" for level in Level}
# Files of the history: changing one of them takes the history lock as well.
_OF_HISTORY = ("memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor")
_OF_HISTORY_TOO = "memory/archive/history-"


# A lock file holds its holder's process id and the flag for waiting threads. It always has the same
# length: truncating the file first would wait for the disk.
_HOLDER_BYTES = 20
_NOBODY, _SOMEBODY = b" ", b"w"


@dataclass(frozen=True)
class _Held:
    root: Path
    level: Level
    fd: int


class _Mine(threading.local):
    """The locks that this thread holds, outermost first."""

    def __init__(self) -> None:
        self.held: list[_Held] = []


_mine = _Mine()
_guard = threading.Lock()
_threads: dict[tuple[Path, Level], threading.Lock] = {}
_open: set[int] = set()


@contextlib.contextmanager
def hold(root: Path, level: Level, *, timeout: float = TIMEOUT_SECONDS) -> Iterator[bool]:
    """Hold a lock of the workspace at *root* (its real folder).

    Yields True for the outermost hold; ``False`` when the thread had it already.

    Raises:
        LockTimeout: another process or thread held it for *timeout* seconds.
        LockOrderError: the thread holds a lock of a later level.
    """
    if any(held.root == root and held.level == level for held in _mine.held):
        yield False
        return
    _check_order(root, level)
    deadline = time.monotonic() + timeout
    threads = _thread_lock(root, level)
    if not threads.acquire(timeout=max(timeout, 0)):
        raise LockTimeout(_busy(level, timeout, "another task of this process"))
    try:
        held = _Held(root, level, _take(root, level, deadline, timeout))
        _mine.held.append(held)
        try:
            yield True
        finally:
            if held in _mine.held:  # false in a child that was forked meanwhile
                _mine.held.remove(held)
                _close(held.fd)
    finally:
        threads.release()


@contextlib.contextmanager
def for_files(root: Path, files: Iterable[str]) -> Iterator[None]:
    """Hold the further locks that changing these *files* (paths from *root*) needs."""
    if any(path in _OF_HISTORY or path.startswith(_OF_HISTORY_TOO) for path in files):
        with hold(root, Level.HISTORY):
            yield
    else:
        yield


def holds(root: Path, level: Level) -> bool:
    """True when this thread holds the lock."""
    return any(held.root == root and held.level == level for held in _mine.held)


def holds_any() -> bool:
    """True when this thread holds a lock of any workspace."""
    return bool(_mine.held)


def _check_order(root: Path, level: Level) -> None:
    """Refuse an order in which two processes could deadlock."""
    for held in _mine.held:
        if held.root != root:
            message = f"A lock of {held.root.name} is held while one of {root.name} is asked for."
            raise LockOrderError(message)
        if held.level > level:
            message = (
                f"The {level.name.lower()} lock is asked for while the {held.level.name.lower()} "
                "lock is held; the order is workspace, history, git."
            )
            raise LockOrderError(message)


def _thread_lock(root: Path, level: Level) -> threading.Lock:
    """Return the lock between this process's threads, so that only one of them uses ``flock``."""
    with _guard:
        return _threads.setdefault((root, level), threading.Lock())


def _take(root: Path, level: Level, deadline: float, timeout: float) -> int:
    """Lock the lock file and return its descriptor."""
    turnstile, path = f"{root}/{_TURNSTILES[level]}", f"{root}/{LOCK_FILES[level]}"
    try:
        try:
            fd = _at_once(path)
            if fd is None:
                fd = _in_turn(turnstile, path, level, deadline, timeout)
        except FileNotFoundError:
            _make_folders(root, turnstile, path)
            fd = _in_turn(turnstile, path, level, deadline, timeout)
        # For the message of those who wait; on a full disk it is left out.
        mine = b"%-19d\n" % os.getpid() + _NOBODY
        with contextlib.suppress(OSError):
            if os.pread(fd, len(mine), 0) != mine:
                os.pwrite(fd, mine, 0)
    except OSError as error:
        message = f"The workspace cannot be locked: {reason_of(error)}. Nothing was written."
        raise WriteFailed(message) from error
    return fd


def _at_once(path: str) -> int | None:
    """Lock the file at *path* without waiting; ``None`` when it is held or others wait for it."""
    fd = _opened(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same(fd, path) and os.pread(fd, 1, _HOLDER_BYTES) != _SOMEBODY:
            return fd
    except BlockingIOError:
        pass
    except BaseException:
        _close(fd)
        raise
    _close(fd)
    return None


def _in_turn(turnstile: str, path: str, level: Level, deadline: float, timeout: float) -> int:
    """Queue for the file at *path*; returns its descriptor, locked, with the queue released."""
    turn = _flock(turnstile, level, deadline, timeout)
    try:
        return _flock(path, level, deadline, timeout)
    finally:
        _close(turn)


def _make_folders(root: Path, *files: str) -> None:
    """Create the folders of lock files in an existing workspace."""
    if not root.is_dir():
        message = f"There is no workspace folder at {root}. Nothing was written."
        raise FileMissing(message)
    for file in files:
        Path(file).parent.mkdir(exist_ok=True)


def _flock(path: str, level: Level, deadline: float, timeout: float) -> int:
    """Open and lock *path*; wait until *deadline* (monotonic seconds)."""
    pause = 0.0005
    while True:
        fd = _opened(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with contextlib.suppress(OSError):
                os.pwrite(fd, _SOMEBODY, _HOLDER_BYTES)
            holder = os.pread(fd, _HOLDER_BYTES, 0).decode("ascii", "replace").strip()
            _close(fd)
            if time.monotonic() >= deadline:
                who = f"process {holder}" if holder.isdigit() else "another process"
                raise LockTimeout(_busy(level, timeout, who)) from None
            time.sleep(pause)
            pause = min(pause * 2, 0.01)
            continue
        except BaseException:
            _close(fd)
            raise
        if _is_same(fd, path):
            return fd
        _close(fd)


def _opened(path: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    _open.add(fd)
    return fd


def _is_same(fd: int, path: str) -> bool:
    """True when the locked file is still the one in the folder."""
    mine = os.fstat(fd)
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _close(fd: int) -> None:
    _open.discard(fd)
    os.close(fd)


def _busy(level: Level, timeout: float, who: str) -> str:
    return (
        f"The workspace is busy: {who} has held its {level.name.lower()} lock for more than "
        f"{timeout:g} seconds. Nothing was written. Try again in a moment."
    )


def _forget() -> None:
    """Close the parent's descriptors in a forked child without unlocking them."""
    for fd in _open:
        with contextlib.suppress(OSError):
            os.close(fd)
    _open.clear()
    _threads.clear()
    _mine.held.clear()
    global _guard  # noqa: PLW0603  (another thread of the parent may have held it at the fork)
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_forget)
