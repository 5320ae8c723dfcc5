"""Read versions: the log, one version's changes, a file at a version, the author of a line.

Everything is read from the store of one open ``History``; nothing is written.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from jenny.workspace import diffs, names, paths
from jenny.workspace.errors import VersionAmbiguous, VersionUnknown
from jenny.workspace.file_cache import Kept
from jenny.workspace.git import trees
from jenny.workspace.git.store import Repository
from jenny.workspace.versions import commits, messages, tracked_files
from jenny.workspace.versions.messages import Version, VersionKind

LEAST_DIGITS = 4
CANDIDATES = 10


@dataclass(frozen=True)
class FileChange:
    """One file's change; contents before and after, ``None``: no file."""

    path: str
    old: bytes | None
    new: bytes | None

    @property
    def counts(self) -> diffs.Counts:
        return diffs.counts(self.old, self.new)

    @property
    def diff(self) -> str:
        return diffs.unified(self.path, self.old, self.new)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file and the version that added it; ``None``: it is in no version yet."""

    number: int
    text: str
    version: Version | None


@contextmanager
def open_history(root: Path) -> Iterator["History"]:
    """Open the versions of the workspace at *root* for reading.

    Raises:
        VersionsOff: the store cannot be used.
    """
    real = paths.real_root(root)
    with commits.reading(real) as repo:
        yield History(real, repo)


class History:
    """The versions of one workspace, while its store is open."""

    def __init__(self, root: Path, repo: Repository | None) -> None:
        """*repo* is ``None`` when there are no versions yet."""
        self.root = root
        self._repo = repo
        self.tip = repo.ref() if repo is not None else None

    def walk(self, start: str | None = None) -> Iterator[Version]:
        """Yield versions from *start* (an id; default: the newest) backwards."""
        sha = start or self.tip
        while sha is not None and self._repo is not None:
            version = messages.parse_message(self._repo.commit(sha))
            yield version
            sha = version.parent

    def log(
        self,
        *,
        kinds: Collection[VersionKind] | None = None,
        limit: int = 20,
        before: str | None = None,
        path: str | None = None,
    ) -> list[Version]:
        """Return the newest versions, at most *limit*.

        Filters: their *kinds*, older than the id *before*, and a change of the file *path*.
        """
        found = self.walk(before)
        if before is not None:
            next(found, None)
        chosen = (
            version
            for version in found
            if (kinds is None or version.kind in kinds)
            and (path is None or self._touches(version, path))
        )
        return list(islice(chosen, limit))

    def resolve(self, text: str) -> Version:
        """Return the version whose id begins with *text*: 4 to 40 digits of hex in any case.

        Raises:
            VersionUnknown: there is none, or *text* is not a valid prefix.
            VersionAmbiguous: there are several.
        """
        wanted = text.strip().lower()
        shown = names.shown(text.strip())
        if not re.fullmatch(r"[0-9a-f]{4,40}", wanted):
            message = (
                f"{shown} is no version's id: an id is {LEAST_DIGITS} to 40 digits of 0–9 and a–f."
            )
            raise VersionUnknown(message)
        found = set(self._repo.commits_starting(wanted)) if self._repo is not None else set()
        versions: list[Version] = []
        sha = self.tip if found else None
        while sha is not None and found:
            if sha in found:
                found.remove(sha)
                versions.append(self.version(sha))
            sha = self._store.commit(sha).parent
        if not versions:
            raise VersionUnknown(f"There is no version {shown}.")
        if len(versions) > 1:
            message = f"{len(versions)} versions' ids begin with {shown}. Give more of its digits."
            raise VersionAmbiguous(message, tuple(row.sha for row in versions[:CANDIDATES]))
        return versions[0]

    def version(self, sha: str) -> Version:
        """Return the version with this full id.

        Raises:
            StoreBroken: it is missing.
        """
        return messages.parse_message(self._store.commit(sha))

    def changes(self, version: Version) -> list[FileChange]:
        return self.between(version.parent, version.sha)

    def between(self, old: str | None, new: str | None) -> list[FileChange]:
        """Compare two versions (full ids), by path; ``None``: an empty tree."""
        if self._repo is None:
            return []
        rows = trees.differences(self._repo, self._tree(old), self._tree(new))
        return [FileChange(row.path, self._blob(row.old), self._blob(row.new)) for row in rows]

    def until_now(self, old: str | None) -> list[FileChange]:
        """Compare a version with the files on disk, by path."""
        before = (
            tracked_files.list_tree(self._repo, self._tree(old)) if self._repo is not None else {}
        )
        disk = tracked_files.scan_tracked_files(self.root)
        rows = []
        for path in sorted(before.keys() | disk.files.keys()):
            was, now = before.get(path), disk.files.get(path)
            if was != now and tracked_files.is_tracked(path) and not disk.is_unknown(path):
                data = tracked_files.read_tracked_file(self.root, path) if now else None
                rows.append(FileChange(path, self._blob(was), data))
        return rows

    def file_as_of(self, path: str, at: str | datetime) -> bytes | None:
        """Return the file in a version (full id), or at an aware time; ``None``: no file."""
        sha = at if isinstance(at, str) else self.newest_at(at)
        return self._file(sha, path) if sha else None

    def newest_at(self, moment: datetime) -> str | None:
        """Return the id of the newest version at an aware time; ``None``: none yet."""
        limit = moment.timestamp()
        return next((row.sha for row in self.walk() if row.when <= limit), None)

    def blame(self, path: str, at: str | None = None) -> list[Line]:
        """Return the file's lines, in a version or on disk, each with the version that added it.

        A file that is not text has no lines.

        Raises:
            OSError: the file cannot be read.
        """
        newest = at or self.tip
        owners: tuple[Version | None, ...] = self._owners(path, newest) if newest else ()
        data = self._file(newest, path) if newest else None
        if at is None:
            old, data = diffs.lines_of(data) or [], tracked_files.read_tracked_file(self.root, path)
            owners = _carried(old, diffs.lines_of(data) or [], owners, None)
        texts = diffs.lines_of(data) or []
        return [
            Line(number, text.rstrip("\n"), owner)
            for number, (text, owner) in enumerate(zip(texts, owners, strict=True), start=1)
        ]

    def _owners(self, path: str, newest: str) -> tuple[Version, ...]:
        """Return the version that added each line of the file as of the version *newest*.

        The result of the last call for this file is reused if its version is an ancestor of
        *newest*.
        """
        key = f"{self._store.git_dir}\0{path}"
        known = _known_owners.get(key)
        states: list[tuple[Version, str | None]] = []
        start: tuple[str, tuple[Version, ...]] | None = None
        for version in self.walk(newest):
            if known is not None and version.sha == known[0]:
                start = known
                break
            states.append((version, self._id(version.sha, path)))
        blob = self._id(start[0], path) if start else None
        lines, owners = diffs.lines_of(self._blob(blob)) or [], start[1] if start else ()
        for version, sha in reversed(states):
            if sha != blob:
                after = diffs.lines_of(self._blob(sha)) or []
                owners = _carried(lines, after, owners, version)
                lines, blob = after, sha
        _known_owners.put(key, (newest, owners))
        return owners

    def touched_since(self, version: Version, wanted: Collection[str]) -> dict[str, list[Version]]:
        """Return for each path the versions newer than *version* that changed it, newest first."""
        found: dict[str, list[Version]] = {path: [] for path in wanted}
        for newer in self.walk():
            if newer.sha == version.sha:
                break
            for row in trees.differences(
                self._store, self._tree(newer.parent), self._tree(newer.sha)
            ):
                if row.path in found:
                    found[row.path].append(newer)
        return found

    @property
    def _store(self) -> Repository:
        if self._repo is None:
            raise VersionUnknown("There are no versions yet.")
        return self._repo

    def _touches(self, version: Version, path: str) -> bool:
        return self._id(version.sha, path) != self._id(version.parent, path)

    def _id(self, sha: str | None, path: str) -> str | None:
        return trees.file_at(self._store, self._tree(sha), path)

    def _file(self, sha: str, path: str) -> bytes | None:
        return self._blob(self._id(sha, path))

    def _tree(self, sha: str | None) -> str | None:
        return self._store.commit(sha).tree if sha else None

    def _blob(self, sha: str | None) -> bytes | None:
        return self._store.blob(sha) if sha else None


# The owners of lines, by store and file: the newest version that was requested, and its owners.
_known_owners: Kept[tuple[str, tuple[Version, ...]]] = Kept(64)


def _carried[V](
    old: Sequence[str], new: Sequence[str], owners: Sequence[V], newcomer: V
) -> tuple[V, ...]:
    """Return the owners of *new* lines: kept for unchanged lines, *newcomer* for the others."""
    found = [newcomer] * len(new)
    for tag, i, j, k, m in diffs.opcodes(old, new):
        if tag == "equal":
            found[k:m] = owners[i:j]
    return tuple(found)
