"""What the pipeline does by itself."""

import contextlib
import logging
import threading
import time

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from jenny.accounts.management import working
from jenny.workspace.errors import WorkspaceError
from memory.management import origins, restoring, snapshots
from memory.management.dreaming import clock, handing, reaping, rehearsing, running
from memory.management.dreaming.heart import WATCHES
from memory.models import SnapshotState

log = logging.getLogger(__name__)

# One scan looks at so many workspaces for so long; the others wait for the next one.
MOST = 2000
SECONDS = 200.0
# One scan at a time in a process: a large workspace may keep it for longer than the time to the
# next one, and the queue's other thread is for what cannot wait (``chat.reap``).
_SCANNING = threading.Lock()


@shared_task(name="memory.snapshots")
def look_at_workspaces() -> None:
    """Look at the workspaces whose turn it is, and take the snapshots that are due.

    While a scan goes on in this process, another does nothing; what it would have looked at
    is looked at five minutes later.
    """
    if not _SCANNING.acquire(blocking=False):
        return
    try:
        _scan()
    finally:
        _SCANNING.release()


def _scan() -> None:
    now = timezone.now()
    ends = time.monotonic() + SECONDS
    SnapshotState.make_missing(now, most=MOST)
    for row in SnapshotState.due(now, most=MOST):
        if time.monotonic() > ends:
            return
        if not row.claim(now):
            continue
        try:
            # Settings that were edited by hand, or restored, move the deadline as well.
            with contextlib.suppress(WorkspaceError):  # said by the look, which meets it too
                clock.keep(row.workspace, timezone.now())
            snapshots.look(row, timezone.now())
        except WorkspaceError as error:
            log.warning(
                "snapshot.failed",
                extra={"workspace": str(row.pk), "cause": type(error).__name__},
            )
        except Exception:  # the task's edge: one workspace's trouble is not the others'
            log.exception("snapshot.failed", extra={"workspace": str(row.pk)})


@shared_task(name="memory.restore")
def restore(job_id: int) -> None:
    """Carry out a restore that was asked for on a page."""
    working.carry_out(job_id, restoring.work)


@shared_task(name="memory.origins")
def keep_origins() -> None:
    """Take over what writes noted of where lines come from, and nobody asked for yet."""
    origins.settle_all()


@shared_task(name="memory.dream")
def dream(run_id: int) -> None:
    """Carry out a queued run of Dream. One that somebody has, or that is over, is left alone."""
    running.execute(run_id)


@shared_task(name="memory.rehearse")
def rehearse(job_id: int) -> None:
    """Carry out a dry run of Dream that was asked for on a page."""
    working.carry_out(job_id, rehearsing.work)


@shared_task(name="memory.due")
def begin_due() -> None:
    """Begin the runs of Dream whose time has come: one indexed query when there are none."""
    clock.tick(start, timezone.now())


@shared_task(name="memory.reap")
def reap() -> None:
    """Take over runs whose holder is dead, tell of outcomes that nobody was told of, and send
    again what was queued and that no worker ever got."""
    reaping.reap()
    handing.send_waiting(dream)


def start(run_id: int) -> None:
    """Hand a queued run to the workers. Without a broker it waits for ``memory.reap``."""
    handing.send(dream, run_id)


@worker_shutting_down.connect
def _end_runs(**_signal: object) -> None:
    """Let the runs under way end as interrupted, with what they wrote in a version."""
    WATCHES.end()
