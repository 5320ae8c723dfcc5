"""Plan how to restore a workspace, a folder or a file to an earlier state; nothing is written.

The earlier state (a snapshot, or an unpacked folder) and the current one are compared file by file.
A bulk replace
(``jenny.workspace.bulk_replace``) carries the plan out: if the process dies, it is finished or
rolled back when the workspace is next opened.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jenny.text_normalisation import canonical
from jenny.workspace import locks, names, paths
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.comparison import Sketch
from jenny.workspace.snapshots.objects import CHUNK, Objects
from jenny.workspace.snapshots.reader import MOST_FAULTS
from jenny.workspace.snapshots.scan import STAT_CACHE, Folder, Found, Scan, StatCache, scan
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.trees import FileReader
from jenny.workspace.snapshots.values import FileRow, Skipped, Snapshot, counted, sized


@dataclass(frozen=True)
class CurrentState:
    """The covered files with their ids, the covered folders, and the files that no snapshot covers.

    ``repositories``: folders that are git repositories of the user's own; everything in one belongs
    to it.
    """

    files: dict[str, tuple[Found, str]]
    folders: dict[str, Folder]
    uncovered: dict[str, Skipped]
    repositories: tuple[str, ...]


def read_current_state(store: Store, repo: Objects, root: Path) -> CurrentState:
    """Scan the workspace at *root*; nothing is written.

    Raises:
        FileMissing, SnapshotFailed: it cannot be read.
    """
    real = paths.real_root(root)
    seen = scan(real)
    known = StatCache(store.own / STAT_CACHE).content_of
    reader = FileReader(real, Sketch(repo), known, trusting=True)
    for found in seen.top.every_file():
        reader.take(found)
    skipped = {row.path: row for row in (*seen.skipped, *reader.skipped.values())}
    gits = (path.rpartition("/") for path in skipped)
    # The workspace's own folder may be in a repository of the user's; that one does not count.
    repositories = {above for above, _, name in gits if above and names.is_git(name)}
    return CurrentState(
        files=reader.read,
        folders={folder.path: folder for folder in seen.top.every_folder() if folder.path},
        uncovered={path: row for path, row in skipped.items() if path not in reader.read},
        repositories=tuple(sorted(repositories)),
    )


class Source(Protocol):
    """Files and folders in their target state."""

    def rows(self) -> Iterator[FileRow]:
        """List all of them, a folder before its contents; ``sha`` is the content's git id."""

    def below(self, folder: str) -> Iterator[FileRow]:
        """List all files and folders below a folder of the source, whichever part was requested."""

    def content(self, row: FileRow) -> Iterator[bytes]:
        """Yield a file's content in pieces; an error at the end means that they are wrong."""

    def verify(self) -> None:
        """Read every byte. :raises StoreBroken: something is missing or damaged; says what."""


class SnapshotSource:
    """All of a snapshot, or its content at *path*: a folder with everything in it, or a file."""

    def __init__(self, repo: Objects, shot: Snapshot, path: str = "") -> None:
        self._repo = repo
        self.shot = shot
        self.path = path.strip("/")

    def rows(self) -> Iterator[FileRow]:
        """List the requested part; see ``Source``.

        Raises:
            SnapshotUnknown: the snapshot has nothing at that path.
            StoreBroken: it is damaged.
        """
        if not self.path:
            yield from reader.list_files(self._repo, self.shot)
            return
        try:
            inner = list(reader.list_files(self._repo, self.shot, self.path))
        except SnapshotUnknown:
            yield reader.find_file(self._repo, self.shot, self.path)
            return
        yield self._itself()
        yield from inner

    def below(self, folder: str) -> Iterator[FileRow]:
        """List a folder of the snapshot. :raises SnapshotUnknown: there is no such folder."""
        return reader.list_files(self._repo, self.shot, folder)

    def content(self, row: FileRow) -> Iterator[bytes]:
        return reader.read_content(self._repo, row)

    def verify(self) -> None:
        files = (row for row in self.rows() if not row.is_folder)
        lost = [names.shown(row.path) for row in files if not self._repo.is_whole(row.sha)]
        if lost:
            raise StoreBroken(
                f"Snapshot {self.shot.id} is damaged: {counted(len(lost), 'file')} cannot be "
                f"read, such as {', '.join(lost[:MOST_FAULTS])}. Nothing was restored. "
                "`manage.py check_workspace --repair` saves anew what the workspace still has."
            )

    def _itself(self) -> FileRow:
        above = self.path.rpartition("/")[0]
        rows = reader.read_folder(self._repo, self.shot, above)
        return next(row for row in rows if canonical(row.path) == canonical(self.path))


class FolderSource:
    """The files of an unpacked folder, without links and special files."""

    def __init__(self, folder: Path) -> None:
        """*folder*: a real folder, unchanged until the restore is over."""
        self._folder = folder
        self._looked: Scan | None = None

    def rows(self) -> Iterator[FileRow]:
        if self._looked is None:
            self._looked = scan(self._folder)
        for folder in self._looked.top.every_folder():
            if folder.path:
                yield FileRow(folder.path, True, 0, folder.mode, None, "")  # noqa: FBT003 - a value of the row
            for found in folder.files.values():
                sha = self._id_of(found)
                yield FileRow(found.path, False, found.size, found.mode, found.modified, sha)  # noqa: FBT003 - a value of the row

    def below(self, folder: str) -> Iterator[FileRow]:
        return (row for row in self.rows() if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        fd = os.open(self._folder / row.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise StoreBroken(f"{names.shown(row.path)} is no plain file any more.")
            while piece := file.read(CHUNK):
                yield piece

    def verify(self) -> None:
        """Do nothing: the files were verified when they were unpacked."""

    def _id_of(self, found: Found) -> str:
        digest = hashlib.sha1(b"blob %d\0" % found.size, usedforsecurity=False)
        with (self._folder / found.path).open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
        return digest.hexdigest()


_LOCKS = frozenset(locks.LOCK_FILES.values())
_OWN_GIT = "memory/.git"


@dataclass(frozen=True)
class Plan:
    """A planned restore.

    ``changed``, ``added``: files that get another content or come back, in their target state;
    ``removed``: current files that did not exist then; ``left``: files that stay though they
    differ, with the reason; ``ledgers``: files that are merged from both sides. ``made``, ``gone``,
    ``modes``: folders. ``same``: the number of unchanged files. *there*: the current stat signature
    of each path.
    """

    changed: tuple[FileRow, ...] = ()
    added: tuple[FileRow, ...] = ()
    removed: tuple[Found, ...] = ()
    left: tuple[Skipped, ...] = ()
    ledgers: tuple[str, ...] = ()
    made: tuple[FileRow, ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    modes: tuple[tuple[FileRow, int], ...] = ()
    same: int = 0
    there: dict[str, Found] = field(default_factory=dict, repr=False)

    @property
    def is_nothing(self) -> bool:
        """True when everything that is covered is unchanged, apart from ledgers."""
        rows = (self.changed, self.added, self.removed, self.made, self.gone, self.modes)
        return not any(rows)

    @property
    def size(self) -> int:
        """The number of bytes to write."""
        return sum(row.size for row in (*self.changed, *self.added))

    @property
    def token(self) -> str:
        """A value that changes when the plan would touch other files."""
        digest = hashlib.sha256()
        for mark, rows in (("~", self.changed), ("+", self.added), ("-", self.removed)):
            for row in rows:
                digest.update(f"{mark}{row.path}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    @property
    def message(self) -> str:
        return self._told(("changed", "brought back", "removed"))

    @property
    def forecast(self) -> str:
        text = self._told(("gets its old content back", "comes back", "is deleted"), is_verb=True)
        if self.same and not self.is_nothing:
            stays = "1 file stays as it is" if self.same == 1 else f"{self.same:,} files stay"
            text += f" {stays}."
        return text

    def _told(self, verbs: tuple[str, str, str], *, is_verb: bool = False) -> str:
        rows = zip((self.changed, self.added, self.removed), verbs, strict=True)
        parts = [
            f"{counted(len(found), 'file')} {_many(verb, len(found)) if is_verb else verb}"
            for found, verb in rows
            if found
        ]
        if not parts:
            return "Every file is as it was then."
        text = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        size = self.size
        return f"{text} ({sized(size)} written)." if size and not is_verb else f"{text}."


_MANY = {
    "gets its old content back": "get their old content back",
    "comes back": "come back",
    "is deleted": "are deleted",
}


def _many(verb: str, count: int) -> str:
    return verb if count == 1 else _MANY[verb]


def plan_restore(
    present: CurrentState,
    rows: Iterable[FileRow],
    *,
    path: str = "",
    is_ledger: Callable[[str], bool] | None = None,
) -> Plan:
    """Plan how *path* (empty: everything) becomes what *rows* say.

    *is_ledger*: true for files that are merged instead (``memory.merge``).
    """
    wanted = {row.path: row for row in rows}
    return _Planning(present, wanted, path.strip("/"), is_ledger or _no_ledger).plan()


def _no_ledger(path: str) -> bool:
    del path
    return False


class _Planning:
    def __init__(
        self,
        present: CurrentState,
        wanted: dict[str, FileRow],
        path: str,
        is_ledger: Callable[[str], bool],
    ) -> None:
        self._now = present
        self._files = {at: row for at, row in wanted.items() if not row.is_folder}
        self._folders = {at: row for at, row in wanted.items() if row.is_folder}
        # A path in NFC means files in NFD as well, and the other way round.
        self._path = canonical(path)
        self._is_ledger = is_ledger
        self._left: dict[str, Skipped] = {}
        ledgers = (at for at in present.files if is_ledger(at))
        self._above_wanted = _above(self._files) | _above(ledgers)
        uncovered = (*present.uncovered, *present.repositories, _OWN_GIT, *_LOCKS)
        self._above_uncovered = _above(uncovered)

    def plan(self) -> Plan:
        changed, added, same = [], [], 0
        ledgers = {at for at in self._files if self._is_ledger(at)}
        for at, row in sorted(self._files.items()):
            if at in ledgers or self._stays(at):
                continue
            now = self._now.files.get(at)
            if now is None:
                added.append(row)
            elif now[1] != row.sha or now[0].mode != row.mode:
                changed.append(row)
            else:
                same += 1
        removed = [
            found
            for at, (found, _) in sorted(self._now.files.items())
            if self._is_meant(at)
            and at not in self._files
            and not self._is_ledger(at)
            and not self._stays(at)
        ]
        return Plan(
            changed=tuple(changed),
            added=tuple(added),
            removed=tuple(removed),
            ledgers=tuple(sorted(ledgers)),
            made=tuple(self._made()),
            gone=tuple(self._gone()),
            modes=tuple(self._modes()),
            left=tuple(self._left[at] for at in sorted(self._left)),
            same=same,
            there={at: found for at, (found, _) in self._now.files.items()},
        )

    def _is_meant(self, at: str) -> bool:
        return not self._path or f"{canonical(at)}/".startswith(f"{self._path}/")

    def _stays(self, at: str) -> bool:
        """True when a file is left as it is; the reason is recorded."""
        if at in _LOCKS or any(names.is_own(part) or names.is_git(part) for part in at.split("/")):
            return True
        for repository in self._now.repositories:
            if at == repository or at.startswith(f"{repository}/"):
                why = "is a git repository of its own; all of it stays as it is."
                self._leave(repository, f"{names.shown(repository)} {why}")
                return True
        for above in (*_folders_above(at), at):
            if above in self._now.uncovered:
                self._leave(at, _in_the_way(at, above))
                return True
            if above != at and above in self._now.files and not self._is_meant(above):
                self._leave(
                    at, f"{names.shown(at)} cannot come back: {names.shown(above)} is a file now."
                )
                return True
        if at in self._files and at in self._now.folders and at in self._above_uncovered:
            why = "was a file then and is a folder now, with things in it that no snapshot covers"
            self._leave(at, f"{names.shown(at)} {why}; it stays as it is.")
            return True
        return False

    def _leave(self, at: str, message: str) -> None:
        self._left.setdefault(at, Skipped(at, message))

    def _made(self) -> Iterator[FileRow]:
        """Yield the folders to create, parents first."""
        for at, row in sorted(self._folders.items()):
            if at not in self._now.folders and not self._stays(at):
                yield row

    def _gone(self) -> Iterator[tuple[str, int]]:
        """Yield the folders to remove if they become empty, children first."""
        for at, folder in sorted(self._now.folders.items(), reverse=True):
            is_kept = at in self._folders or at in self._above_wanted or at in self._above_uncovered
            if self._is_meant(at) and not is_kept and not self._stays(at):
                yield at, folder.mode

    def _modes(self) -> Iterator[tuple[FileRow, int]]:
        for at, row in sorted(self._folders.items()):
            now = self._now.folders.get(at)
            if now is not None and now.mode != row.mode and not self._stays(at):
                yield row, now.mode


def _in_the_way(at: str, above: str) -> str:
    if at == above:
        return f"{names.shown(at)} is no plain file or folder now; it stays as it is."
    what = "no plain folder now, and stays as it is"
    return f"{names.shown(at)} cannot come back: {names.shown(above)} is {what}."


def _folders_above(path: str) -> list[str]:
    """Return the parent folders of a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _above(every: Iterable[str]) -> set[str]:
    return {folder for path in every for folder in _folders_above(path)}
