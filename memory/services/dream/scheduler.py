"""Starts scheduled runs. Deadlines are in the database: a missed one is caught up once, and
changed settings move it without starting a run."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import DatabaseError
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.accounts.services.usage import why_calls_wait
from jenny.workspace.config import load_config
from jenny.workspace.errors import WorkspaceError
from memory.dream import schedule
from memory.dream.schedule import Timing
from memory.models import DreamRun, DreamSchedule
from memory.services.dream.start_run import start_run

log = logging.getLogger(__name__)

# Runs that one call starts; the next call, a minute later, continues.
MOST = 2000
# Delay for a workspace that cannot be read now.
AGAIN_AFTER = timedelta(minutes=10)
# Delay for a workspace in which model calls are paused.
PAUSED_FOR = timedelta(minutes=2)


def keep_schedule(workspace: Workspace, now: datetime) -> DreamSchedule:
    """Return the workspace's row after adapting its deadline to the settings on disk.

    Raises:
        WorkspaceError: the settings cannot be read.
    """
    timing = schedule.timing(load_config(workspace.root), workspace.owner.time_zone)
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
    # A dispatcher at this moment has set another deadline; the next call adapts it.
    mine = DreamSchedule.objects.filter(pk=row.pk, next_dream_at=row.next_dream_at)
    if mine.update(next_dream_at=due, timing=timing.as_json()):
        row.next_dream_at, row.timing = due, timing.as_json()
    return row


def shown(workspace: Workspace, now: datetime) -> datetime | None:
    """Return the next deadline for display. The row is adapted; on a full disk the deadline is
    only computed.

    Raises:
        WorkspaceError: the settings cannot be read.
    """
    try:
        return keep_schedule(workspace, now).next_dream_at
    except DatabaseError:
        timing = schedule.timing(load_config(workspace.root), workspace.owner.time_zone)
        row = DreamSchedule.objects.filter(workspace=workspace).first()
        if row is None:
            return schedule.following(timing, now)
        return schedule.moved(Timing(**row.timing), timing, row.next_dream_at, now)


def catch_up(workspace: Workspace) -> None:
    """Make up for a run that the pause interrupted, once calls are resumed. Deadlines during the
    pause were postponed by ``PAUSED_FOR``."""
    runs = DreamRun.objects.filter(workspace=workspace).order_by("-pk")
    if runs.values_list("status", flat=True).first() == "paused":
        rows = DreamSchedule.objects.filter(workspace=workspace, next_dream_at__isnull=False)
        # The database's own time may be stored with fewer digits than are compared.
        rows.update(next_dream_at=timezone.now())


def start_due_runs(start: Callable[[int], object], now: datetime) -> int:
    """Start each due run once through *start* and return the count."""
    begun = 0
    for row in DreamSchedule.due(now, most=MOST):
        try:
            timing = schedule.timing(load_config(row.workspace.root), row.workspace.owner.time_zone)
        except WorkspaceError as error:
            row.claim(now + AGAIN_AFTER)
            log.warning(
                "dream.not_due",
                extra={"workspace": str(row.pk), "cause": type(error).__name__},
            )
            continue
        if timing.is_on and why_calls_wait(row.workspace):
            # It stays due, and is caught up once when calls are resumed.
            row.claim(now + PAUSED_FOR)
            continue
        if not row.claim(schedule.following(timing, now)):
            continue
        DreamSchedule.objects.filter(pk=row.pk).update(timing=timing.as_json())
        if not timing.is_on:
            continue
        asked = start_run(row.workspace, "scheduled")
        if asked.run is not None:
            start(asked.run.pk)
            begun += 1
    return begun
