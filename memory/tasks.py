"""What the pipeline does by itself."""

import logging
import threading
import time

from celery import shared_task
from django.utils import timezone

from jenny.workspace.errors import WorkspaceError
from memory.management import snapshots
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
            snapshots.look(row, timezone.now())
        except WorkspaceError as error:
            log.warning(
                "snapshot.failed",
                extra={"workspace": str(row.pk), "cause": type(error).__name__},
            )
        except Exception:  # the task's edge: one workspace's trouble is not the others'
            log.exception("snapshot.failed", extra={"workspace": str(row.pk)})
