"""The connection to Redis of this process, and the queue behind it.

Its timeouts keep a dead server from blocking a request, a turn or a heartbeat. The library's
retries are off, since they multiply (connecting, then asking); the pool checks connections to a
restarted server.
"""

import functools
import logging
from typing import Any

import redis
import redis.asyncio
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from jenny.celery import app

log = logging.getLogger(__name__)

# One for each turn or request that sends at the same time; the library's default is a hundred.
MAX_CONNECTIONS = 2_000
# Each open event stream waits on a connection of its own.
MAX_STREAMS = 20_000
# Seconds for which a stream may wait for its next event.
STREAM_WAIT_SECONDS = 10


_OPTIONS: dict[type[Any], dict[str, Any]] = {
    redis.Redis: {
        "socket_timeout": 2,
        "socket_connect_timeout": 1,
        "health_check_interval": 30,
        "retry": Retry(NoBackoff(), 0),
        "max_connections": MAX_CONNECTIONS,
    },
    redis.asyncio.Redis: {
        "socket_timeout": STREAM_WAIT_SECONDS + 20,
        "socket_connect_timeout": 2,
        "max_connections": MAX_STREAMS,
    },
}


def redis_client() -> redis.Redis:
    client: redis.Redis = _client(redis.Redis, settings.REDIS_URL)
    return client


def stream_client() -> redis.asyncio.Redis:
    """Return this process's client for event streams, whose reads wait for the next event."""
    client: redis.asyncio.Redis = _client(redis.asyncio.Redis, settings.REDIS_URL)
    return client


@functools.cache
def _client(kind: type[Any], url: str) -> Any:
    return kind.from_url(url, **_OPTIONS[kind])


def enqueue(task: str, *arguments: object) -> bool:
    """Enqueue the task of that name.

    ``False``: there is no broker. The rows say what is to be done, and a periodic task sends it
    again as soon as there is one.

    The broker is pinged first: Celery's own client would block a request for six seconds before it
    gives up.
    """
    try:
        redis_client().ping()
        app.send_task(task, arguments, retry=False)
    except (redis.RedisError, OperationalError) as error:
        log.warning("task.not_sent", extra={"task": task, "cause": type(error).__name__})
        return False
    return True
