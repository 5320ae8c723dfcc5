"""What is in the workspace now, with the id of every content."""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import names, paths
from jenny.workspace.snapshots.comparing import Sketch
from jenny.workspace.snapshots.contents import Reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.scan import Folder, Found, scan
from jenny.workspace.snapshots.stamps import NAME, Stamps
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Skipped


@dataclass(frozen=True)
class Present:
    """The covered files with their ids, the covered folders, and what no snapshot covers.

    ``repositories``: folders that are git repositories of the user's own; all that is in one
    belongs to it.
    """

    files: dict[str, tuple[Found, str]]
    folders: dict[str, Folder]
    uncovered: dict[str, Skipped]
    repositories: tuple[str, ...]


def look(store: Store, repo: Objects, root: Path) -> Present:
    """Look at the workspace at *root*; nothing is written.

    Raises:
        FileMissing, SnapshotFailed: it cannot be read.
    """
    real = paths.real_root(root)
    seen = scan(real)
    known = Stamps(store.own / NAME).content_of
    reader = Reader(real, Sketch(repo), known, trusting=True)
    for found in seen.top.every_file():
        reader.take(found)
    skipped = {row.path: row for row in (*seen.skipped, *reader.skipped.values())}
    gits = (path.rpartition("/") for path in skipped)
    # The workspace's own folder may lie in a repository of the user's: that is not meant.
    repositories = {above for above, _, name in gits if above and names.is_git(name)}
    return Present(
        files=reader.read,
        folders={folder.path: folder for folder in seen.top.every_folder() if folder.path},
        uncovered={path: row for path, row in skipped.items() if path not in reader.read},
        repositories=tuple(sorted(repositories)),
    )
