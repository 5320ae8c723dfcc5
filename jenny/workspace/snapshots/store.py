"""Keep the snapshots of one workspace in a bare repository outside the workspace.

The store's lock comes before the workspace's: a thread that holds that one must not take this one.

Each snapshot is a commit without a parent under a reference of its own. Its tree holds ``files``
(the workspace), ``about`` (permissions, sizes and times, folder by folder, so that unchanged parts
are stored once) and ``skipped`` (omitted files and the reasons). Beside git's own folders is one of
ours: the lock and two caches, which are rebuilt when they are lost.
"""

import contextlib
import fcntl
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jenny.workspace import locks
from jenny.workspace.errors import (
    LockOrderError,
    LockTimeout,
    SnapshotUnknown,
    StoreBroken,
    VersionsOff,
    reason_of,
)
from jenny.workspace.git import refs
from jenny.workspace.git.objects import TreeEntry
from jenny.workspace.git.store import Repository
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import Changes, Snapshot

_PAUSE_SECONDS = 0.01


class _Mine(threading.local):
    """The lock files that this thread holds."""

    def __init__(self) -> None:
        self.held: set[tuple[int, Path]] = set()


_mine = _Mine()
_open: set[int] = set()


@contextlib.contextmanager
def hold_store(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file *path*, whose folder exists; reentrant for the thread.

    Raises:
        LockTimeout: another process or thread held it for *timeout* seconds.
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
        if key[0] == os.getpid():  # false in a child that was forked meanwhile
            _mine.held.discard(key)
            _open.discard(fd)
            os.close(fd)


def holds_store(path: Path) -> bool:
    return (os.getpid(), path) in _mine.held


def _take(path: Path, deadline: float) -> int:
    """Open and lock the lock file; the lock ends with its holder."""
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
    """True when the locked file is still the one in the folder."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _forget() -> None:
    """Close the parent's descriptors in a forked child, which would keep its locks held."""
    for fd in _open:
        with contextlib.suppress(OSError):
            os.close(fd)
    _open.clear()
    _mine.held.clear()


os.register_at_fork(after_in_child=_forget)


REFS = "refs/snapshots"
PINS = "refs/pins"
OWN = "jenny"
LOCK_SECONDS = 60.0

# The prefix of ``git.refs``'s temporary files.
_REF_TEMP = "jenny-ref-"
_ID = re.compile(r"(\d{1,9})-([0-9a-f]{8})")
_PIN = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


class Store:
    """The snapshots in the folder *path*, which need not exist yet. Cheap to make."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        return os.path.lexists(self.path)

    @property
    def own(self) -> Path:
        """The folder of the lock and the caches."""
        return self.path / OWN

    @contextlib.contextmanager
    def open(self) -> Iterator[Objects]:
        """Open the objects and references for reading.

        Raises:
            VersionsOff: the store cannot be used.
        """
        with Objects(self.path) as repo:
            yield repo

    @contextlib.contextmanager
    def write(self, *, timeout: float = LOCK_SECONDS) -> Iterator[Objects]:
        """Open the store under the lock, for writing; it is created if missing.

        Raises:
            LockTimeout: another process holds the lock.
            LockOrderError: the thread holds a workspace lock, which comes later.
            VersionsOff: the store cannot be used.
        """
        if not holds_store(self._lock_file) and locks.holds_any():
            raise LockOrderError("A store of snapshots is locked before its workspace, not after.")
        self._make()
        with Objects(self.path) as repo:
            try:
                self.own.mkdir(mode=0o700, exist_ok=True)
                held = hold_store(self._lock_file, timeout=timeout)
            except OSError as error:
                raise VersionsOff(
                    f"The store of snapshots cannot be written: {reason_of(error)}."
                ) from error
            with held:
                yield repo

    def _make(self) -> None:
        """Create the store if it does not exist, readable only by the owner."""
        if self.exists:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Creating a store removes leftovers of earlier attempts, so only one process does it at
            # a time.
            with hold_store(self.path.with_name(".lock"), timeout=LOCK_SECONDS):
                Repository.create(self.path).close()
        except OSError as error:
            raise VersionsOff(f"{self.path} cannot be made: {reason_of(error)}.") from error

    def sweep(self) -> None:
        """Remove leftovers of dead processes; called under the lock."""
        with contextlib.suppress(OSError):
            for path in self.own.glob(".*.tmp"):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError, VersionsOff):
            for folder in (REFS, PINS):
                for name in _names_in(self.path / folder):
                    if name.endswith(".lock"):
                        refs.clear_stale(self.path, self.path / folder / name)
            for path in self.path.glob(f"{_REF_TEMP}*"):
                path.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.own / "lock"

    # Snapshots ---------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """Return the ids of all snapshots, oldest first."""
        found = _names_in(self.path / REFS)
        if (self.path / "packed-refs").exists():
            with self.open() as repo:
                found = [name.rpartition("/")[2] for name in repo.refs(REFS)]
        return sorted((name for name in set(found) if _ID.fullmatch(name)), key=number_of)

    def newest(self, repo: Objects) -> Snapshot | None:
        for name in reversed(self.ids()):
            with contextlib.suppress(StoreBroken, SnapshotUnknown):
                return self.get(repo, name)
        return None

    def resolve(self, asked: str) -> str:
        """Return the id for an id, its number, at least 4 hex digits, or ``latest``.

        Raises:
            SnapshotUnknown: it matches none, or several.
        """
        ids, wanted = self.ids(), asked.strip().lower()
        if wanted in ("latest", "newest") and ids:
            return ids[-1]
        if wanted in ids:
            return wanted
        if wanted.isascii() and wanted.isdigit():
            found = [name for name in ids if number_of(name) == int(wanted)]
            if found:
                return found[0]
        if re.fullmatch(r"(\d+-)?[0-9a-f]{4,8}", wanted):
            found = [
                n for n in ids if n.startswith(wanted) or n.partition("-")[2].startswith(wanted)
            ]
            if len(found) == 1:
                return found[0]
            if found:
                several = ", ".join(found[-10:])
                raise SnapshotUnknown(f"Several snapshots are called like this: {several}.")
        raise SnapshotUnknown(
            f"There is no snapshot {asked[:60]!r}. Name one by its number, its id, or as latest."
        )

    def get(self, repo: Objects, name: str) -> Snapshot:
        """Load the snapshot with this id.

        Raises:
            SnapshotUnknown: there is none (any more).
            StoreBroken: it is damaged.
        """
        commit = repo.ref(f"{REFS}/{name}") if _ID.fullmatch(name) else None
        if commit is None:
            raise SnapshotUnknown(f"There is no snapshot {name[:60]}.")
        return decoded(name, commit, repo)

    # Pins --------------------------------------------------------------------------------

    def pin(self, name: str, why: str) -> None:
        """Protect the snapshot *name* from pruning, also through a crash, until ``unpin(why)``.

        *why*: a short word of lower-case letters, digits and dashes, as ``restore-12``.

        Raises:
            SnapshotUnknown: there is no such snapshot.
        """
        with self.write() as repo:
            shot = self.get(repo, name)
            pin = _pin(why)
            repo.move_ref(shot.commit, expect=repo.ref(pin), name=pin)

    def unpin(self, why: str) -> None:
        """Remove a pin, if it exists."""
        if not self.exists:
            return
        with self.write() as repo:
            pinned = repo.ref(_pin(why))
            if pinned is not None:
                repo.delete_ref(_pin(why), expect=pinned)

    def pinned(self, repo: Objects) -> dict[str, str]:
        """Return commits of pinned snapshots, by pin."""
        return repo.refs(PINS)


def _names_in(folder: Path) -> list[str]:
    """List a folder of the store; empty when it does not exist yet."""
    try:
        return os.listdir(folder)  # noqa: PTH208  (there may be very many)
    except FileNotFoundError:
        return []


def number_of(name: str) -> int:
    return int(name.partition("-")[0])


def entry(repo: Objects, tree: str, name: str) -> TreeEntry | None:
    return next((row for row in repo.tree(tree) if row.name == name), None)


def encoded(facts: dict[str, Any], subject: str) -> str:
    return f"{subject}\n\n{json.dumps(facts)}\n"


def decoded(name: str, commit: str, repo: Objects) -> Snapshot:
    """Decode a commit as a snapshot.

    Raises:
        StoreBroken: it is invalid.
    """
    found = repo.commit(commit)
    files = entry(repo, found.tree, "files")
    if files is None:
        raise StoreBroken(f"Snapshot {name} is damaged.")
    try:
        facts = json.loads(found.body)
        return Snapshot(
            id=name,
            number=int(facts["number"]),
            when=datetime.fromtimestamp(facts["when"] / 1000, UTC),
            trigger=str(facts["trigger"]),
            label=str(facts["label"]),
            files=int(facts["files"]),
            size=int(facts["size"]),
            skipped=int(facts["skipped"]),
            before=facts["before"],
            changes=Changes(*(int(count) for count in facts["changes"])),
            tree=files.sha,
            commit=commit,
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise StoreBroken(f"Snapshot {name} is damaged.") from error


def _pin(why: str) -> str:
    if not _PIN.fullmatch(why):
        raise ValueError(why)
    return f"{PINS}/{why}"
