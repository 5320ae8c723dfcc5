"""Read the files of a snapshot, build its trees from them, and compare the trees of two snapshots.

Git gives names that look like its own a meaning when a tree is checked out, and its checks refuse
some of them. A workspace may contain any name, so names that look like git's, in any disguise that
git knows, are written with some characters as ``%XX``.

For each folder of ``files`` there is one of ``about``: its file ``here`` has a row for each file
and folder, its folder ``in`` has the metadata of subfolders. An unchanged folder has the same two
trees as before, and costs next to nothing.
"""

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import names, paths
from jenny.workspace.errors import StoreBroken, reason_of
from jenny.workspace.git.objects import FILE, FOLDER, TreeEntry, encode_tree
from jenny.workspace.names import disguised
from jenny.workspace.snapshots.objects import CHUNK, Objects, Sink
from jenny.workspace.snapshots.scan import FileStatus, Folder, Found, is_racy, stamp_of
from jenny.workspace.snapshots.values import Difference, Skipped

_TELLING = re.compile(r"[.~\\:]")
_CODED = re.compile(r"%([0-9A-F]{2})")


def to_stored(name: str) -> str:
    """Return the name as it is stored in a tree."""
    plain = name.replace("%", "%25")
    if name.isascii() and "git" not in name.lower() and "~" not in name:
        return plain  # most names
    if not any(_is_reserved_by_git(part) for part in re.split(r"[\\:]", name)):
        return plain
    return _TELLING.sub(lambda found: f"%{ord(found[0]):02X}", plain)


def from_stored(name: str) -> str:
    return _CODED.sub(lambda found: chr(int(found[1], 16)), name) if "%" in name else name


def _is_reserved_by_git(part: str) -> bool:
    """True when git might take it for one of its own names (``.git``, ``.gitmodules``, …)."""
    plain = disguised(part)
    return plain.startswith(".git") or (plain.startswith("gi") and "~" in plain)


type Trees = Callable[[str], tuple[TreeEntry, ...]]


def compare_trees(trees: Trees, old: str | None, new: str | None) -> list[Difference]:
    """Return the files that differ between two trees of files, by path; equal folders are not read.

    A file whose executable bit alone differs counts as changed.
    """
    return sorted(_compare(trees, old, new, ""), key=lambda row: row.path)


def _compare(trees: Trees, old: str | None, new: str | None, prefix: str) -> Iterator[Difference]:
    if old == new:
        return
    before = {row.name: row for row in trees(old)} if old else {}
    after = {row.name: row for row in trees(new)} if new else {}
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + from_stored(name)
        yield from _compare(trees, _folder(was), _folder(now), f"{path}/")
        was, now = _file(was), _file(now)
        if was is not None or now is not None:
            yield _difference(path, was, now)


def _difference(path: str, was: TreeEntry | None, now: TreeEntry | None) -> Difference:
    old = was.sha if was is not None else None
    new = now.sha if now is not None else None
    what = "added" if was is None else "removed" if now is None else "changed"
    return Difference(path, what, old, new)  # type: ignore[arg-type]  # one of its kinds, by what is there


def _folder(row: TreeEntry | None) -> str | None:
    return row.sha if row is not None and row.is_folder else None


def _file(row: TreeEntry | None) -> TreeEntry | None:
    return row if row is not None and row.is_file else None


# Up to this size a file is read at once, and compressed only when it is new.
_SMALL = 4 * CHUNK
_TRIES = 3
# Larger files are listed, not saved: git's own limit for SHA-1 ids.
LARGEST = 4 << 30
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Unreadable(Exception):
    """The file, not the store, could not be read."""


type Known = Callable[[str, FileStatus], str | None]
"""Returns the id of the content that a file had at this stat signature, if it is known."""


def nothing_known(path: str, stamp: FileStatus) -> None:
    """Return None: nothing is known of any file."""


class FileReader:
    """Reads files into the store, and keeps their ids by path.

    ``doubted``: files that the next snapshot must read again, even if their signatures are
    unchanged.
    """

    def __init__(self, root: Path, batch: Sink, known: Known, *, trusting: bool) -> None:
        """*trusting*: known contents are certainly in the store; else each is looked up there."""
        self._root = root
        self._batch = batch
        self._known = known
        self._trusting = trusting
        self.read: dict[str, tuple[Found, str]] = {}
        self.skipped: dict[str, Skipped] = {}
        self.doubted: set[str] = set()

    def take(self, found: Found) -> None:
        was = self.read.get(found.path)
        if was is not None and was[0].stamp == found.stamp:
            return
        self.skipped.pop(found.path, None)
        self.read.pop(found.path, None)
        self.doubted.discard(found.path)
        if sha := self._remembered(found):
            self.read[found.path] = (found, sha)
            return
        try:
            self._read(found)
        except FileNotFoundError:
            return  # removed meanwhile, which the next scan sees
        except _Unreadable as error:
            self._skip(found.path, f"is skipped, since it cannot be read: {error}.")

    def remembers(self, found: Found) -> bool:
        """True when this file, with its current signature, need not be read."""
        return self._remembered(found) is not None

    def _remembered(self, found: Found) -> str | None:
        sha = self._known(found.path, found.stamp)
        return sha if sha is not None and (self._trusting or self._batch.knows(sha)) else None

    def lacks(self, found: Found) -> bool:
        """True when this file, with its current signature, has not been read."""
        was = self.read.get(found.path)
        if was is None:
            return found.path not in self.skipped
        return was[0].stamp != found.stamp

    def _skip(self, path: str, why: str) -> None:
        self.doubted.add(path)
        self.skipped[path] = Skipped(path, f"{names.shown(path)} {why}")

    def _read(self, found: Found) -> None:
        """Read a file, and again if it changes meanwhile."""
        for attempt in range(_TRIES):
            started = time.time_ns()
            fd = self._open(found.path)
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise FileNotFoundError
                if status.st_size > LARGEST:
                    return self._skip(found.path, "is skipped: it is larger than 4 GB.")
                sha = self._store(fd, status.st_size)
                is_still = stamp_of(os.fstat(fd)) == stamp_of(status)
            finally:
                os.close(fd)
            if sha is None or not (is_still or attempt == _TRIES - 1):
                continue
            now = Found(found.path, stamp_of(status))
            self.read[found.path] = (now, sha)
            if not is_still:
                self._skip(
                    found.path, "kept changing while it was read; it is saved as it was then."
                )
            elif is_racy(now.stamp, started):
                self.doubted.add(found.path)
            return None
        return self._skip(found.path, "is skipped: it kept shrinking while it was read.")

    def _store(self, fd: int, size: int) -> str | None:
        """Store *size* bytes and return the id, or ``None`` when there were fewer."""
        if size > _SMALL:
            return self._batch.add_stream(size, _pieces(fd, size))
        data = b"".join(_pieces(fd, size))
        return self._batch.add("blob", data) if len(data) == size else None

    def _open(self, path: str) -> int:
        """Open the file without following any link."""
        *folders, name = path.split("/")
        try:
            with paths.open_folder(self._root, tuple(folders)) as folder:
                return os.open(name, _FLAGS, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError from error
        except OSError as error:
            raise _Unreadable(reason_of(error)) from error


def _pieces(fd: int, size: int) -> Iterator[bytes]:
    """Yield the first *size* bytes of a file; fewer when there are not so many."""
    left = size
    while left:
        try:
            piece = os.read(fd, min(CHUNK, left))
        except OSError as error:
            raise _Unreadable(reason_of(error)) from error
        if not piece:
            return
        left -= len(piece)
        yield piece


EXECUTABLE = 0o100755
_ANY_EXECUTE = 0o100
_NEW = (None, None)


@dataclass(frozen=True)
class Built:
    """The ids of a folder's two trees, and the number of files and bytes in it and below."""

    files: str
    about: str
    count: int
    size: int


type _Rows = dict[str, tuple[FileStatus, str]]


@dataclass(frozen=True, slots=True)
class Made:
    """A stored folder: its files with signature and id, its folders, its two trees.

    ``doubted``: files that must be read again, since they could change with the same signature, or
    could not be read. Without any in it and below, the folder ``is_settled``: nothing need be read
    while the folder is the same object.
    """

    folder: Folder
    files: _Rows
    folders: dict[str, "Made"]
    built: Built
    doubted: frozenset[str]
    is_settled: bool

    def is_of(self, files: str | None, about: str | None) -> bool:
        return (self.built.files, self.built.about) == (files, about)

    def content_of(self, path: str, stamp: FileStatus) -> str | None:
        """Return the content id that the file had at this signature; ``None``: unknown."""
        name, _, below = path.partition("/")
        if below:
            inner = self.folders.get(name)
            return inner.content_of(below, stamp) if inner is not None else None
        row = self.files.get(name)
        return row[1] if row is not None and row[0] == stamp and name not in self.doubted else None

    def contents(self) -> Iterator[tuple[str, FileStatus, str]]:
        """Yield path, signature and id of every file that need not be read again."""
        above = f"{self.folder.path}/" if self.folder.path else ""
        for name, (stamp, sha) in self.files.items():
            if name not in self.doubted:
                yield above + name, stamp, sha
        for inner in self.folders.values():
            yield from inner.contents()


def to_read(folder: Folder, made: Made | None) -> Iterator[Found]:
    """Yield the files in *folder* and below that *made* does not cover."""
    if made is not None and made.folder is folder and made.is_settled:
        return
    yield from folder.files.values()
    for name, inner in folder.folders.items():
        yield from to_read(inner, made.folders.get(name) if made is not None else None)


class Builder:
    """Builds the trees of a workspace from the contents read."""

    def __init__(self, repo: Objects, batch: Sink, reader: FileReader) -> None:
        self._repo = repo
        self._batch = batch
        self._reader = reader

    def build(
        self,
        folder: Folder,
        files: str | None,
        about: str | None,
        *,
        earlier: Made | None = None,
    ) -> Made:
        """Build the trees of *folder*, given its previous ones.

        *earlier* is reused if it has the same trees and nothing changed.
        """
        if earlier is not None and not earlier.is_of(files, about):
            earlier = None
        if earlier is not None and earlier.folder is folder and earlier.is_settled:
            return earlier
        before = self._before(files, about) if earlier is None else _trees(earlier)
        inner = earlier.folders if earlier is not None else {}
        folders = {
            name: self.build(below, *before.get(name, _NEW), earlier=inner.get(name))
            for name, below in folder.folders.items()
        }
        rows, doubted = self._found(folder)
        if earlier is not None and _is_same(earlier, rows, folders):
            built = earlier.built
        else:
            built = self._built(rows, folders, files, about)
        is_settled = not doubted and all(made.is_settled for made in folders.values())
        return Made(folder, rows, folders, built, doubted, is_settled)

    def _before(self, files: str | None, about: str | None) -> dict[str, tuple[str, str | None]]:
        """Return the two trees of each subfolder in the previous snapshot."""
        rows = self._entries(files)
        inner = self._entries(about).get("in")
        abouts = self._entries(inner.sha if inner else None)
        return {
            from_stored(name): (row.sha, abouts[name].sha if name in abouts else None)
            for name, row in rows.items()
            if row.is_folder
        }

    def _built(
        self, rows: _Rows, folders: dict[str, Made], files: str | None, about: str | None
    ) -> Built:
        entries: list[TreeEntry] = []
        abouts: list[TreeEntry] = []
        here: dict[str, list[int]] = {}
        count = size = 0
        for name, (stamp, sha) in rows.items():
            found = Found(name, stamp)
            mode = EXECUTABLE if found.mode & _ANY_EXECUTE else FILE
            entries.append(TreeEntry(to_stored(name), sha, mode))
            here[name] = [found.mode, found.size, found.modified]
            count, size = count + 1, size + found.size
        for name, made in folders.items():
            stored, inner = to_stored(name), made.built
            entries.append(TreeEntry(stored, inner.files, FOLDER))
            abouts.append(TreeEntry(stored, inner.about, FOLDER))
            here[f"{name}/"] = [made.folder.mode]
            count, size = count + inner.count, size + inner.size
        return Built(
            self._batch.add("tree", encode_tree(entries), known=files),
            self._about(here, abouts, about),
            count,
            size,
        )

    def _found(self, folder: Folder) -> tuple[_Rows, frozenset[str]]:
        """Return the rows of a folder's read files, and the names of doubted ones."""
        rows: _Rows = {}
        doubted = set()
        for name, found in folder.files.items():
            if read := self._reader.read.get(found.path):
                rows[name] = read[0].stamp, read[1]
            if read is None or found.path in self._reader.doubted:
                doubted.add(name)
        return rows, frozenset(doubted)

    def _about(
        self, here: Mapping[str, list[int]], folders: Sequence[TreeEntry], before: str | None
    ) -> str:
        old = self._entries(before)
        known = old["here"].sha if "here" in old else None
        rows = [TreeEntry("here", self._batch.add("blob", json.dumps(here).encode(), known=known))]
        if folders:
            inner = old["in"].sha if "in" in old else None
            rows.append(
                TreeEntry("in", self._batch.add("tree", encode_tree(folders), known=inner), FOLDER)
            )
        return self._batch.add("tree", encode_tree(rows), known=before)

    def _entries(self, tree: str | None) -> dict[str, TreeEntry]:
        """Return the entries of a tree of the previous snapshot, by name."""
        with contextlib.suppress(StoreBroken):  # then everything is rewritten
            return {row.name: row for row in self._repo.tree(tree)} if tree else {}
        return {}


def _trees(made: Made) -> dict[str, tuple[str, str | None]]:
    """Return the two trees of each subfolder, as they were built."""
    return {name: (row.built.files, row.built.about) for name, row in made.folders.items()}


def _is_same(made: Made, rows: _Rows, folders: dict[str, Made]) -> bool:
    return rows == made.files and _inner(folders) == _inner(made.folders)


def _inner(folders: dict[str, Made]) -> list[tuple[str, int, Built]]:
    return [(name, made.folder.mode, made.built) for name, made in folders.items()]
