"""Reading versions: the log, one version's changes, a file as it was, who wrote a line.

Everything is read from the store of one open ``History``; nothing is written.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from jenny.workspace import diffs, names, paths
from jenny.workspace.errors import VersionAmbiguous, VersionUnknown
from jenny.workspace.git import trees
from jenny.workspace.git.store import Repository
from jenny.workspace.versions import messages, record, scan, tracked
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
        """Lines that came and went."""
        return diffs.counts(self.old, self.new)

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return diffs.unified(self.path, self.old, self.new)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file and the version that brought it; ``None``: it is in no version yet."""

    number: int
    text: str
    version: Version | None


@contextmanager
def open_history(root: Path) -> Iterator["History"]:
    """The versions of the workspace at *root*, for reading.

    Raises:
        VersionsOff: the store cannot be used.
    """
    real = paths.real_root(root)
    with record.reading(real) as repo:
        yield History(real, repo)


class History:
    """The versions of one workspace, while its store is open."""

    def __init__(self, root: Path, repo: Repository | None) -> None:
        """*repo* is ``None`` when there are no versions yet."""
        self.root = root
        self._repo = repo
        self.tip = repo.ref() if repo is not None else None

    def walk(self, start: str | None = None) -> Iterator[Version]:
        """Versions from *start* (an id; the newest) backwards."""
        sha = start or self.tip
        while sha is not None and self._repo is not None:
            version = messages.read(self._repo.commit(sha))
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
        """The newest versions, at most *limit*: of these *kinds*, older than the id *before*,
        that changed the file *path*."""
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
        """The version whose id begins with *text*: 4 to 40 digits of hex in any case.

        Raises:
            VersionUnknown: there is none, or *text* is no such beginning.
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
        for version in self.walk() if found else ():
            if version.sha in found:
                versions.append(version)
                found.remove(version.sha)
                if not found:
                    break
        if not versions:
            raise VersionUnknown(f"There is no version {shown}.")
        if len(versions) > 1:
            message = f"{len(versions)} versions' ids begin with {shown}. Give more of its digits."
            raise VersionAmbiguous(message, tuple(row.sha for row in versions[:CANDIDATES]))
        return versions[0]

    def version(self, sha: str) -> Version:
        """The version with this full id.

        Raises:
            StoreBroken: it is missing.
        """
        return messages.read(self._store.commit(sha))

    def changes(self, version: Version) -> list[FileChange]:
        """What a version changed, by path."""
        return self.between(version.parent, version.sha)

    def between(self, old: str | None, new: str | None) -> list[FileChange]:
        """What differs between two versions (full ids), by path; ``None``: nothing at all."""
        if self._repo is None:
            return []
        rows = trees.differences(self._repo, self._tree(old), self._tree(new))
        return [FileChange(row.path, self._blob(row.old), self._blob(row.new)) for row in rows]

    def until_now(self, old: str | None) -> list[FileChange]:
        """What differs between a version and what is on disk now, by path."""
        before = record.files_of(self._repo, self._tree(old)) if self._repo is not None else {}
        disk = scan.scan(self.root)
        rows = []
        for path in sorted(before.keys() | disk.files.keys()):
            was, now = before.get(path), disk.files.get(path)
            if was != now and tracked.is_tracked(path) and not disk.is_unknown(path):
                data = scan.content(self.root, path) if now else None
                rows.append(FileChange(path, self._blob(was), data))
        return rows

    def file_as_of(self, path: str, at: str | datetime) -> bytes | None:
        """The file as it was in a version (full id), or at an aware time; ``None``: no file."""
        sha = at if isinstance(at, str) else self.newest_at(at)
        return self._file(sha, path) if sha else None

    def newest_at(self, moment: datetime) -> str | None:
        """The id of the version that was the newest at an aware time; ``None``: none yet."""
        limit = moment.timestamp()
        return next((row.sha for row in self.walk() if row.when <= limit), None)

    def blame(self, path: str, at: str | None = None) -> list[Line]:
        """Each line of the file in a version (full id), or as it is on disk, and the version
        that brought it. A file that is no text has no lines.

        Raises:
            OSError: the file cannot be read.
        """
        data = scan.content(self.root, path) if at is None else self._file(at, path)
        lines = diffs.lines_of(data) or []
        owners: list[Version | None] = [None] * len(lines)
        # Places in the lines whose owner is not known yet, by their place in the older text.
        open_places = {place: place for place in range(len(lines))}
        owner: Version | None = None
        for version, content in self._states(path, at):
            older = diffs.lines_of(content) or []
            open_places, brought = _kept(open_places, lines, older)
            for place in brought:
                owners[place] = owner
            if not open_places:
                break
            lines, owner = older, version
        for place in open_places.values():
            owners[place] = owner
        texts = diffs.lines_of(data) or []
        return [
            Line(number + 1, text.rstrip("\n"), owners[number]) for number, text in enumerate(texts)
        ]

    def _states(self, path: str, at: str | None) -> Iterator[tuple[Version, bytes | None]]:
        """The file's different contents, newest first, each with the version that brought it."""
        last: tuple[Version, str | None] | None = None
        for version in self.walk(at):
            sha = trees.file_at(self._store, self._tree(version.sha), path)
            if last is not None and sha != last[1]:
                yield last[0], self._blob(last[1])
            last = (version, sha)
        if last is not None:
            yield last[0], self._blob(last[1])

    def touched_since(self, version: Version, wanted: Collection[str]) -> dict[str, list[Version]]:
        """For each of these paths the versions newer than *version* that changed it, newest
        first."""
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
        """The open store; only asked for where versions exist."""
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


def _kept(
    open_places: dict[int, int], newer: list[str], older: list[str]
) -> tuple[dict[int, int], list[int]]:
    """Of the places still open those that *older* has too, by their place there, and the rest."""
    kept: dict[int, int] = {}
    if newer == older:
        return open_places, []
    for tag, i, j, k, _ in diffs.opcodes(older, newer):
        if tag == "equal":
            for offset in range(j - i):
                if k + offset in open_places:
                    kept[i + offset] = open_places[k + offset]
    found = set(kept.values())
    return kept, [place for place in open_places.values() if place not in found]
