"""Marks in a workspace's own folder: empty files that say there is something to ask for elsewhere.

So that who reads a workspace a hundred times an hour asks a database only where it has an answer.
"""

import contextlib
import os
from pathlib import Path

from jenny.workspace import atomic, paths
from jenny.workspace.locks import OWN_FOLDER

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def is_set(root: Path, name: str) -> bool:
    """Whether the mark stands."""
    return os.path.lexists(f"{root}/{OWN_FOLDER}/{name}")


def put(root: Path, name: str) -> None:
    """Set the mark; before there is what it speaks of. The workspace's lock is held.

    Raises:
        OSError: the disk refused.
    """
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        os.close(os.open(name, _FLAGS, 0o600, dir_fd=folder))


def take(root: Path, name: str) -> None:
    """Take the mark away; after there is nothing any more. The workspace's lock is held."""
    with contextlib.suppress(FileNotFoundError), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        atomic.remove(folder, name)
