"""Creates a Dream run on request of a chat, a command or the scheduler."""

from dataclasses import dataclass

from jenny.accounts.models import Workspace
from jenny.accounts.services.usage import why_calls_wait
from memory.dream.reports import outcomes
from memory.dream.values import Trigger
from memory.models import DreamRun
from memory.services.dream.recovery import take_over


@dataclass(frozen=True)
class StartedRun:
    """The created run, or why there is none; and the live run."""

    run: DreamRun | None
    message: str = ""
    live: DreamRun | None = None


def start_run(workspace: Workspace, trigger: Trigger, asker: str = "") -> StartedRun:
    """Create a run unless one is queued or running; a dead one is taken over first. While model
    calls are paused, none is created.

    *asker* is notified of the outcome (``memory.dream.reports.notifications``).
    """
    if waits := outcomes.waits(why_calls_wait(workspace)):
        return StartedRun(None, waits)
    run = DreamRun.begin(workspace, trigger, asker)
    if run is not None:
        return StartedRun(run)
    live = DreamRun.live_of(workspace)
    if live is not None and take_over(live):
        live = None
    if live is None:
        run = DreamRun.begin(workspace, trigger, asker)
        if run is not None:
            return StartedRun(run)
        live = DreamRun.live_of(workspace)
    is_queued = live is not None and live.state == DreamRun.State.QUEUED
    return StartedRun(None, outcomes.IS_QUEUED if is_queued else outcomes.IS_RUNNING, live)
