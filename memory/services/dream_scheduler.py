"""Starts runs: on request, at their deadline, and again when the broker lost them.

Dream runs every so many hours, or at the times of a cron expression, which is the only thing that
is read in a zone (``jenny.workspace.config.kinds``). Deadlines are in the database: a missed one
is caught up once, and changed settings move it without starting a run. Rows say what is queued,
not the broker.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import DatabaseError
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.accounts.services.usage import why_calls_wait
from jenny.broker import enqueue
from jenny.workspace.config import Config, kinds, load_config
from jenny.workspace.errors import WorkspaceError
from memory.dream import report
from memory.dream.values import Trigger
from memory.models import DreamRun, DreamSchedule
from memory.models.dream import SEND_AGAIN_AFTER
from memory.services.dream_recovery import take_over


def enqueue_run(run_id: int) -> bool:
    """Send a queued run to the workers. Without a broker it waits for ``memory.reap``."""
    rows = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    is_sent = enqueue("memory.dream", run_id)
    rows.update(sent_at=Now() if is_sent else None)
    return is_sent


def enqueue_waiting_runs() -> None:
    """Send again what was never sent, or was sent long ago and never claimed."""
    waiting = DreamRun.objects.filter(state=DreamRun.State.QUEUED).filter(
        Q(sent_at=None) | Q(sent_at__lt=Now() - SEND_AGAIN_AFTER)
    )
    for pk in list(waiting.values_list("pk", flat=True)[:200]):
        # Only the process that updates the timestamp sends it, so that two do not send it twice.
        if waiting.filter(pk=pk).update(sent_at=Now()) and not enqueue_run(pk):
            return


@dataclass(frozen=True)
class StartedRun:
    """The created run, or why there is none; and the live run."""

    run: DreamRun | None
    message: str = ""
    live: DreamRun | None = None


def start_run(workspace: Workspace, trigger: Trigger, asker: str = "") -> StartedRun:
    """Create a run unless one is queued or running; a dead one is taken over first. While model
    calls are paused, none is created.

    *asker* is notified of the outcome (``memory.signals.run_reported``).
    """
    if waits := report.waits(why_calls_wait(workspace)):
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
    return StartedRun(None, report.IS_QUEUED if is_queued else report.IS_RUNNING, live)


@dataclass(frozen=True, slots=True)
class Timing:
    """The settings of Dream's schedule. ``cron`` counts where it is set; ``zone`` is its zone."""

    is_on: bool
    interval_h: int
    cron: str
    zone: str

    def as_json(self) -> dict[str, Any]:
        """For keeping beside the deadline that was worked out from it."""
        return asdict(self)


def parse_timing(settings: Config, account_zone: str) -> Timing:
    """Parse a workspace's settings; without a zone of its own, the account's counts."""
    return Timing(
        is_on=settings.agents.defaults.dream.enabled,
        interval_h=settings.agents.defaults.dream.interval_h,
        cron=settings.agents.defaults.dream.cron or "",
        zone=settings.agents.defaults.timezone or account_zone,
    )


def next_deadline(timing: Timing, now: datetime) -> datetime | None:
    """The deadline after a run that begins *now*, or for a workspace that has none yet; ``None``:
    never."""
    if not timing.is_on:
        return None
    if timing.cron:
        return next(kinds.cron_occurrences(timing.cron, timing.zone, now), None)
    return now + timedelta(hours=timing.interval_h)


def adapt_deadline(
    old: Timing, new: Timing, due: datetime | None, now: datetime
) -> datetime | None:
    """The deadline after the settings changed, which by itself starts nothing.

    Another interval counts from where the old one did, unless that would be over by now.
    """
    if not new.is_on or not old.is_on or due is None or new.cron or old.cron:
        return due if _means_the_same(old, new) else next_deadline(new, now)
    shifted = due + timedelta(hours=new.interval_h - old.interval_h)
    return shifted if shifted > now else next_deadline(new, now)


def list_deadlines(
    timing: Timing, due: datetime | None, now: datetime, count: int
) -> list[datetime]:
    """The next times, the deadline *due* first."""
    if due is None:
        return []
    found = [due]
    if timing.cron:
        found += islice(kinds.cron_occurrences(timing.cron, timing.zone, max(due, now)), count - 1)
    else:
        step = timedelta(hours=timing.interval_h)
        found += [max(due, now) + step * number for number in range(1, count)]
    return found[:count]


def _means_the_same(old: Timing, new: Timing) -> bool:
    if old.is_on != new.is_on or old.cron != new.cron:
        return False
    return old.zone == new.zone if new.cron else old.interval_h == new.interval_h


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
    timing = parse_timing(load_config(workspace.root), workspace.owner.time_zone)
    row, is_new = DreamSchedule.objects.get_or_create(
        workspace=workspace,
        defaults={
            "next_dream_at": next_deadline(timing, now),
            "timing": timing.as_json(),
        },
    )
    if is_new or row.timing == timing.as_json():
        return row
    was = Timing(**row.timing)
    due = adapt_deadline(was, timing, row.next_dream_at, now)
    # A dispatcher at this moment has set another deadline; the next call adapts it.
    mine = DreamSchedule.objects.filter(pk=row.pk, next_dream_at=row.next_dream_at)
    if mine.update(next_dream_at=due, timing=timing.as_json()):
        row.next_dream_at, row.timing = due, timing.as_json()
    return row


def load_next_deadline(workspace: Workspace, now: datetime) -> datetime | None:
    """Return the next deadline for display. The row is adapted; on a full disk the deadline is
    only computed.

    Raises:
        WorkspaceError: the settings cannot be read.
    """
    try:
        return keep_schedule(workspace, now).next_dream_at
    except DatabaseError:
        timing = parse_timing(load_config(workspace.root), workspace.owner.time_zone)
        row = DreamSchedule.objects.filter(workspace=workspace).first()
        if row is None:
            return next_deadline(timing, now)
        return adapt_deadline(Timing(**row.timing), timing, row.next_dream_at, now)


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
            timing = parse_timing(load_config(row.workspace.root), row.workspace.owner.time_zone)
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
        if not row.claim(next_deadline(timing, now)):
            continue
        DreamSchedule.objects.filter(pk=row.pk).update(timing=timing.as_json())
        if not timing.is_on:
            continue
        asked = start_run(row.workspace, "scheduled")
        if asked.run is not None:
            start(asked.run.pk)
            begun += 1
    return begun
