"""Whether a run left alone what is not its to change: a look before, and another after.

Dream's tools cannot reach these files, and the write rules would refuse it. This is the check that
does not rest on either. What a person or a chat changed in the same minutes looks the same from
here; so what is found is told, with where to look, and decides nothing about the entries.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import names
from jenny.workspace.errors import WorkspaceError
from memory import files
from memory.history import log

type Stamp = tuple[int, int, int]

# Of a folder that somebody filled with files, so many are looked at.
_MOST = 20_000
_NAMED = 5
# What the pipeline itself writes while a run is under way.
_OWN = frozenset({*files.BY_PATH, log.PATH})
_OWN_FOLDERS = frozenset({"memory/archive"})


class UnexpectedChange(WorkspaceError):
    """Files changed during a run that no run may change."""


@dataclass(frozen=True, slots=True)
class FilesBefore:
    """The files that a run may not change, as they stood."""

    stamps: dict[str, Stamp]


def record_files(root: Path) -> FilesBefore:
    """Look at everything below ``memory/`` that is no run's, the instructions and the guide."""
    found: dict[str, Stamp] = {}
    for path in (files.INSTRUCTIONS, files.GUIDE):
        _add(found, root, path)
    for folder, folders, here in os.walk(root / "memory"):
        inner = os.path.relpath(folder, root)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and f"{inner}/{name}" not in _OWN_FOLDERS
        ]
        for name in here:
            path = f"{inner}/{name}"
            if not name.startswith(".") and path not in _OWN and len(found) < _MOST:
                _add(found, root, path)
    return FilesBefore(found)


def find_unexpected_changes(root: Path, before: FilesBefore) -> None:
    """Look again.

    Raises:
        Strayed: something changed, came or went that no run may touch.
    """
    after = record_files(root).stamps
    every = sorted(before.stamps.keys() | after.keys())
    changed = [path for path in every if before.stamps.get(path) != after.get(path)]
    if not changed:
        return
    shown = ", ".join(names.shown(path) for path in changed[:_NAMED])
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    message = (
        f"While Dream ran, {shown}{more} changed, which no run may touch. Nothing that Dream wrote "
        "is on record there. If nobody else did it, compare with the snapshot before the run."
    )
    raise UnexpectedChange(message)


def _add(found: dict[str, Stamp], root: Path, path: str) -> None:
    try:
        status = os.lstat(root / path)
    except OSError:
        return
    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
        found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
