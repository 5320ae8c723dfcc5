"""The Celery app: queues, broker, schedule.

Tasks are defined with ``@shared_task(name="chat.run_turn")`` and get ids only; ``task_routes``
names the queue of those that are not for ``maintenance``. A message may come twice (late
acknowledgement), so every task claims its row in the database first.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from kombu.entity import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")

from django.conf import settings

# Longer than the longest run, a turn (30 minutes) or an import: the broker gives a message that
# stays unacknowledged longer to a second worker.
VISIBILITY_TIMEOUT_SECONDS = 6 * 3600

QUEUES = ("chat", "memory", "maintenance")


def queue_threads(chat_threads: int) -> dict[str, int]:
    """Return the threads of each queue's own worker process, so that no queue delays another."""
    return {"chat": chat_threads, "memory": 4, "maintenance": 2}


def broker_url(redis_url: str) -> str:
    """Translate a redis-py URL for the broker: ``unix://`` becomes kombu's ``redis+socket://``."""
    scheme, separator, rest = redis_url.partition("://")
    return f"redis+socket://{rest}" if separator and scheme == "unix" else redis_url


# Tasks that beat starts: row name -> (task, seconds between runs, queue). ``manage.py up`` makes
# the rows of this table and deletes former ones (``jenny.runtime.parts``).
SCHEDULE: dict[str, tuple[str, int, str]] = {
    "chat.reap": ("chat.reap", 5, "maintenance"),
    "chat.sweep": ("chat.sweep", 60, "maintenance"),
    "chat.resume": ("chat.resume", 60, "maintenance"),
    "chat.garden": ("chat.garden", 60, "maintenance"),
    "chat.update_search_indexes": ("chat.update_search_indexes", 3600, "maintenance"),
    "jobs.reap": ("jobs.reap", 30, "maintenance"),
    "memory.reap": ("memory.reap", 10, "maintenance"),
    "memory.snapshots": ("memory.snapshots", 300, "maintenance"),
    "memory.origins": ("memory.origins", 120, "maintenance"),
    "memory.due": ("memory.due", 60, "maintenance"),
    "backup.tidy": ("backup.tidy", 600, "maintenance"),
    "files.tidy": ("files.tidy", 6 * 3600, "maintenance"),
}

app = Celery("jenny", set_as_current=True)
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    # Requests publish tasks: with a dead broker this must fail soon. The task's row is in the
    # database by then, and "chat.reap" enqueues it again.
    broker_connection_timeout=2,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
        "socket_connect_timeout": 2,
        # A server that hangs is given up after this; waiting for work takes one second per call.
        "socket_timeout": 4,
        "socket_keepalive": True,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.2,
        "connect_retries_timeout": 2,
    },
    task_publish_retry_policy={
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.2,
        "retry_errors": None,
    },
    # A worker, on the other hand, waits for its broker without limit.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    task_queues=[Queue(name) for name in QUEUES],  # type: ignore[no-untyped-call]  # kombu has no types
    task_default_queue="maintenance",
    # Work that a person waits for runs in the one worker that has loaded the model client.
    task_routes={
        "chat.run_turn": {"queue": "chat"},
        "chat.make_title": {"queue": "chat"},
        "chat.consolidate": {"queue": "memory"},
        "chat.take_in": {"queue": "memory"},
        "memory.dream": {"queue": "memory"},
        "memory.rehearse": {"queue": "memory"},
        "chat.tidy": {"queue": "memory"},
    },
    task_create_missing_queues=False,
    task_acks_late=True,
    task_reject_on_worker_lost=False,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    result_backend=None,
    task_serializer="json",
    accept_content=["json"],
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    result_expires=None,
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    beat_sync_every=1,
    beat_max_loop_interval=5,
    timezone="UTC",
    enable_utc=True,
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Keep the logging of Django's settings; Celery would add handlers of its own."""
