"""A run is asked for: by a chat, a command, or the clock."""

from dataclasses import dataclass

from jenny.accounts.management.gate import why_calls_wait
from jenny.accounts.models import Workspace
from memory.dream.reporting import outcomes
from memory.dream.values import Trigger
from memory.management.dreaming.reaping import take_over
from memory.models import DreamRun


@dataclass(frozen=True)
class Asked:
    """What came of it: the run that was begun, or why there is none; and the live run."""

    run: DreamRun | None
    sentence: str = ""
    live: DreamRun | None = None


def ask(workspace: Workspace, trigger: Trigger, asker: str = "") -> Asked:
    """Begin a run of the workspace, unless one is queued or under way; a dead one is taken over
    first. While all calls to models are paused, none is begun. *asker* is told of the outcome
    (``memory.dream.reporting.telling``)."""
    if waits := outcomes.waits(why_calls_wait(workspace)):
        return Asked(None, waits)
    run = DreamRun.begin(workspace, trigger, asker)
    if run is not None:
        return Asked(run)
    live = DreamRun.live_of(workspace)
    if live is not None and take_over(live):
        live = None
    if live is None:
        run = DreamRun.begin(workspace, trigger, asker)
        if run is not None:
            return Asked(run)
        live = DreamRun.live_of(workspace)
    is_queued = live is not None and live.state == DreamRun.State.QUEUED
    return Asked(None, outcomes.IS_QUEUED if is_queued else outcomes.IS_RUNNING, live)
