"""Stage the new contents of a bulk replace, and store its items durably until it is over."""

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from jenny.workspace import atomic, names, paths, transaction_journal
from jenny.workspace.locks import OWN_FOLDER

PREFIX = "swap-"
NEW, OLD = "new", "old"
# In the order in which they are done: earlier kinds make way for later ones.
KINDS = ("remove", "unfolder", "folder", "put", "mode")
_ID = re.compile(r"swap-[0-9a-f]{16}")
_FILE = re.compile(r"\d{1,9}")

# What a move leaves alone: size, modification time in nanoseconds, inode.
type MoveSignature = tuple[int, int, int]
# Policy for a file that somebody changed outside after the decision: it is kept beside ours under
# another name; ours takes over its further lines; or ours is dropped.
type Keep = Literal["beside", "grow", "yield"]


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a replace.

    ``put``: the staged file moves to *path*; ``remove``: the file there is removed; ``folder``: a
    folder is created; ``unfolder``: an empty one is removed; ``mode``: a folder gets other
    permissions. *was*: the signature of the file at the time of the decision, ``None`` where there
    was none; *file*, *own* and *size*: the staged file's name, inode and bytes. *mode* and
    *old_mode*: a folder's permissions.
    """

    path: str
    kind: Literal["put", "remove", "folder", "unfolder", "mode"]
    was: MoveSignature | None = None
    file: str = ""
    own: int = 0
    size: int = 0
    mode: int = 0o755
    old_mode: int = 0o755
    keep: Keep = "beside"


@dataclass(frozen=True)
class BulkReplace:
    """A bulk replace: its stage, its items in order, and its direction."""

    name: str
    items: tuple[Item, ...]
    undo: bool = False


def move_signature(status: os.stat_result) -> MoveSignature:
    return (status.st_size, status.st_mtime_ns, status.st_ino)


def is_bulk_replace(journal_name: str) -> bool:
    return journal_name.startswith(PREFIX)


def rolled_back(bulk: BulkReplace) -> BulkReplace:
    """Return the same replace, marked for rollback."""
    return replace(bulk, undo=True)


def store(root: Path, bulk: BulkReplace) -> None:
    """Write the journal durably: from here on the replace will be finished."""
    data: dict[str, Any] = {"undo": bulk.undo, "items": [asdict(item) for item in bulk.items]}
    with paths.open_folder(root, transaction_journal.FOLDER, make=True) as folder:
        atomic.replace(folder, f"{bulk.name}.json", json.dumps(data).encode(), mode=0o600)


def load(root: Path, journal_name: str) -> BulkReplace | None:
    """Load a journal; ``None`` when it is invalid."""
    name = journal_name.removesuffix(".json")
    if not _ID.fullmatch(name):
        return None
    try:
        data = json.loads(root.joinpath(*transaction_journal.FOLDER, journal_name).read_bytes())
        items = tuple(_item(row) for row in data["items"])
        return BulkReplace(name, items, undo=bool(data["undo"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def finish(root: Path, bulk: BulkReplace) -> None:
    with paths.open_folder(root, transaction_journal.FOLDER) as folder:
        atomic.remove(folder, f"{bulk.name}.json")


def place(bulk: BulkReplace, side: str) -> tuple[str, ...]:
    """Return the folder of the new files (``NEW``) or of the old ones (``OLD``)."""
    return (OWN_FOLDER, bulk.name, side)


def parts_of(path: str) -> tuple[str, ...]:
    """Split a path that a replace may touch. A name that is not UTF-8 is fine.

    Raises:
        ValueError: it is not a valid path in a workspace.
    """
    parts = tuple(path.split("/"))
    odd = any(part in ("", ".", "..") or "\0" in part or names.is_own(part) for part in parts)
    if odd or any(names.is_git(part) for part in parts):
        raise ValueError(path)
    return parts


def _item(row: dict[str, Any]) -> Item:
    item = Item(**row)
    if item.kind not in KINDS:
        raise ValueError(item.kind)
    parts_of(item.path)
    if item.file and not _FILE.fullmatch(item.file):
        raise ValueError(item.file)
    was = None if item.was is None else (item.was[0], item.was[1], item.was[2])
    return replace(item, was=was)


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged content: its name in the stage, its inode, bytes and permissions."""

    name: str
    number: int
    size: int
    mode: int


class Stage:
    """The staged files of one replace.

    While it is open, its folder is locked, so that no process takes it for one that a dead process
    left.
    """

    def __init__(self, root: Path) -> None:
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
        if f"{self.name}.json" not in transaction_journal.pending(self.root):
            shutil.rmtree(self.root / OWN_FOLDER / self.name, ignore_errors=True)
        os.close(self._fd)

    def write(self, pieces: Iterable[bytes], *, mode: int, modified: int | None = None) -> Staged:
        """Stage a content, if known with its modification time (nanoseconds since 1970).

        ``sync`` makes it durable.

        Raises:
            OSError: the disk refused. Errors of *pieces* are not caught.
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
            if modified is not None:
                # A disk that cannot store the time leaves the file with the current one.
                with contextlib.suppress(OSError, OverflowError):
                    os.utime(fd, ns=(modified, modified))
            made = os.fstat(fd)
        finally:
            os.close(fd)
        self._unsynced.append(name)
        return Staged(name, made.st_ino, made.st_size, mode)

    def sync(self) -> None:
        """Make all staged files durable; once for all costs much less than one by one."""
        atomic.sync(self._new, self._unsynced)
        self._unsynced.clear()

    def put(
        self, path: str, staged: Staged, was: MoveSignature | None, keep: Keep = "beside"
    ) -> None:
        """Plan to move a staged content to *path*. *was*: the signature of the current file."""
        parts_of(path)
        self.items.append(
            Item(path, "put", was, staged.name, staged.number, staged.size, staged.mode, keep=keep)
        )

    def remove(self, path: str, was: MoveSignature) -> None:
        parts_of(path)
        self.items.append(Item(path, "remove", was))

    def folder(self, path: str, mode: int, *, old_mode: int | None = None) -> None:
        """Plan to create a folder, or to change the permissions of an existing one (*old_mode*)."""
        parts_of(path)
        if old_mode is None:
            self.items.append(Item(path, "folder", mode=mode))
        before = mode if old_mode is None else old_mode
        self.items.append(Item(path, "mode", mode=mode, old_mode=before))

    def unfolder(self, path: str, mode: int) -> None:
        """Plan to remove a folder if it is empty then. *mode*: its permissions, for a rollback."""
        parts_of(path)
        self.items.append(Item(path, "unfolder", mode=mode))

    def ready(self) -> BulkReplace:
        """Return the plan in order, with every file durably staged."""
        self.sync()
        os.fsync(self._new)
        return BulkReplace(self.name, tuple(self.items))


def sweep(root: Path) -> None:
    """Remove stages of replaces that are over or never began; those with a journal stay."""
    pending = set(transaction_journal.pending(root))
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
                pass  # a process is staging there
            finally:
                os.close(fd)


def _is_named_broken(root: Path, name: str) -> bool:
    """True when a journal that was set aside names it."""
    return any(path.name.startswith(name) for path in transaction_journal.broken(root))
