"""Set and clear flag files: empty files that say that a database has rows to ask for.

A workspace is read hundreds of times an hour; the flag saves the query when there are no rows.
"""

import contextlib
import os
from pathlib import Path

from jenny.workspace import atomic, paths
from jenny.workspace.locks import OWN_FOLDER

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def flag_is_set(root: Path, name: str) -> bool:
    return os.path.lexists(f"{root}/{OWN_FOLDER}/{name}")


def set_flag(root: Path, name: str) -> None:
    """Set the flag, before the rows exist. The workspace's lock is held.

    Raises:
        OSError: the disk refused.
    """
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        os.close(os.open(name, _FLAGS, 0o600, dir_fd=folder))


def clear_flag(root: Path, name: str) -> None:
    """Clear the flag, after the rows are gone. The workspace's lock is held."""
    with contextlib.suppress(FileNotFoundError), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        atomic.remove(folder, name)
