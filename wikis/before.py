"""What others do before a wiki goes, and once one was made: other apps register it, since this one
does not know them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from wikis.errors import WikiError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace

type Keeper = Callable[["Workspace"], str]
type Count = Callable[["Workspace", str], int]
type Take = Callable[["Workspace", str], str]
type Made = Callable[["Workspace", str], None]

_keepers: list[Keeper] = []
_talks: list[tuple[Count, Take]] = []
_made: list[Made] = []


def register_keeper(keeper: Keeper) -> None:
    """Call *keeper* with the workspace's row before a wiki is deleted. It keeps a copy and says so
    in a sentence, or raises ``WorkspaceError``: then nothing is deleted."""
    if keeper not in _keepers:
        _keepers.append(keeper)


def keep(workspace: "Workspace") -> str:
    """Let a copy be kept; what was kept, in a sentence.

    Raises:
        WikiError: nobody keeps one. Nothing may be deleted then.
        WorkspaceError: it could not be kept.
    """
    if not _keepers:
        raise WikiError("No snapshot can be taken here, so nothing was deleted.")
    return " ".join(keeper(workspace) for keeper in _keepers)


def register_talks(count: Count, take: Take) -> None:
    """Let a wiki's page know of the conversations inside it: *count* says how many there are,
    *take* deletes them and says so in a sentence, or raises ``WorkspaceError``."""
    if (count, take) not in _talks:
        _talks.append((count, take))


def talks(workspace: "Workspace", name: str) -> int:
    """How many conversations there are inside the wiki *name*."""
    return sum(count(workspace, name) for count, _ in _talks)


def take_talks(workspace: "Workspace", name: str) -> str:
    """Delete them; what was done, in a sentence.

    Raises:
        WorkspaceError: none was deleted.
    """
    return " ".join(take(workspace, name) for _, take in _talks)


def register_made(hear: Made) -> None:
    """Have *hear* told, by the workspace's row and the name, when a wiki was made."""
    if hear not in _made:
        _made.append(hear)


def made(workspace: "Workspace", name: str) -> None:
    """Let everybody know that the wiki *name* is a new one."""
    for hear in _made:
        hear(workspace, name)
