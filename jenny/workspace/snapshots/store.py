"""The store of one workspace's snapshots: a bare repository outside the workspace.

Each snapshot is a commit without a parent under a reference of its own. Its tree holds ``files``
(the workspace), ``about`` (permissions, sizes and times, folder by folder, so that what does not
change is stored once) and ``skipped`` (what is not in it, and why). Beside git's own folders
stands one of ours: the lock and two caches, which are made anew when they are lost.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jenny.workspace import locks
from jenny.workspace.errors import (
    LockOrderError,
    SnapshotUnknown,
    StoreBroken,
    VersionsOff,
    reason_of,
)
from jenny.workspace.git import refs
from jenny.workspace.git.objects import TreeEntry
from jenny.workspace.git.store import Repository
from jenny.workspace.snapshots import lock
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import Changes, Snapshot

REFS = "refs/snapshots"
PINS = "refs/pins"
OWN = "jenny"
LOCK_SECONDS = 60.0

# As ``git.refs`` calls what it writes before it takes a reference's lock.
_REF_TEMP = "jenny-ref-"
_ID = re.compile(r"(\d{1,9})-([0-9a-f]{8})")
_PIN = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


class Store:
    """The snapshots in the folder *path*, which need not exist yet. Cheap to make."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether there ever was a snapshot."""
        return os.path.lexists(self.path)

    @property
    def own(self) -> Path:
        """The folder of the lock and the caches."""
        return self.path / OWN

    @contextlib.contextmanager
    def open(self) -> Iterator[Objects]:
        """The objects and references, for reading.

        Raises:
            VersionsOff: the store cannot be used.
        """
        with Objects(self.path) as repo:
            yield repo

    @contextlib.contextmanager
    def write(self, *, timeout: float = LOCK_SECONDS) -> Iterator[Objects]:
        """The same under the lock, for writing; the store is made when it is missing.

        Raises:
            LockTimeout: another process is at it.
            LockOrderError: the thread holds a workspace lock, which comes later.
            VersionsOff: the store cannot be used.
        """
        if not lock.holds(self._lock_file) and locks.holds_any():
            raise LockOrderError("A store of snapshots is locked before its workspace, not after.")
        self._make()
        with Objects(self.path) as repo:
            try:
                self.own.mkdir(mode=0o700, exist_ok=True)
                held = lock.hold(self._lock_file, timeout=timeout)
            except OSError as error:
                raise VersionsOff(
                    f"The store of snapshots cannot be written: {reason_of(error)}."
                ) from error
            with held:
                yield repo

    def _make(self) -> None:
        """Make the store where nothing is, for nobody else to look into."""
        if self.exists:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Whoever makes a store removes what others left of theirs, so one makes it at a time.
            with lock.hold(self.path.with_name(".lock"), timeout=LOCK_SECONDS):
                Repository.create(self.path).close()
        except OSError as error:
            raise VersionsOff(f"{self.path} cannot be made: {reason_of(error)}.") from error

    def sweep(self) -> None:
        """Remove what processes that died left behind; called under the lock."""
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
        """Ids of all snapshots, oldest first."""
        found = _names_in(self.path / REFS)
        if (self.path / "packed-refs").exists():
            with self.open() as repo:
                found = [name.rpartition("/")[2] for name in repo.refs(REFS)]
        return sorted((name for name in set(found) if _ID.fullmatch(name)), key=number_of)

    def newest(self, repo: Objects) -> Snapshot | None:
        """The newest snapshot that can be read."""
        for name in reversed(self.ids()):
            with contextlib.suppress(StoreBroken, SnapshotUnknown):
                return self.get(repo, name)
        return None

    def resolve(self, asked: str) -> str:
        """The id that is meant by an id, its number, at least 4 hex digits, or ``latest``.

        Raises:
            SnapshotUnknown: none is meant, or several.
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
        """The snapshot with this id.

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
        """Keep the snapshot *name* from being pruned, also through a crash, until ``unpin(why)``.

        *why*: a short word of lower-case letters, digits and dashes, as ``restore-12``.

        Raises:
            SnapshotUnknown: there is no such snapshot.
        """
        with self.write() as repo:
            shot = self.get(repo, name)
            pin = _pin(why)
            repo.move_ref(shot.commit, expect=repo.ref(pin), name=pin)

    def unpin(self, why: str) -> None:
        """Let a pinned snapshot go again; nothing happens when it is not pinned."""
        if not self.exists:
            return
        with self.write() as repo:
            pinned = repo.ref(_pin(why))
            if pinned is not None:
                repo.delete_ref(_pin(why), expect=pinned)

    def pinned(self, repo: Objects) -> dict[str, str]:
        """Commits of pinned snapshots, by pin."""
        return repo.refs(PINS)


def _names_in(folder: Path) -> list[str]:
    """What is in a folder of the store; nothing, when there is no such folder yet."""
    try:
        return os.listdir(folder)  # noqa: PTH208  (there may be very many)
    except FileNotFoundError:
        return []


def number_of(name: str) -> int:
    """The number of the snapshot with this id."""
    return int(name.partition("-")[0])


def entry(repo: Objects, tree: str, name: str) -> TreeEntry | None:
    """What a tree has under a (stored) name."""
    return next((row for row in repo.tree(tree) if row.name == name), None)


def encoded(facts: dict[str, Any], subject: str) -> str:
    """A commit's message."""
    return f"{subject}\n\n{json.dumps(facts)}\n"


def decoded(name: str, commit: str, repo: Objects) -> Snapshot:
    """The snapshot that a commit stands for.

    Raises:
        StoreBroken: it is none.
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
    """The reference of a pin."""
    if not _PIN.fullmatch(why):
        raise ValueError(why)
    return f"{PINS}/{why}"
