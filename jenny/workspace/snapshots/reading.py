"""Looking into a snapshot: its folders, its files, what it skipped."""

import json
from collections.abc import Iterator

from jenny.workspace import names
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.git.objects import TreeEntry
from jenny.workspace.snapshots.naming import from_stored, to_stored
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import entry
from jenny.workspace.snapshots.values import FileRow, Skipped, Snapshot


def folder(repo: Objects, shot: Snapshot, path: str = "") -> list[FileRow]:
    """What is in a folder of the snapshot, folders first, by name.

    Raises:
        SnapshotUnknown: it has no such folder.
        StoreBroken: it is damaged.
    """
    files, about = _trees(repo, shot)
    parts = _parts(path)
    for part in parts:
        found = entry(repo, files, to_stored(part))
        if found is None or not found.is_folder:
            raise SnapshotUnknown(
                f"Snapshot {shot.id} has no folder {names.shown('/'.join(parts))}."
            )
        files, about = found.sha, _about_inside(repo, about, to_stored(part))
    prefix = "".join(f"{part}/" for part in parts)
    return sorted(_rows(repo, files, about, prefix), key=lambda row: (not row.is_folder, row.path))


def every(repo: Objects, shot: Snapshot, path: str = "") -> Iterator[FileRow]:
    """All files and folders below a folder, a folder before what is in it."""
    for row in folder(repo, shot, path):
        yield row
        if row.is_folder:
            yield from every(repo, shot, row.path)


def file(repo: Objects, shot: Snapshot, path: str) -> FileRow:
    """A file of the snapshot.

    Raises:
        SnapshotUnknown: it has no such file.
        StoreBroken: it is damaged.
    """
    *folders, name = _parts(path) or [""]
    wanted = "/".join((*folders, name))
    try:
        rows = folder(repo, shot, "/".join(folders))
    except SnapshotUnknown:
        rows = []
    for row in rows:
        if row.path == wanted and not row.is_folder:
            return row
    raise SnapshotUnknown(f"Snapshot {shot.id} has no file {names.shown(wanted)}.")


def content(repo: Objects, row: FileRow) -> Iterator[bytes]:
    """A file's content in pieces; it is right only when the last one came without an error.

    Raises:
        StoreBroken: it is damaged.
    """
    return repo.stream(row.sha)


def skipped(repo: Objects, shot: Snapshot) -> list[Skipped]:
    """What the snapshot does not hold, or not as surely as the rest, and why."""
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


def _about_inside(repo: Objects, about: str | None, stored: str) -> str | None:
    """What is to be known of a folder inside."""
    inner = entry(repo, about, "in") if about else None
    found = entry(repo, inner.sha, stored) if inner is not None else None
    return found.sha if found is not None else None


def _rows(repo: Objects, files: str, about: str | None, prefix: str) -> Iterator[FileRow]:
    """The rows of one folder."""
    here = entry(repo, about, "here") if about else None
    try:
        known = json.loads(repo.blob(here.sha)) if here is not None else {}
        for found in repo.tree(files):
            yield _row(found, known, prefix)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreBroken("What the snapshot knows of its files is damaged.") from error


def _row(found: TreeEntry, known: dict[str, list[int]], prefix: str) -> FileRow:
    name = from_stored(found.name)
    if found.is_folder:
        (mode,) = known.get(f"{name}/", [0o755])
        return FileRow(prefix + name, True, 0, mode, 0, found.sha)  # noqa: FBT003  (is_folder)
    mode, size, modified = known[name] if name in known else (found.mode & 0o777, 0, 0)
    return FileRow(prefix + name, False, size, mode, modified, found.sha)  # noqa: FBT003 - a value of the row
