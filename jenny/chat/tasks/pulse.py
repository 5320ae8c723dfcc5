"""The pulse of a worker process: one thread that serves all its running turns.

It sends text that waits (so that a model that pauses does not hold back its last words),
renews the leases, and hears of Stop and of shutdown. Without a running turn it sleeps.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

import redis
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, close_old_connections, connections

from jenny.agent.errors import Cancelled, CancelReason
from jenny.chat.stream import cancel_key
from jenny.chat.tasks.publish import PAUSE, redis_client

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.03
CANCEL_SECONDS = 0.2
LEASE_SECONDS = 2.0


class Running(Protocol):
    """A turn under way, as the pulse sees it."""

    turn_id: int

    def flush_due(self) -> None:
        """Send and store what waits."""

    def renew(self) -> None:
        """Renew the lease and hear of a stop that only the database knows; stop when lost."""

    def cancel(self, reason: CancelReason) -> None:
        """Ask the turn to end."""


class Pulse:
    """See the module."""

    def __init__(self) -> None:
        self._running: dict[int, Running] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, running: Running) -> None:
        """Serve *running* from now on."""
        with self._changed:
            self._running[running.turn_id] = running
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, running: Running) -> None:
        """Serve *running* no longer."""
        with self._changed:
            self._running.pop(running.turn_id, None)

    def cancel_all(self, reason: CancelReason) -> None:
        """Ask every turn of this process to end."""
        for running in self._snapshot():
            running.cancel(reason)

    def _snapshot(self) -> list[Running]:
        with self._changed:
            return list(self._running.values())

    def _beat(self) -> None:
        next_cancel = next_lease = 0.0
        while True:
            with self._changed:
                is_new = not self._running
                while not self._running:
                    connections.close_all()
                    self._changed.wait()
            if is_new:
                # A turn that was claimed a moment ago has its lease, and nothing to send yet.
                time.sleep(BEAT_SECONDS)
                next_lease = time.monotonic() + LEASE_SECONDS
                next_cancel = 0.0
            now = time.monotonic()
            running = self._snapshot()
            # First, since nothing else here may cost a turn its lease.
            if now >= next_lease:
                next_lease = now + LEASE_SECONDS
                close_old_connections()
                for turn in running:
                    self._guarded(turn.renew)
            for turn in running:
                self._guarded(turn.flush_due)
            if now >= next_cancel:
                next_cancel = now + CANCEL_SECONDS
                self._hear_cancel(running)
            time.sleep(max(0.0, BEAT_SECONDS - (time.monotonic() - now)))

    def _guarded(self, act: Callable[[], None]) -> None:
        """One turn's trouble must not stop the pulse of the others; a lease that cannot be
        renewed runs out by itself."""
        try:
            act()
        except (DatabaseError, redis.RedisError) as error:
            log.warning("pulse.missed", extra={"cause": type(error).__name__})
        except (Cancelled, ObjectDoesNotExist):
            # The turn is no longer ours, or its conversation was deleted: its own thread
            # finds that out by itself.
            return

    def _hear_cancel(self, running: list[Running]) -> None:
        """Stop the turns whose key is set. Without Redis the lease's renewal hears of it."""
        if PAUSE.is_on:
            return
        try:
            flags = redis_client().mget([cancel_key(turn.turn_id) for turn in running])
        except redis.RedisError:
            PAUSE.begin()
            return
        for turn, flag in zip(running, flags, strict=True):
            if flag:
                turn.cancel("stop")


PULSE = Pulse()
