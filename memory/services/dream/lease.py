"""The lease of a run: its holder renews a heartbeat and learns when it lost the run.

The database row decides. A lease in Redis for each workspace makes a take-over known at once;
when Redis is down or empty, nobody loses a run.
"""

import contextlib
import logging
import threading
from typing import Self

import redis
from django.db import DatabaseError, connections

from jenny.agent.cancellation import CancellationToken
from jenny.broker import redis_client
from memory.models import DreamRun
from memory.models.dream import BEAT_SECONDS, DEAD_AFTER

log = logging.getLogger(__name__)

_LEASE_MS = int(DEAD_AFTER.total_seconds() * 1000)


def lease_key(workspace: object) -> str:
    return f"jenny:dream:{workspace}"


class LeaseRenewer:
    """Renews one run's lease during the block, and cancels the run when it is lost."""

    def __init__(self, run: DreamRun, watch: CancellationToken) -> None:
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
        """False when the run is known to be another holder's."""
        try:
            if not self._run.beat():
                return False
        except DatabaseError as error:
            # A holder without a heartbeat is dead after a while; every write checks again.
            log.warning("dream.beat_missed", extra={"cause": type(error).__name__})
        finally:
            connections.close_all()
        return self._lease()

    def _lease(self) -> bool:
        """Renew the lease. ``False``: a run with a later epoch has it."""
        try:
            found = redis_client().get(self._key)
            if isinstance(found, bytes) and found.isdigit() and int(found) > self._run.epoch:
                return False
            redis_client().set(self._key, self._value, px=_LEASE_MS)
        except redis.RedisError as error:
            log.info("dream.lease_missed", extra={"cause": type(error).__name__})
        return True
