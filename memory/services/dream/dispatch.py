"""Sends queued runs to the workers. The rows say what is queued, not the broker."""

import logging

import redis
from django.db.models import Q
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from jenny.celery import app
from memory.models import DreamRun
from memory.models.dream import SEND_AGAIN_AFTER
from memory.services.dream.lease import redis_client

log = logging.getLogger(__name__)

_TASK = "memory.dream"


def enqueue_run(run_id: int) -> bool:
    """Send a queued run to the workers. Without a broker it waits for ``memory.reap``."""
    rows = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    try:
        redis_client().ping()
        app.send_task(_TASK, (run_id,), retry=False)
    except (redis.RedisError, OperationalError) as error:
        log.warning("task.not_sent", extra={"task": _TASK, "cause": type(error).__name__})
        rows.update(sent_at=None)
        return False
    rows.update(sent_at=Now())
    return True


def enqueue_waiting_runs() -> None:
    """Send again what was never sent, or was sent long ago and never claimed."""
    waiting = DreamRun.objects.filter(state=DreamRun.State.QUEUED).filter(
        Q(sent_at=None) | Q(sent_at__lt=Now() - SEND_AGAIN_AFTER)
    )
    for pk in list(waiting.values_list("pk", flat=True)[:200]):
        # Only the process that updates the timestamp sends it, so that two do not send it twice.
        if waiting.filter(pk=pk).update(sent_at=Now()) and not enqueue_run(pk):
            return
