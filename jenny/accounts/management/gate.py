"""Whether models may be asked in a workspace now: somebody may have paused all calls, and a day's
limit may be used up."""

from pathlib import Path

from jenny.accounts.management import metering
from jenny.accounts.models import Workspace
from jenny.agent.errors import WAITS, CallsPaused, CallsSpent, CancelReason
from jenny.workspace.config import load
from jenny.workspace.errors import WorkspaceError

# The switch in config.json that pauses all calls to models.
PAUSE = "privacy.pauseModelCalls"


def stops(root: Path) -> CancelReason | None:
    """Why a request under way should end. Reading the settings again costs three looks at the
    disk, so that a worker hears of the switch within a second."""
    try:
        return "paused" if load(root).get(PAUSE) else None
    except WorkspaceError:
        return None


def why_calls_wait(row: Workspace) -> str:
    """Why no model is asked in that workspace for now, in a sentence; empty: they may be."""
    reason = stops(row.root)
    return WAITS[reason] if reason else metering.why_spent(row.owner_id)


def check(row: Workspace) -> None:
    """Refuse when no model may be asked in that workspace for now.

    :raises CallsPaused: why, and what was kept.
    """
    if load(row.root).get(PAUSE):
        raise CallsPaused
    if said := metering.why_spent(row.owner_id):
        raise CallsSpent(f"{said} What was said is kept.")
