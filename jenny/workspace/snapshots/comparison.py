"""Compare a snapshot with another one, or with the current workspace."""

import contextlib
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import diffs, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.git.objects import Kind, TreeEntry, decode_tree, id_of
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.scan import STAT_CACHE, StatCache, scan
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.trees import Builder, FileReader, compare_trees
from jenny.workspace.snapshots.values import Difference, Skipped, Snapshot, sized

# Larger files are not compared line by line.
TEXT_BYTES = 300_000
TEXT_CHARS = 20_000


class Sketch:
    """A stand-in for a batch that computes ids and keeps only the folders."""

    def __init__(self, repo: Objects) -> None:
        self._repo = repo
        self._trees: dict[str, bytes] = {}

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """Return the entries of a folder, new or from the store."""
        data = self._trees.get(sha)
        return self._repo.tree(sha) if data is None else decode_tree(data)

    def knows(self, sha: str) -> bool:  # noqa: ARG002  (as a batch does)
        """Always true, since a comparison writes nothing."""
        return True

    def add(self, kind: Kind, data: bytes, *, known: str | None = None) -> str:  # noqa: ARG002 - the store's signature
        sha = id_of(kind, data)
        if kind == "tree":
            self._trees[sha] = data
        return sha

    def add_stream(self, size: int, pieces: Iterable[bytes]) -> str | None:
        """Return the id of a large content; ``None`` when its size differs from *size*."""
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        given = 0
        for piece in pieces:
            digest.update(piece)
            given += len(piece)
        return digest.hexdigest() if given == size else None


@dataclass(frozen=True)
class Comparison:
    """The differences from an older state to a newer one, by path.

    ``new`` is ``None`` for the current workspace.
    """

    old: Snapshot
    new: Snapshot | None
    rows: tuple[Difference, ...]
    skipped: tuple[Skipped, ...] = ()


def with_another(repo: Objects, old: Snapshot, new: Snapshot) -> Comparison:
    """Compare two snapshots.

    Raises:
        StoreBroken: one of them is damaged.
    """
    return Comparison(old, new, tuple(compare_trees(repo.tree, old.tree, new.tree)))


def with_now(store: Store, repo: Objects, old: Snapshot, root: Path) -> Comparison:
    """Compare a snapshot with the workspace at *root*; nothing is written.

    Raises:
        StoreBroken: the snapshot is damaged.
        FileMissing, SnapshotFailed: the workspace cannot be read.
    """
    sketch = Sketch(repo)
    seen = scan(paths.real_root(root))
    known = StatCache(store.own / STAT_CACHE).content_of
    reader = FileReader(paths.real_root(root), sketch, known, trusting=True)
    for found in seen.top.every_file():
        reader.take(found)
    made = Builder(repo, sketch, reader).build(seen.top, old.tree, None)
    rows = compare_trees(sketch.tree, old.tree, made.built.files)
    return Comparison(old, None, tuple(rows), (*seen.skipped, *reader.skipped.values()))


def text(
    repo: Objects, compared: Comparison, row: Difference, root: Path, *, limit: int = TEXT_CHARS
) -> str:
    """Return a diff of a file of about *limit* characters, or a sentence why there is none.

    Raises:
        StoreBroken: a snapshot is damaged.
    """
    found = _read(repo, compared, row, root)
    if isinstance(found, str):
        return found
    return diffs.bounded(diffs.unified(row.path, *found), limit)


def sides(
    repo: Objects, compared: Comparison, row: Difference, root: Path
) -> tuple[str, str] | str:
    """Return a file's text on both sides (empty: no file), or a sentence why there is none.

    Raises:
        StoreBroken: a snapshot is damaged.
    """
    found = _read(repo, compared, row, root)
    if isinstance(found, str):
        return found
    before, after = ((side or b"").decode("utf-8", "replace") for side in found)
    return before, after


def _read(
    repo: Objects, compared: Comparison, row: Difference, root: Path
) -> tuple[bytes | None, bytes | None] | str:
    """Return both sides' bytes if they can be compared by line, or a sentence why not."""
    old = _stored(repo, row.old)
    new = _stored(repo, row.new) if compared.new is not None else _present(root, row)
    sizes = [len(side) for side in (old, new) if isinstance(side, bytes)]
    if any(isinstance(side, int) for side in (old, new)) or max(sizes, default=0) > TEXT_BYTES:
        return f"It is too large to be shown line by line ({_told(old)} → {_told(new)})."
    before, after = (side if isinstance(side, bytes) else None for side in (old, new))
    if diffs.counts(before, after).is_binary:
        return f"It is no text ({_told(old)} → {_told(new)})."
    if diffs.is_same_text(before, after):
        return "Only its permissions or line ends differ."
    return before, after


type _Side = bytes | int | None


def _stored(repo: Objects, sha: str | None) -> _Side:
    """Return a content of the store, or its size when it is too large to be compared."""
    if sha is None:
        return None
    size = repo.size(sha)
    return size if size > TEXT_BYTES else repo.blob(sha)


def _present(root: Path, row: Difference) -> _Side:
    if row.new is None:
        return None
    with contextlib.suppress(WorkspaceError):
        place = paths.Place(paths.real_root(root), tuple(row.path.split("/")), None)
        fd = paths.open_file(place)
        with os.fdopen(fd, "rb") as file:
            data = file.read(TEXT_BYTES + 1)
            return os.fstat(file.fileno()).st_size if len(data) > TEXT_BYTES else data
    return None


def _told(side: _Side) -> str:
    return "none" if side is None else sized(side if isinstance(side, int) else len(side))
