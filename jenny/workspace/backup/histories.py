"""Validate a fetched history down to the last folder, and merge it into the existing one.

Nothing is removed from the existing history, and commits that both have are there once.
"""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jenny.workspace import locks, names, paths, transactions
from jenny.workspace.backup.bundles import Unbundled, refused
from jenny.workspace.errors import SnapshotUnknown, StoreBroken, StoreBusy, VersionsOff, reason_of
from jenny.workspace.git import trees
from jenny.workspace.git.packs import sync_folder
from jenny.workspace.git.store import MAIN, Repository
from jenny.workspace.locks import Level
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.scan import DEEPEST
from jenny.workspace.snapshots.store import REFS, Store, decoded, entry
from jenny.workspace.snapshots.trees import from_stored
from jenny.workspace.snapshots.values import TRIGGERS, Snapshot
from jenny.workspace.stat_signature import MOST_NANOSECONDS
from jenny.workspace.versions import commits
from jenny.workspace.versions.commits import WORKTREE

_MOST_LABEL = 200
_MOST_NUMBER = 1 << 63
# Readers of snapshots mask the mode further (``FILE_MODES``).
_MOST_MODE = 0o7777
_HERE, _IN = "here", "in"


def validate_snapshots(fetched: Unbundled) -> None:
    """Refuse commits that are not valid snapshots.

    Raises:
        BackupRefused: one is invalid or damaged.
    """
    with Objects(fetched.path) as repo:
        validator = _Validator(repo)
        for name, commit in fetched.refs.items():
            if not name.startswith(f"{REFS}/"):
                raise refused("has a version among its snapshots")
            with _damage():
                shot = decoded(name.removeprefix(f"{REFS}/"), commit, repo)
                if shot.id != f"{shot.number}-{commit[:8]}" or not _is_sound(shot):
                    raise refused("has a snapshot that does not say what it is")
                validator.tree(shot.tree, 0)
                about = entry(repo, repo.commit(commit).tree, "about")
                if about is not None:
                    validator.about(about.sha, 0)
                _judge_skipped(repo, commit)


def validate_versions(fetched: Unbundled) -> None:
    """Refuse commits that are not valid versions.

    Raises:
        BackupRefused: one is invalid or damaged.
    """
    with Objects(fetched.path) as repo:
        validator = _Validator(repo)
        if fetched.refs.keys() - {MAIN}:
            raise refused("has a snapshot among its versions")
        seen: set[str] = set()
        waiting = list(fetched.refs.values())
        while waiting:
            sha = waiting.pop()
            if sha in seen:
                continue
            seen.add(sha)
            with _damage():
                commit = repo.commit(sha)
                validator.tree(commit.tree, 0)
                waiting.extend(commit.parents)


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (StoreBroken, SnapshotUnknown, RecursionError) as error:
        raise refused("is damaged or not whole") from error


class _Validator:
    """A walk through folders that skips those already checked."""

    def __init__(self, repo: Objects) -> None:
        self._repo = repo
        self._seen: set[tuple[str, int]] = set()
        self._files: set[str] = set()

    def tree(self, sha: str, depth: int) -> None:
        if (sha, 0) in self._seen:
            return
        self._seen.add((sha, 0))
        if depth > DEEPEST:
            raise refused("has a folder that lies too deep")
        found = set[str]()
        for row in self._repo.tree(sha):
            name = from_stored(row.name)
            is_odd = name in ("", ".", "..") or "/" in name or "\0" in name or name in found
            if is_odd or names.is_git(name) or names.is_own(name):
                raise refused(f"has a file called {names.shown(name)}")
            found.add(name)
            if row.is_folder:
                self.tree(row.sha, depth + 1)
            elif row.is_file:
                self.file(row.sha)
            else:
                raise refused("has links or other repositories among its files")

    def file(self, sha: str) -> None:
        """Check that the object exists and is a file's content."""
        if sha not in self._files:
            if self._repo.kind(sha) != "blob":
                raise refused("is damaged or not whole")
            self._files.add(sha)

    def about(self, sha: str, depth: int) -> None:
        """Check the metadata of a folder's files: their permissions, sizes and times."""
        if (sha, 1) in self._seen:
            return
        self._seen.add((sha, 1))
        if depth > DEEPEST:
            raise refused("has a folder that lies too deep")
        for row in self._repo.tree(sha):
            if row.name == _HERE and row.is_file:
                self._judge_rows(self._repo.blob(row.sha))
            elif row.name == _IN and row.is_folder:
                for inner in self._repo.tree(row.sha):
                    if not inner.is_folder:
                        raise refused("is damaged or not whole")
                    self.about(inner.sha, depth + 1)
            else:
                raise refused("is damaged or not whole")

    @staticmethod
    def _judge_rows(data: bytes) -> None:
        with suppress(ValueError, RecursionError):
            rows = json.loads(data)
            if isinstance(rows, dict) and all(_is_row(name, row) for name, row in rows.items()):
                return
        raise refused("says impossible things of its files")


def _is_row(name: str, row: Any) -> bool:
    """Check the metadata: ``[mode]`` of a folder, ``[mode, size, time]`` of a file."""
    if not isinstance(row, list) or len(row) != (1 if name.endswith("/") else 3):
        return False
    if not all(type(number) is int for number in row):
        return False
    mode, size, modified = map(int, row if len(row) > 1 else (*row, 0, 0))
    is_time = abs(modified) <= MOST_NANOSECONDS
    return 0 <= mode <= _MOST_MODE and 0 <= size < _MOST_NUMBER and is_time


def _judge_skipped(repo: Objects, commit: str) -> None:
    found = entry(repo, repo.commit(commit).tree, "skipped")
    if found is None:
        return
    with suppress(ValueError, TypeError, RecursionError):
        rows = [(path, why) for path, why in json.loads(repo.blob(found.sha))]
        if all(isinstance(part, str) for row in rows for part in row):
            return
    raise refused("is damaged or not whole")


def _is_sound(shot: Snapshot) -> bool:
    before = shot.before is None or re.fullmatch(r"\d{1,9}-[0-9a-f]{8}", str(shot.before))
    numbers = (shot.files, shot.size, shot.skipped, *_changes(shot))
    is_counted = all(0 <= number < _MOST_NUMBER for number in numbers)
    return (
        bool(before) and is_counted and shot.trigger in TRIGGERS and len(shot.label) <= _MOST_LABEL
    )


def _changes(shot: Snapshot) -> tuple[int, ...]:
    return (shot.changes.added, shot.changes.changed, shot.changes.removed)


_TRIES = 5
JOINED = "chore: versions of an imported backup joined"


def join_snapshots(store: Store, fetched: Unbundled) -> int:
    """Add the snapshots that the store does not have and return how many.

    Raises:
        VersionsOff, LockTimeout: the store cannot be used; safe to repeat.
    """
    with store.write() as repo:
        here = set(store.ids())
        new = {name: sha for name, sha in fetched.refs.items() if _id(name) not in here}
        if new:
            _take_packs(fetched.path, repo)
        done = sum(repo.move_ref(sha, expect=None, name=name) for name, sha in new.items())
        repo.tidy()
    return done


def new_snapshots(store: Store, fetched: Unbundled) -> int:
    here = set(store.ids()) if store.exists else set[str]()
    return sum(_id(name) not in here for name in fetched.refs)


def join_versions(root: Path, fetched: Unbundled) -> str:
    """Merge the fetched versions into the workspace's; return ``none``, ``taken`` or ``joined``.

    If both histories have versions that the other lacks, a merge commit with two parents holds
    both, and its files are those of the fetched history, since the workspace's files are from it
    too.

    Raises:
        VersionsOff, LockTimeout: the store cannot be used; safe to repeat.
    """
    theirs = fetched.refs.get(MAIN)
    if theirs is None:
        return "none"
    real = paths.real_root(root)
    with transactions.lock_workspace(real), locks.hold(real, Level.GIT):
        git_dir = commits.store_folder(real)
        for _ in range(_TRIES):
            with Repository.create(git_dir, worktree=WORKTREE) as repo:
                ours = repo.ref()
                if ours is not None and repo.has(theirs) and _is_behind(repo, theirs, ours):
                    return "none"
                _take_packs(fetched.path, repo)
                tip, done = theirs, "taken"
                if ours is not None and not _is_behind(repo, ours, theirs):
                    tip, done = _joined(repo, theirs, ours), "joined"
                if repo.move_ref(tip, expect=ours):
                    trees.write_index(git_dir, trees.files(repo, repo.commit(tip).tree))
                    return done
    raise StoreBusy("Another program keeps moving the store's newest version.")


def _id(name: str) -> str:
    return name.rpartition("/")[2]


def _is_behind(repo: Repository, old: str, new: str) -> bool:
    """True when *old* is *new* or one of its ancestors."""
    seen, waiting = set[str](), [new]
    while waiting:
        sha = waiting.pop()
        if sha == old:
            return True
        if sha not in seen:
            seen.add(sha)
            waiting.extend(repo.commit(sha).parents)
    return False


def _joined(repo: Repository, theirs: str, ours: str) -> str:
    commit = repo.commit(theirs)
    when = max(int(time.time()), commit.when, repo.commit(ours).when)
    with repo.batch() as batch:
        return batch.commit(commit.tree, (theirs, ours), f"{JOINED}\n", when=when)


def _take_packs(fetched: Path, repo: Repository) -> None:
    """Move the packs of a fetched repository to those of *repo*, durably."""
    target = repo.database.pack_folder
    try:
        for index in (fetched / "objects" / "pack").glob("pack-*.idx"):
            for path in (index.with_suffix(".pack"), index):
                _link_or_copy(path, target / path.name)
        sync_folder(target)
    except OSError as error:
        message = f"The history cannot be written: {reason_of(error)}."
        raise VersionsOff(message) from error
    repo.database.close()


def _link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file, or copy it atomically if the disk is another one."""
    if target.exists():
        return
    temp = target.with_name(f"tmp_{target.name}")
    temp.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        os.link(source, temp)
    if not temp.exists():
        shutil.copyfile(source, temp)
        fd = os.open(temp, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    temp.chmod(0o444)
    temp.rename(target)
