"""The trees of a snapshot: what is in the folders, and what is to be known of it.

Beside each folder of ``files`` stands one of ``about``: its file ``here`` has a row for each file
and folder, its folder ``in`` what is about the folders inside. A folder in which nothing changed
has the same two trees as before, and costs next to nothing.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jenny.workspace.errors import StoreBroken
from jenny.workspace.git.objects import FILE, FOLDER, TreeEntry, encode_tree
from jenny.workspace.snapshots.contents import Reader
from jenny.workspace.snapshots.naming import from_stored, to_stored
from jenny.workspace.snapshots.objects import Objects, Sink
from jenny.workspace.snapshots.scan import Folder, Found, Stamp

EXECUTABLE = 0o100755
_ANY_EXECUTE = 0o100
_NEW = (None, None)


@dataclass(frozen=True)
class Built:
    """The ids of a folder's two trees; how many files and bytes are in it and below."""

    files: str
    about: str
    count: int
    size: int


type _Rows = dict[str, tuple[Stamp, str]]


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a folder: its files with stamp and id, its folders, its two trees.

    ``doubted``: files that must be read again, since they could change without their stamp showing
    it, or could not be read. Where there is none in it and below, it ``is_settled``: nothing need
    be read while the folder is the same object.
    """

    folder: Folder
    files: _Rows
    folders: dict[str, "Made"]
    built: Built
    doubted: frozenset[str]
    is_settled: bool

    def is_of(self, files: str | None, about: str | None) -> bool:
        """Whether these are the folder's two trees."""
        return (self.built.files, self.built.about) == (files, about)

    def content_of(self, path: str, stamp: Stamp) -> str | None:
        """The id of the content that the file had when it had this stamp; ``None``: not known."""
        name, _, below = path.partition("/")
        if below:
            inner = self.folders.get(name)
            return inner.content_of(below, stamp) if inner is not None else None
        row = self.files.get(name)
        return row[1] if row is not None and row[0] == stamp and name not in self.doubted else None

    def contents(self) -> Iterator[tuple[str, Stamp, str]]:
        """Path, stamp and id of every file that need not be read again."""
        above = f"{self.folder.path}/" if self.folder.path else ""
        for name, (stamp, sha) in self.files.items():
            if name not in self.doubted:
                yield above + name, stamp, sha
        for inner in self.folders.values():
            yield from inner.contents()


def to_read(folder: Folder, made: Made | None) -> Iterator[Found]:
    """The files in *folder* and below of which more is to be known than what was *made* of it."""
    if made is not None and made.folder is folder and made.is_settled:
        return
    yield from folder.files.values()
    for name, inner in folder.folders.items():
        yield from to_read(inner, made.folders.get(name) if made is not None else None)


class Builder:
    """Makes the trees of a workspace out of what was read."""

    def __init__(self, repo: Objects, batch: Sink, reader: Reader) -> None:
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
        """The trees of *folder*, given those that stood there before. What was made of it
        *earlier* serves where those are the ones and nothing changed."""
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
        """The two trees of each folder within a folder of the snapshot before."""
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
        """Write a folder's two trees."""
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
        """The files of a folder that were read, and the names of those in doubt."""
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
        """The tree of what is to be known of a folder."""
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
        """What a tree of the snapshot before has, by name."""
        with contextlib.suppress(StoreBroken):  # then all is written anew
            return {row.name: row for row in self._repo.tree(tree)} if tree else {}
        return {}


def _trees(made: Made) -> dict[str, tuple[str, str | None]]:
    """The two trees of each folder within a folder, as they were made."""
    return {name: (row.built.files, row.built.about) for name, row in made.folders.items()}


def _is_same(made: Made, rows: _Rows, folders: dict[str, Made]) -> bool:
    """Whether just this was made of a folder before."""
    return rows == made.files and _inner(folders) == _inner(made.folders)


def _inner(folders: dict[str, Made]) -> list[tuple[str, int, Built]]:
    return [(name, made.folder.mode, made.built) for name, made in folders.items()]
