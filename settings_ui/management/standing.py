"""What the settings have to say on every page."""

from collections.abc import Iterator

from jenny.accounts.management import gate, notices
from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from jenny.agent.errors import PAUSED


def register() -> None:
    """Have it said."""
    notices.register("pause", _paused)


def _paused(workspace: Workspace) -> Iterator[Notice]:
    """Whoever wonders why nobody answers reads it wherever they are."""
    if gate.stops(workspace.root) == "paused":
        yield Notice(
            key="pause",
            kind="warning",
            text=f"{PAUSED} What you write is kept, and answered when they are resumed.",
            href="/settings/privacy/",
            link="Resume",
        )
