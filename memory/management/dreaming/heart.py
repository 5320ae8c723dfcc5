"""The heartbeat of a run: its holder lives, and hears of having lost it.

The row decides. Beside it each workspace has a lease in Redis, by which a run that took over is
heard of at once; Redis that is down, or has forgotten everything, hands nothing over.
"""

import contextlib
import functools
import logging
import threading
from collections.abc import Iterator
from typing import Self

import redis
from django.conf import settings
from django.db import DatabaseError, connections
from redis.backoff import NoBackoff
from redis.retry import Retry

from jenny.agent.watch import Watch
from memory.models import DreamRun
from memory.models.dream import BEAT_SECONDS, DEAD_AFTER

log = logging.getLogger(__name__)

_LEASE_MS = int(DEAD_AFTER.total_seconds() * 1000)


@functools.cache
def redis_client() -> redis.Redis:
    """This process's client; its time limits keep a dead server from holding the heart."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=2,
        socket_connect_timeout=1,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )


def lease_key(workspace: object) -> str:
    """The name of a workspace's lease in Redis."""
    return f"jenny:dream:{workspace}"


class Heart:
    """Beats for one run while the block lasts, and ends its watch when the run is lost."""

    def __init__(self, run: DreamRun, watch: Watch) -> None:
        self._run = run
        self._watch = watch
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"heart {run.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._lease()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=10)
        with contextlib.suppress(redis.RedisError):
            if redis_client().get(self._key) == self._value:
                redis_client().delete(self._key)

    @property
    def _key(self) -> str:
        return lease_key(self._run.workspace_id)

    @property
    def _value(self) -> bytes:
        return str(self._run.epoch).encode()

    def _beat(self) -> None:
        try:
            while not self._over.wait(BEAT_SECONDS):
                if not self._is_mine():
                    log.warning("dream.lost", extra={"run": self._run.pk})
                    self._watch.cancel("lost")
                    return
        finally:
            connections.close_all()

    def _is_mine(self) -> bool:
        """Whether the run is still the holder's, as far as can be known."""
        try:
            if not self._run.beat():
                return False
        except DatabaseError as error:
            # Whoever cannot say that it lives is dead after a while; every write asks again.
            log.warning("dream.beat_missed", extra={"cause": type(error).__name__})
        finally:
            connections.close_all()
        return self._lease()

    def _lease(self) -> bool:
        """Hold the lease for longer. ``False``: a run of a later epoch has it."""
        try:
            found = redis_client().get(self._key)
            if isinstance(found, bytes) and found.isdigit() and int(found) > self._run.epoch:
                return False
            redis_client().set(self._key, self._value, px=_LEASE_MS)
        except redis.RedisError as error:
            log.info("dream.lease_missed", extra={"cause": type(error).__name__})
        return True


class Watches:
    """The runs of this process, so that its end need not wait for them."""

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one(self) -> Iterator[Watch]:
        """A watch for one run."""
        with Watch() as watch:
            with self._lock:
                self._watches.add(watch)
            try:
                yield watch
            finally:
                with self._lock:
                    self._watches.discard(watch)

    def end(self) -> None:
        """The process is to end."""
        with self._lock:
            watches = list(self._watches)
        for watch in watches:
            watch.cancel("shutdown")


WATCHES = Watches()
