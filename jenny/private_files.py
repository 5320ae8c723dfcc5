"""Removes other users' access to the data folder, also in folders of earlier versions."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from jenny.env import DataFolder

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def protect(data: DataFolder) -> list[Path]:
    """Remove others' rights from the data folder and from files that only Jenny reads.

    Returns the paths that stay open to others: they belong to another user, or the file system
    stores no rights. Files of workspaces keep their rights.
    """
    return [path for path in _private_paths(data) if not _close(path)]


def open_paths(data: DataFolder) -> list[Path]:
    """Return the folder, database and key that others may read. Changes nothing."""
    return [path for path in _most_private(data) if _is_open(path)]


def warning(path: Path) -> str:
    """Return a sentence about a path that stays open to others."""
    return (
        f"Other users of this machine can read {path}, and Jenny cannot change that: it belongs to "
        f"somebody else, or its file system keeps no rights. Run: chmod go-rwx '{path}', as its "
        "owner, or choose another folder with JENNY_DATA_DIR."
    )


def _most_private(data: DataFolder) -> list[Path]:
    database = data.database
    beside = [database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal")]
    return [data.root, data.secret_key, data.setup_token, database, *beside]


def _private_paths(data: DataFolder) -> Iterator[Path]:
    yield from _most_private(data)
    for folder in (data.redis, data.backups):
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            for parent, folders, files in os.walk(folder):
                yield from (Path(parent, name) for name in (*folders, *files))


def _is_open(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return bool(found.st_mode & _OTHERS) and not stat.S_ISLNK(found.st_mode)


def _close(path: Path) -> bool:
    if not _is_open(path):
        return True
    try:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)
    except OSError:
        return False
    return not _is_open(path)
