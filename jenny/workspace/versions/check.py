"""What is wrong with the versions, for ``check_workspace``."""

import os
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace.check import Finding
from jenny.workspace.errors import VersionsOff
from jenny.workspace.git import trees
from jenny.workspace.versions import record, scan, writes

MOVE_AWAY = (
    f"Move {writes.GIT_DIR} out of the workspace: a new store begins with the files as they are. "
    "The old one can still be read with git, or come back from a backup."
)


def check(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing to repair)
    """Whether the store can be used, and of which files no versions are kept."""
    try:
        with record.reading(root) as repo:
            tip = repo.ref() if repo is not None else None
            if repo is not None and tip is not None:
                for sha in set(trees.files(repo, repo.commit(tip).tree).values()):
                    repo.blob(sha)
    except VersionsOff as error:
        sentence = f"Versions of the memory files are off: {error.sentence}"
        yield Finding(writes.GIT_DIR, sentence, MOVE_AWAY)
    for row in scan.scan(root).skipped:
        path = root / row.path
        # Links, folders and what may not be read are told of by other checks.
        if not path.is_symlink() and path.is_file() and os.access(path, os.R_OK):
            sentence = f"It {row.why}, so no versions of it are kept."
            yield Finding(row.path, sentence, "Make it smaller.", "note")
