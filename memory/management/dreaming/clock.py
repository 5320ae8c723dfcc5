"""The clock starts runs: the deadline lies in the database, is caught up once, and moves with the
settings, which start nothing by themselves."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import DatabaseError
from django.utils import timezone

from jenny.accounts.management.gate import why_calls_wait
from jenny.accounts.models import Workspace
from jenny.workspace.config import load
from jenny.workspace.errors import WorkspaceError
from memory.dream import schedule
from memory.dream.schedule import Timing
from memory.management.dreaming.asking import ask
from memory.models import DreamRun, DreamSchedule

log = logging.getLogger(__name__)

# So many runs are handed out at one look; the next look, a minute later, goes on.
MOST = 2000
# A workspace that cannot be read now is looked at again after this.
AGAIN_AFTER = timedelta(minutes=10)
# One in which all calls to models are paused, after this.
PAUSED_FOR = timedelta(minutes=2)


def keep(workspace: Workspace, now: datetime) -> DreamSchedule:
    """The workspace's row, its deadline in step with the settings as they are on disk now.

    :raises WorkspaceError: the settings cannot be read.
    """
    timing = schedule.timing(load(workspace.root), workspace.owner.time_zone)
    row, is_new = DreamSchedule.objects.get_or_create(
        workspace=workspace,
        defaults={
            "next_dream_at": schedule.following(timing, now),
            "timing": timing.as_json(),
        },
    )
    if is_new or row.timing == timing.as_json():
        return row
    was = Timing(**row.timing)
    due = schedule.moved(was, timing, row.next_dream_at, now)
    # Whoever dispatches at this moment has set a deadline of its own; the next look sees to it.
    mine = DreamSchedule.objects.filter(pk=row.pk, next_dream_at=row.next_dream_at)
    if mine.update(next_dream_at=due, timing=timing.as_json()):
        row.next_dream_at, row.timing = due, timing.as_json()
    return row


def shown(workspace: Workspace, now: datetime) -> datetime | None:
    """When the next run is due, for whoever only looks: the row is brought into step where that
    can be written down, and worked out where the disk is full.

    :raises WorkspaceError: the settings cannot be read.
    """
    try:
        return keep(workspace, now).next_dream_at
    except DatabaseError:
        timing = schedule.timing(load(workspace.root), workspace.owner.time_zone)
        row = DreamSchedule.objects.filter(workspace=workspace).first()
        if row is None:
            return schedule.following(timing, now)
        return schedule.moved(Timing(**row.timing), timing, row.next_dream_at, now)


def catch_up(workspace: Workspace) -> None:
    """Calls to models are resumed: a run that was broken off by the pause is made up for now.
    What came due meanwhile was put off by ``PAUSED_FOR``, and begins by itself."""
    runs = DreamRun.objects.filter(workspace=workspace).order_by("-pk")
    if runs.values_list("status", flat=True).first() == "paused":
        rows = DreamSchedule.objects.filter(workspace=workspace, next_dream_at__isnull=False)
        # Not the database's own time, which it may store in fewer digits than are compared.
        rows.update(next_dream_at=timezone.now())


def tick(start: Callable[[int], None], now: datetime) -> int:
    """Begin the runs that are due, each once, and hand them over by *start*; how many."""
    begun = 0
    for row in DreamSchedule.due(now, most=MOST):
        try:
            timing = schedule.timing(load(row.workspace.root), row.workspace.owner.time_zone)
        except WorkspaceError as error:
            row.claim(now + AGAIN_AFTER)
            log.warning(
                "dream.not_due",
                extra={"workspace": str(row.pk), "cause": type(error).__name__},
            )
            continue
        if timing.is_on and why_calls_wait(row.workspace):
            # Stays due, and is made up for once when calls are resumed.
            row.claim(now + PAUSED_FOR)
            continue
        if not row.claim(schedule.following(timing, now)):
            continue
        DreamSchedule.objects.filter(pk=row.pk).update(timing=timing.as_json())
        if not timing.is_on:
            continue
        asked = ask(row.workspace, "scheduled")
        if asked.run is not None:
            start(asked.run.pk)
            begun += 1
    return begun
