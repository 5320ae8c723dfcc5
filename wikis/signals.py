"""Register callbacks for the creation, renaming and deletion of wikis, by which other apps connect
to this one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from wikis.errors import WikiError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace

type Keeper = Callable[["Workspace"], str]
type Count = Callable[["Workspace", str], int]
type Take = Callable[["Workspace", str], str]
type Made = Callable[["Workspace", str], None]
type Renamed = Callable[["Workspace", str, str], None]

_keepers: list[Keeper] = []
_talks: list[tuple[Count, Take]] = []
_made: list[Made] = []
_renamed: list[Renamed] = []


def register_keeper(keeper: Keeper) -> None:
    """Call *keeper* with the workspace's row before a wiki is deleted.

    It makes a copy and returns a sentence about it, or raises ``WorkspaceError``: then nothing is
    deleted.
    """
    if keeper not in _keepers:
        _keepers.append(keeper)


def run_keepers(workspace: "Workspace") -> str:
    """Make a copy before a deletion, and return the sentence about it.

    Raises:
        WikiError: no keeper is registered; nothing may be deleted.
        WorkspaceError: the copy failed.
    """
    if not _keepers:
        raise WikiError("No snapshot can be taken here, so nothing was deleted.")
    return " ".join(keeper(workspace) for keeper in _keepers)


def register_talks(count: Count, take: Take) -> None:
    """Register access to the conversations inside a wiki.

    *count* returns their number, *take* deletes them and returns a sentence about it, or raises
    ``WorkspaceError``.
    """
    if (count, take) not in _talks:
        _talks.append((count, take))


def talks(workspace: "Workspace", name: str) -> int:
    return sum(count(workspace, name) for count, _ in _talks)


def take_talks(workspace: "Workspace", name: str) -> str:
    """Delete the conversations and return the sentence about it.

    Raises:
        WorkspaceError: none was deleted.
    """
    return " ".join(take(workspace, name) for _, take in _talks)


def register_made(hear: Made) -> None:
    """Call *hear* with the workspace's row and the name after a wiki was created."""
    if hear not in _made:
        _made.append(hear)


def notify_created(workspace: "Workspace", name: str) -> None:
    """Call the registered callbacks for the new wiki *name*."""
    for hear in _made:
        hear(workspace, name)


def register_renamed(hear: Renamed) -> None:
    """Call *hear* with the workspace's row, the old and the new name when a wiki's folder is
    renamed."""
    if hear not in _renamed:
        _renamed.append(hear)


def notify_renamed(workspace: "Workspace", old: str, new: str) -> None:
    for hear in _renamed:
        hear(workspace, old, new)
