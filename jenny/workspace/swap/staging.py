"""What is to come, written and synced before anything that is there is touched."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from jenny.workspace import atomic, journal, paths
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.swap.book import NEW, OLD, PREFIX, Item, Keep, Stamp, Swap, parts_of

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged content: its name in the stage, its number on the disk, bytes, permissions."""

    name: str
    number: int
    size: int
    mode: int


class Stage:
    """The staged files of one swap. While it is open, its folder is locked, so that nobody takes
    it for what a process that died left behind."""

    def __init__(self, root: Path) -> None:
        """*root*: the workspace's real folder."""
        self.root = root
        self.name = f"{PREFIX}{secrets.token_hex(8)}"
        self.items: list[Item] = []
        self._count = 0
        self._unsynced: list[str] = []
        self._fd = -1
        self._new = -1

    def __enter__(self) -> Self:
        with paths.open_folder(self.root, (OWN_FOLDER,), make=True) as own:
            os.mkdir(self.name, 0o700, dir_fd=own)
            self._fd = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=own)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            for side in (NEW, OLD):
                os.mkdir(side, 0o700, dir_fd=self._fd)
            os.fsync(self._fd)
            os.fsync(own)
        self._new = os.open(NEW, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._new)
        if f"{self.name}.json" not in journal.pending(self.root):
            shutil.rmtree(self.root / OWN_FOLDER / self.name, ignore_errors=True)
        os.close(self._fd)

    def write(self, pieces: Iterable[bytes], *, mode: int, modified: int = 0) -> Staged:
        """Stage a content, with its permissions and, unless 0, its time of writing (nanoseconds
        since 1970); ``sync`` makes it durable.

        Raises:
            OSError: the disk refused. Whatever giving the pieces raises comes through as well.
        """
        name = str(self._count)
        self._count += 1
        fd = os.open(name, _FLAGS, 0o600, dir_fd=self._new)
        try:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[os.write(fd, view) :]
            os.fchmod(fd, mode)
            if modified:
                os.utime(fd, ns=(modified, modified))
            made = os.fstat(fd)
        finally:
            os.close(fd)
        self._unsynced.append(name)
        return Staged(name, made.st_ino, made.st_size, mode)

    def sync(self) -> None:
        """Make what is staged durable: all of it at once costs much less than one by one."""
        atomic.sync(self._new, self._unsynced)
        self._unsynced.clear()

    def put(self, path: str, staged: Staged, was: Stamp | None, keep: Keep = "beside") -> None:
        """Have a staged content come to *path*. *was*: what stands there now."""
        parts_of(path)
        self.items.append(
            Item(path, "put", was, staged.name, staged.number, staged.size, staged.mode, keep=keep)
        )

    def remove(self, path: str, was: Stamp) -> None:
        """Have the file at *path* go."""
        parts_of(path)
        self.items.append(Item(path, "remove", was))

    def folder(self, path: str, mode: int, *, old_mode: int | None = None) -> None:
        """Have a folder made, or have one that is there get other permissions (*old_mode*: those
        that it has)."""
        parts_of(path)
        if old_mode is None:
            self.items.append(Item(path, "folder", mode=mode))
        before = mode if old_mode is None else old_mode
        self.items.append(Item(path, "mode", mode=mode, old_mode=before))

    def unfolder(self, path: str, mode: int) -> None:
        """Have a folder go, if it is empty then. *mode*: its own, should it have to come back."""
        parts_of(path)
        self.items.append(Item(path, "unfolder", mode=mode))

    def ready(self) -> Swap:
        """All of it, durably staged: what goes, what is made, what comes, folders that go."""
        self.sync()
        os.fsync(self._new)
        return Swap(self.name, tuple(self.items))


def sweep(root: Path) -> None:
    """Remove what swaps that are over, or never began, left behind; one that is under way, or to
    be settled, stays."""
    pending = set(journal.pending(root))
    own = root / OWN_FOLDER
    try:
        found = [name for name in os.listdir(own) if name.startswith(PREFIX)]  # noqa: PTH208 - names are enough
    except FileNotFoundError:
        return
    for name in found:
        if f"{name}.json" in pending or _is_named_broken(root, name):
            continue
        with contextlib.suppress(OSError):
            fd = os.open(own / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(own / name, ignore_errors=True)
            except BlockingIOError:
                pass  # somebody is staging there
            finally:
                os.close(fd)


def _is_named_broken(root: Path, name: str) -> bool:
    """Whether a journal that was set aside speaks of it."""
    return any(path.name.startswith(name) for path in journal.broken(root))
