"""A snapshot is taken before a wiki is deleted: the wikis' app does not know the memory's."""

from jenny.accounts.models import Workspace
from memory.management import snapshots
from wikis import before


def keep(workspace: Workspace) -> str:
    """Take a snapshot, or find that the newest one holds the same; its sentence.

    :raises WorkspaceError: none was taken, and why.
    """
    return snapshots.take(workspace, "delete").sentence


def register() -> None:
    """From here on a wiki is deleted only after a snapshot."""
    before.register_keeper(keep)
