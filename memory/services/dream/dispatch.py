"""Sends queued runs to the workers. The rows say what is queued, not the broker."""

from django.db.models import Q
from django.db.models.functions import Now

from jenny.broker import enqueue
from memory.models import DreamRun
from memory.models.dream import SEND_AGAIN_AFTER


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
