"""List snapshots, read their folders and files, and verify that every object exists and is whole.

The list is cached; its lines are appended without a sync. If a line is missing, torn or about a
deleted snapshot, the snapshot itself is read instead.

A path in NFC names what is stored in NFD, and the other way round.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jenny.text_normalisation import canonical
from jenny.workspace import names
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.git.objects import TreeEntry
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.scan import FILE_MODES, FOLDER_MODES
from jenny.workspace.snapshots.store import Store, entry
from jenny.workspace.snapshots.trees import compare_trees, from_stored, to_stored
from jenny.workspace.snapshots.values import Changes, FileRow, Skipped, Snapshot, total

LIST_CACHE = "list.jsonl"
# Lines about deleted snapshots, before the list is rewritten.
_SLACK = 200


def list_snapshots(store: Store) -> list[Snapshot]:
    """Return all snapshots, newest first, each with the changes since the one before it.

    Damaged ones are left out (``check_snapshots`` names them).

    Raises:
        VersionsOff: the store cannot be used.
    """
    ids = store.ids()
    if not ids:
        return []
    kept, lines = _kept(store)
    shots: list[Snapshot] = []
    new: list[Snapshot] = []
    with store.open() as repo:
        for name in ids:
            shot = kept.get(name)
            with contextlib.suppress(StoreBroken, SnapshotUnknown):
                known = shot
                shot = _joined(repo, shot or store.get(repo, name), shots[-1] if shots else None)
                shots.append(shot)
                if shot is not known:
                    new.append(shot)
    if lines > len(ids) + _SLACK:
        _rewrite(store, shots)
    elif new:
        _append(store, new)
    shots.reverse()
    return shots


def write_snapshot_list(store: Store, shot: Snapshot) -> None:
    """Add a new snapshot to the list; errors are ignored."""
    _append(store, [shot])


def _joined(repo: Objects, shot: Snapshot, before: Snapshot | None) -> Snapshot:
    """Return the snapshot with its changes counted from its current predecessor."""
    name = before.id if before is not None else None
    if shot.before == name:
        return shot
    changes = total(compare_trees(repo.tree, before.tree if before else None, shot.tree))
    return replace(shot, before=name, changes=changes)


def _kept(store: Store) -> tuple[dict[str, Snapshot], int]:
    """Return the snapshots of the list by id, the last line of each, and the number of lines."""
    try:
        lines = (store.own / LIST_CACHE).read_bytes().splitlines()
    except OSError:
        return {}, 0
    found: dict[str, Snapshot] = {}
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, OverflowError, OSError):
            facts = json.loads(line)
            facts["when"] = datetime.fromtimestamp(facts["when"] / 1000, UTC)
            facts["changes"] = Changes(*facts["changes"])
            shot = Snapshot(**facts)
            if shot.id == f"{shot.number}-{shot.commit[:8]}":
                found[shot.id] = shot
    return found, len(lines)


def _line(shot: Snapshot) -> bytes:
    facts = asdict(shot)
    facts["when"] = int(shot.when.timestamp() * 1000)
    facts["changes"] = list(facts["changes"].values())
    return json.dumps(facts).encode() + b"\n"


def _append(store: Store, shots: list[Snapshot]) -> None:
    """Append lines with one write; a torn line before them is ended first."""
    path = store.own / LIST_CACHE
    with contextlib.suppress(OSError), path.open("ab") as file:
        file.write(b"\n" * _is_torn(path) + b"".join(map(_line, shots)))


def _is_torn(path: Path) -> bool:
    """True when the list does not end with a line end."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) not in (b"", b"\n")


def _rewrite(store: Store, shots: list[Snapshot]) -> None:
    """Rewrite the list without the lines that are not needed."""
    temp = store.own / f".{secrets.token_hex(8)}.tmp"
    try:
        temp.write_bytes(b"".join(map(_line, shots)))
        os.rename(temp, store.own / LIST_CACHE)  # noqa: PTH104  (one call to watch)
    except OSError:
        with contextlib.suppress(OSError):
            temp.unlink()


def read_folder(repo: Objects, shot: Snapshot, path: str = "") -> list[FileRow]:
    """List a folder of the snapshot, folders first, by name.

    Raises:
        SnapshotUnknown: it has no such folder.
        StoreBroken: it is damaged.
    """
    files, about = _trees(repo, shot)
    prefix = ""
    for part in _parts(path):
        found = _entry(repo, files, part)
        if found is None or not found.is_folder:
            raise SnapshotUnknown(f"Snapshot {shot.id} has no folder {names.shown(path)}.")
        files, about = found.sha, _about_inside(repo, about, found.name)
        prefix += f"{from_stored(found.name)}/"
    return sorted(_rows(repo, files, about, prefix), key=lambda row: (not row.is_folder, row.path))


def list_files(repo: Objects, shot: Snapshot, path: str = "") -> Iterator[FileRow]:
    """List all files and folders below a folder, a folder before its contents."""
    for row in read_folder(repo, shot, path):
        yield row
        if row.is_folder:
            yield from list_files(repo, shot, row.path)


def find_file(repo: Objects, shot: Snapshot, path: str) -> FileRow:
    """Return a file of the snapshot.

    Raises:
        SnapshotUnknown: it has no such file.
        StoreBroken: it is damaged.
    """
    *folders, name = _parts(path) or [""]
    wanted = "/".join((*folders, name))
    try:
        rows = read_folder(repo, shot, "/".join(folders))
    except SnapshotUnknown:
        rows = []
    for row in rows:
        if canonical(row.path) == canonical(wanted) and not row.is_folder:
            return row
    raise SnapshotUnknown(f"Snapshot {shot.id} has no file {names.shown(wanted)}.")


def read_content(repo: Objects, row: FileRow) -> Iterator[bytes]:
    """Yield a file's content in pieces; it is right only when the last one came without an error.

    Raises:
        StoreBroken: it is damaged.
    """
    return repo.stream(row.sha)


def read_skipped(repo: Objects, shot: Snapshot) -> list[Skipped]:
    """List what the snapshot does not hold, or not as surely as the rest, with the reasons."""
    found = entry(repo, repo.commit(shot.commit).tree, "skipped")
    if found is None:
        return []
    try:
        return [Skipped(str(path), str(why)) for path, why in json.loads(repo.blob(found.sha))]
    except (ValueError, TypeError) as error:
        raise StoreBroken(f"Snapshot {shot.id} is damaged.") from error


def _trees(repo: Objects, shot: Snapshot) -> tuple[str, str | None]:
    about = entry(repo, repo.commit(shot.commit).tree, "about")
    return shot.tree, about.sha if about is not None else None


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _entry(repo: Objects, tree: str, name: str) -> TreeEntry | None:
    found = entry(repo, tree, to_stored(name))
    if found is not None or name.isascii():
        return found
    rows = (row for row in repo.tree(tree) if canonical(from_stored(row.name)) == canonical(name))
    return next(rows, None)


def _about_inside(repo: Objects, about: str | None, stored: str) -> str | None:
    inner = entry(repo, about, "in") if about else None
    found = entry(repo, inner.sha, stored) if inner is not None else None
    return found.sha if found is not None else None


def _rows(repo: Objects, files: str, about: str | None, prefix: str) -> Iterator[FileRow]:
    here = entry(repo, about, "here") if about else None
    try:
        known = json.loads(repo.blob(here.sha)) if here is not None else {}
        for found in repo.tree(files):
            yield _row(found, known, prefix)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreBroken("What the snapshot knows of its files is damaged.") from error


def _row(found: TreeEntry, known: dict[str, Any], prefix: str) -> FileRow:
    name = from_stored(found.name)
    if found.is_folder:
        (mode,) = known.get(f"{name}/", [0o755])
        return FileRow(prefix + name, True, 0, mode & FOLDER_MODES, None, found.sha)  # noqa: FBT003  (is_folder)
    mode, size, modified = known[name] if name in known else (found.mode & 0o777, 0, None)
    return FileRow(prefix + name, False, size, mode & FILE_MODES, modified, found.sha)  # noqa: FBT003 - a value of the row


# A broken store may have one fault in each file; a person reads the first few.
MOST_FAULTS = 20


def verify_snapshot(repo: Objects, shot: Snapshot) -> list[str]:
    """Return the faults of a snapshot as sentences; empty when every byte of it is right."""
    return list(_Look(repo, deep=True).at(shot))


def check_snapshots(store: Store) -> Iterator[str]:
    """Return the faults of a store as sentences.

    All snapshots' objects must exist, and the newest snapshot's are read.

    Raises:
        VersionsOff: the store cannot be used at all.
    """
    if not store.exists:
        return
    with store.open() as repo:
        ids = store.ids()
        shallow, reported = _Look(repo, deep=False), 0
        for name in reversed(ids):
            try:
                shot = store.get(repo, name)
                look = _Look(repo, deep=True) if name == ids[-1] else shallow
                for message in look.at(shot):
                    reported += 1
                    if reported > MOST_FAULTS:
                        yield "More is damaged than is named here."
                        return
                    yield message
            except StoreBroken as error:
                yield f"Snapshot {name} cannot be read: {error.message}"
            except SnapshotUnknown:
                continue  # pruned meanwhile


@dataclass
class _Look:
    """A walk through snapshots that skips objects already checked."""

    repo: Objects
    deep: bool
    seen: dict[str, bool] = field(default_factory=dict)

    def at(self, shot: Snapshot) -> Iterator[str]:
        try:
            top = self.repo.tree(self.repo.commit(shot.commit).tree)
            read_skipped(self.repo, shot)
        except StoreBroken as error:
            yield f"Snapshot {shot.id} cannot be read: {error.message}"
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
