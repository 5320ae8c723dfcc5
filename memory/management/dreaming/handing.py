"""Queued runs are handed to the workers; the rows, not the queue, say what is to be done."""

import logging

import redis
from celery import Task
from django.db.models import Q
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from memory.management.dreaming.heart import redis_client
from memory.models import DreamRun
from memory.models.dream import SEND_AGAIN_AFTER

log = logging.getLogger(__name__)


def send(task: Task, run_id: int) -> bool:
    """Hand a queued run over. ``False``: there is no broker, and it is sent again later.

    The broker is asked for a sign of life first: Celery's own client would keep a request waiting.
    """
    rows = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    try:
        redis_client().ping()
        task.apply_async((run_id,), retry=False)
    except (redis.RedisError, OperationalError) as error:
        log.warning("task.not_sent", extra={"task": task.name, "cause": type(error).__name__})
        rows.update(sent_at=None)
        return False
    rows.update(sent_at=Now())
    return True


def send_waiting(task: Task) -> None:
    """Send again what was never sent, or was sent long ago and never taken."""
    waiting = DreamRun.objects.filter(state=DreamRun.State.QUEUED).filter(
        Q(sent_at=None) | Q(sent_at__lt=Now() - SEND_AGAIN_AFTER)
    )
    for pk in list(waiting.values_list("pk", flat=True)[:200]):
        # Only the one that moves the stamp sends it, so two reapers do not send it twice.
        if waiting.filter(pk=pk).update(sent_at=Now()) and not send(task, pk):
            return
