"""The trees of a snapshot: what is in the folders, and what is to be known of it.

Beside each folder of ``files`` stands one of ``about``: its file ``here`` has a row for each file
and folder, its folder ``in`` what is about the folders inside. A folder in which nothing changed
has the same two trees as before, and costs nothing.
"""

import contextlib
import json
from dataclasses import dataclass

from jenny.workspace.errors import StoreBroken
from jenny.workspace.git.objects import FILE, FOLDER, TreeEntry, encode_tree
from jenny.workspace.snapshots.naming import to_stored
from jenny.workspace.snapshots.objects import Objects, Sink
from jenny.workspace.snapshots.scan import Folder, Found

EXECUTABLE = 0o100755
_ANY_EXECUTE = 0o100


@dataclass(frozen=True)
class Built:
    """The ids of a folder's two trees; how many files and bytes are in it and below."""

    files: str
    about: str
    count: int
    size: int


class Builder:
    """Makes the trees of a workspace out of what was read."""

    def __init__(self, repo: Objects, batch: Sink, read: dict[str, tuple[Found, str]]) -> None:
        self._repo = repo
        self._batch = batch
        self._read = read

    def build(self, folder: Folder, files: str | None, about: str | None) -> Built:
        """The trees of *folder*, given those that stood there before."""
        before = self._entries(files)
        inner_about = self._entries(about).get("in")
        abouts = self._entries(inner_about.sha if inner_about else None)
        rows: list[TreeEntry] = []
        about_rows: list[TreeEntry] = []
        here: dict[str, list[int]] = {}
        count = size = 0
        for name, (found, sha) in self._found(folder):
            mode = EXECUTABLE if found.mode & _ANY_EXECUTE else FILE
            rows.append(TreeEntry(to_stored(name), sha, mode))
            here[name] = [found.mode, found.size, found.modified]
            count, size = count + 1, size + found.size
        for name, inner in folder.folders.items():
            stored = to_stored(name)
            old, old_about = before.get(stored), abouts.get(stored)
            made = self.build(
                inner,
                old.sha if old is not None and old.is_folder else None,
                old_about.sha if old_about is not None else None,
            )
            rows.append(TreeEntry(stored, made.files, FOLDER))
            about_rows.append(TreeEntry(stored, made.about, FOLDER))
            here[f"{name}/"] = [inner.mode]
            count, size = count + made.count, size + made.size
        return Built(
            self._batch.add("tree", encode_tree(rows), known=files),
            self._about(here, about_rows, about),
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
        self, here: dict[str, list[int]], folders: list[TreeEntry], before: str | None
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
