"""What is done before a wiki goes: other apps register it, since this one does not know them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from wikis.errors import WikiError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace

type Keeper = Callable[["Workspace"], str]

_keepers: list[Keeper] = []


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
