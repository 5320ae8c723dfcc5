"""Whether snapshots are whole: every object there, and with the content its id stands for."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from jenny.workspace import names
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.snapshots import reading
from jenny.workspace.snapshots.naming import from_stored
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Snapshot

# A broken store may have one fault in each file; a person reads the first few.
MOST = 20


def verify(repo: Objects, shot: Snapshot) -> list[str]:
    """What is wrong with a snapshot, in sentences; empty when every byte of it is right."""
    return list(_Look(repo, deep=True).at(shot))


def check(store: Store) -> Iterator[str]:
    """What is wrong with a store, in sentences: each snapshot's objects are looked for, and the
    newest snapshot's are read.

    Raises:
        VersionsOff: the store cannot be used at all.
    """
    if not store.exists:
        return
    with store.open() as repo:
        ids = store.ids()
        shallow, told = _Look(repo, deep=False), 0
        for name in reversed(ids):
            try:
                shot = store.get(repo, name)
                look = _Look(repo, deep=True) if name == ids[-1] else shallow
                for sentence in look.at(shot):
                    told += 1
                    if told > MOST:
                        yield "More is damaged than is named here."
                        return
                    yield sentence
            except StoreBroken as error:
                yield f"Snapshot {name} cannot be read: {error.sentence}"
            except SnapshotUnknown:
                continue  # pruned meanwhile


@dataclass
class _Look:
    """A walk through snapshots that passes by what it has seen already."""

    repo: Objects
    deep: bool
    seen: dict[str, bool] = field(default_factory=dict)

    def at(self, shot: Snapshot) -> Iterator[str]:
        """What is wrong with one."""
        try:
            top = self.repo.tree(self.repo.commit(shot.commit).tree)
            reading.skipped(self.repo, shot)
        except StoreBroken as error:
            yield f"Snapshot {shot.id} cannot be read: {error.sentence}"
            return
        for row in top:
            if row.is_folder:
                path = "" if row.name == "files" else "what is known of its files: "
                if not self._tree(row.sha):
                    yield f"Snapshot {shot.id} has lost its files."
                else:
                    yield from self._inside(shot, row.sha, path)

    def _inside(self, shot: Snapshot, tree: str, prefix: str) -> Iterator[str]:
        for row in self.repo.tree(tree):
            path = prefix + from_stored(row.name)
            if row.sha in self.seen:
                if not self.seen[row.sha]:
                    yield _lost(shot, path)
            elif row.is_folder:
                self.seen[row.sha] = self._tree(row.sha)
                if self.seen[row.sha]:
                    yield from self._inside(shot, row.sha, f"{path}/")
                else:
                    yield _lost(shot, path)
            else:
                self.seen[row.sha] = self._blob(row.sha)
                if not self.seen[row.sha]:
                    yield _lost(shot, path)

    def _tree(self, sha: str) -> bool:
        with contextlib.suppress(StoreBroken):
            self.repo.tree(sha)
            return True
        return False

    def _blob(self, sha: str) -> bool:
        return self.repo.is_whole(sha) if self.deep else self.repo.has(sha)


def _lost(shot: Snapshot, path: str) -> str:
    return f"Snapshot {shot.id} has lost {names.shown(path)}: it is missing or damaged."
