"""The trees of a snapshot: what is in the folders, and what is to be known of it.

Beside each folder of ``files`` stands one of ``about``: its file ``here`` has a row for each file
and folder, its folder ``in`` what is about the folders inside. A folder in which nothing changed
has the same two trees as before, and costs next to nothing.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jenny.workspace.errors import StoreBroken
from jenny.workspace.git.objects import FILE, FOLDER, TreeEntry, encode_tree
from jenny.workspace.snapshots.naming import from_stored, to_stored
from jenny.workspace.snapshots.objects import Objects, Sink
from jenny.workspace.snapshots.scan import Folder, Found, Stamp

EXECUTABLE = 0o100755
_ANY_EXECUTE = 0o100


@dataclass(frozen=True)
class Built:
    """The ids of a folder's two trees; how many files and bytes are in it and below."""

    files: str
    about: str
    count: int
    size: int


type _Rows = tuple[tuple[str, Stamp, str], ...]
type _Folders = tuple[tuple[str, int, Built], ...]


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a folder: its files (name, stamp, id), its folders (name, mode, trees)."""

    files: _Rows
    folders: _Folders
    built: Built


class Builder:
    """Makes the trees of a workspace out of what was read."""

    def __init__(
        self,
        repo: Objects,
        batch: Sink,
        read: dict[str, tuple[Found, str]],
        earlier: Mapping[str, Made] | None = None,
    ) -> None:
        """*earlier*: what was made of the folders before, by path. Where those trees are in the
        snapshot before and nothing changed, they are not made again."""
        self._repo = repo
        self._batch = batch
        self._read = read
        self._earlier = earlier or {}
        self.made: dict[str, Made] = {}

    def build(self, folder: Folder, files: str | None, about: str | None) -> Built:
        """The trees of *folder*, given those that stood there before."""
        earlier = self._earlier.get(folder.path)
        if earlier is not None and (earlier.built.files, earlier.built.about) != (files, about):
            earlier = None
        before = self._before(files, about) if earlier is None else _inner(earlier)
        folders = tuple(
            (name, inner.mode, self.build(inner, *before.get(name, (None, None))))
            for name, inner in folder.folders.items()
        )
        rows = tuple((name, found.stamp, sha) for name, (found, sha) in self._found(folder))
        if earlier is None or (rows, folders) != (earlier.files, earlier.folders):
            earlier = Made(rows, folders, self._built(rows, folders, files, about))
        self.made[folder.path] = earlier
        return earlier.built

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

    def _built(self, rows: _Rows, folders: _Folders, files: str | None, about: str | None) -> Built:
        """Write a folder's two trees."""
        entries: list[TreeEntry] = []
        abouts: list[TreeEntry] = []
        here: dict[str, list[int]] = {}
        count = size = 0
        for name, stamp, sha in rows:
            found = Found(name, stamp)
            mode = EXECUTABLE if found.mode & _ANY_EXECUTE else FILE
            entries.append(TreeEntry(to_stored(name), sha, mode))
            here[name] = [found.mode, found.size, found.modified]
            count, size = count + 1, size + found.size
        for name, mode, made in folders:
            stored = to_stored(name)
            entries.append(TreeEntry(stored, made.files, FOLDER))
            abouts.append(TreeEntry(stored, made.about, FOLDER))
            here[f"{name}/"] = [mode]
            count, size = count + made.count, size + made.size
        return Built(
            self._batch.add("tree", encode_tree(entries), known=files),
            self._about(here, abouts, about),
            count,
            size,
        )

    def _found(self, folder: Folder) -> list[tuple[str, tuple[Found, str]]]:
        """The files of a folder that were read, by name."""
        return [
            (name, self._read[found.path])
            for name, found in folder.files.items()
            if found.path in self._read
        ]

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


def _inner(made: Made) -> dict[str, tuple[str, str | None]]:
    """The two trees of each folder within a folder, as they were made."""
    return {name: (built.files, built.about) for name, _, built in made.folders}
