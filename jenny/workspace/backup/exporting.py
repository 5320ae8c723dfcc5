"""Making a backup: a workspace as one of its snapshots has it, and everything that belongs to it.

The files come out of the snapshot that was taken for it, so all of them are of one moment while
others go on writing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jenny.workspace import names
from jenny.workspace.backup import bundles
from jenny.workspace.backup.archive import Archive, Sink
from jenny.workspace.backup.places import Places
from jenny.workspace.backup.values import FILES, SNAPSHOTS, VERSIONS, Manifest
from jenny.workspace.git.store import MAIN
from jenny.workspace.snapshots import reading
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import REFS
from jenny.workspace.snapshots.values import FileRow, Snapshot, sized

type Row = Mapping[str, Any]
type Progress = Callable[[int, int, str], None] | None
type Tell = Callable[[int, str], None]


@dataclass(frozen=True)
class Contents:
    """What goes into a backup: the snapshot *shot* of the store *repo*; the store of versions
    *git_dir*, if there is one; tables of rows by their names in the zip; whether earlier states
    come along."""

    repo: Objects
    shot: Snapshot
    git_dir: Path | None
    tables: Mapping[str, Iterable[Row]] = field(default_factory=dict)
    with_history: bool = True


def write(
    sink: Sink, contents: Contents, manifest: Manifest, progress: Progress = None
) -> Manifest:
    """Write the zip to *sink*; the manifest with everything counted.

    Raises:
        StoreBroken: a file or an earlier state is damaged.
        BackupRefused: there is more than a backup may hold.
        OSError: the disk refused.
    """
    archive = Archive(sink)
    half = max(contents.shot.size, 1)
    whole = 2 * half if contents.with_history else half

    def tell(done: int, doing: str) -> None:
        if progress is not None:
            progress(min(done, whole), whole, doing)

    manifest = _files(archive, contents, manifest, tell)
    counts: dict[str, int] = {}
    for name, rows in contents.tables.items():
        tell(half, "Conversations and ledgers are written.")
        counts[name] = archive.lines(name, _counted(rows, counts))
    manifest = replace(
        manifest,
        conversations=counts.get("kind conversation", 0),
        messages=counts.get("kind message", 0),
    )
    if contents.with_history:
        manifest = _history(archive, contents, manifest, tell)
    archive.close(manifest)
    return manifest


def _files(archive: Archive, contents: Contents, manifest: Manifest, tell: Tell) -> Manifest:
    """The workspace's files and folders."""
    repo, shot, places = contents.repo, contents.shot, Places()
    left_out = [row.sentence for row in reading.skipped(repo, shot)]
    done = files = 0
    for row in reading.every(repo, shot):
        if why := places.problem(row.path, is_folder=row.is_folder):
            left_out.append(_left_out(row, why))
        elif row.is_folder:
            archive.folder(FILES + row.path, row.mode)
        else:
            size = repo.size(row.sha)
            archive.file(
                FILES + row.path, reading.content(repo, row), size=size, mode=row.mode,
                when=row.modified,
            )  # fmt: skip
            done, files = done + size, files + 1
            tell(done, f"{sized(done)} of {sized(shot.size)} of files are written.")
    return replace(manifest, files=files, size=done, left_out=tuple(left_out))


def _left_out(row: FileRow, why: str) -> str:
    return f"{names.shown(row.path)} is only in the earlier states, since its name {why}."


def _counted(rows: Iterable[Row], counts: dict[str, int]) -> Iterable[Row]:
    for row in rows:
        kind = f"kind {row.get('row')}"
        counts[kind] = counts.get(kind, 0) + 1
        yield row


def _history(archive: Archive, contents: Contents, manifest: Manifest, tell: Tell) -> Manifest:
    """Snapshots, and the versions of memory files."""
    repo, half = contents.repo, max(contents.shot.size, 1)

    def told(done: int, total: int) -> None:
        tell(half + half * done // total, "Earlier states are written.")

    shots = {name: sha for name, sha in repo.refs(REFS).items() if bundles.REF.fullmatch(name)}
    archive.stream(SNAPSHOTS, lambda out: bundles.write(repo, shots, out, told))
    versions = 0
    if contents.git_dir is not None:
        with Objects(contents.git_dir) as store:
            tip = store.ref(MAIN)
            if tip is not None:
                archive.stream(VERSIONS, lambda out: bundles.write(store, {MAIN: tip}, out))
                versions = _depth(store, tip)
    return replace(manifest, snapshots=len(shots), versions=versions)


def _depth(store: Objects, tip: str) -> int:
    """How many versions there are."""
    count, here = 0, tip
    while True:
        count += 1
        above = store.commit(here).parent
        if above is None:
            return count
        here = above
