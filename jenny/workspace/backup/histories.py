"""Judging a history that was fetched: what its snapshots and versions say, to the last folder."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from jenny.workspace import names
from jenny.workspace.backup.unbundling import Unbundled, refused
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.git.store import MAIN
from jenny.workspace.snapshots.naming import from_stored
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.scan import DEEPEST
from jenny.workspace.snapshots.store import REFS, decoded, entry
from jenny.workspace.snapshots.values import TRIGGERS, Snapshot

_MOST_LABEL = 200
_MOST_NUMBER = 1 << 63
# A folder may hand its group on; a file may not run as its owner.
_MOST_FOLDER_MODE, _MOST_FILE_MODE = 0o3777, 0o1777
_HERE, _IN = "here", "in"


def judge_snapshots(fetched: Unbundled) -> None:
    """Refuse snapshots that are none, or damaged.

    Raises:
        BackupRefused: one is.
    """
    with Objects(fetched.path) as repo:
        judge = _Judge(repo)
        for name, commit in fetched.refs.items():
            if not name.startswith(f"{REFS}/"):
                raise refused("has a version among its snapshots")
            with _damage():
                shot = decoded(name.removeprefix(f"{REFS}/"), commit, repo)
                if shot.id != f"{shot.number}-{commit[:8]}" or not _is_sound(shot):
                    raise refused("has a snapshot that does not say what it is")
                judge.tree(shot.tree, 0)
                about = entry(repo, repo.commit(commit).tree, "about")
                if about is not None:
                    judge.about(about.sha, 0)
                _judge_skipped(repo, commit)


def judge_versions(fetched: Unbundled) -> None:
    """Refuse versions that are none, or damaged.

    Raises:
        BackupRefused: one is.
    """
    with Objects(fetched.path) as repo:
        judge = _Judge(repo)
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
                judge.tree(commit.tree, 0)
                waiting.extend(commit.parents)


@contextmanager
def _damage() -> Iterator[None]:
    """What a damaged store raises, as a refusal."""
    try:
        yield
    except (StoreBroken, SnapshotUnknown, RecursionError) as error:
        raise refused("is damaged or not whole") from error


class _Judge:
    """A walk through folders that passes by what it has seen."""

    def __init__(self, repo: Objects) -> None:
        self._repo = repo
        self._seen: set[tuple[str, int]] = set()
        self._files: set[str] = set()

    def tree(self, sha: str, depth: int) -> None:
        """A folder of files."""
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
        """A file's content, which must be there and be one."""
        if sha not in self._files:
            if self._repo.kind(sha) != "blob":
                raise refused("is damaged or not whole")
            self._files.add(sha)

    def about(self, sha: str, depth: int) -> None:
        """What is known of a folder's files: their permissions, sizes and times."""
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
    """``[mode]`` of a folder, ``[mode, size, time]`` of a file."""
    if not isinstance(row, list) or len(row) != (1 if name.endswith("/") else 3):
        return False
    if not all(type(number) is int and 0 <= number < _MOST_NUMBER for number in row):
        return False
    return bool(row[0] <= (_MOST_FOLDER_MODE if len(row) == 1 else _MOST_FILE_MODE))


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
    """The counts of what changed."""
    return (shot.changes.added, shot.changes.changed, shot.changes.removed)
