"""Claims a turn with its waiting messages, takes in later ones, and renews its lease."""

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import redis
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, close_old_connections, connections, transaction

from jenny.agent.errors import Cancelled, CancelReason
from jenny.broker import redis_client
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.prompt import turn_context
from jenny.chat.services.publish import PAUSE
from jenny.chat.stream import cancel_key

# Creates the message that holds a turn's answer.


def answer_of(turn: Turn) -> Message:
    """Create an empty answer of *turn* as its conversation's newest message."""
    with transaction.atomic():
        return answer_at(turn, turn.conversation.next_event_number())


def answer_at(turn: Turn, number: int) -> Message:
    """As ``answer_of``, inside the transaction that took the event number *number*."""
    turn.conversation.bump()
    return Message.objects.create(
        conversation=turn.conversation,
        kind=Message.Kind.ANSWER,
        turn=turn,
        branch_id=turn.conversation.branch_id,
        event_number=number,
    )


# The heartbeat of a worker process: one thread that serves all its running turns.
#
# It sends collected text (also while the model pauses), renews the leases, and reads the signals of
# Stop and shutdown. Without a running turn it sleeps.


log = logging.getLogger(__name__)

BEAT_SECONDS = 0.03
CANCEL_SECONDS = 0.2
LEASE_SECONDS = 2.0


class Running(Protocol):
    turn_id: int

    def flush_due(self) -> None: ...

    def renew(self) -> None:
        """Renew the lease; cancel the turn when it is lost or the database has a stop request."""

    def cancel(self, reason: CancelReason) -> None: ...


class TurnHeartbeat:
    def __init__(self) -> None:
        self._running: dict[int, Running] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, running: Running) -> None:
        with self._changed:
            self._running[running.turn_id] = running
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, running: Running) -> None:
        with self._changed:
            self._running.pop(running.turn_id, None)

    def cancel_all(self, reason: CancelReason) -> None:
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
                # A turn claimed a moment ago has its lease and nothing to send yet.
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
        """Keep one turn's errors from the others. A lease that cannot be renewed expires."""
        try:
            act()
        except (DatabaseError, redis.RedisError) as error:
            log.warning("pulse.missed", extra={"cause": type(error).__name__})
        except (Cancelled, ObjectDoesNotExist):
            # The lease was taken, or the conversation deleted: the turn's own thread notices by
            # itself.
            return

    def _hear_cancel(self, running: list[Running]) -> None:
        """Cancel the turns whose Redis key is set.

        Without Redis the lease's renewal finds the request.
        """
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


HEARTBEAT = TurnHeartbeat()


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that this process claimed, and the messages that it begins with."""

    turn: Turn
    rows: list[Message]


def claim_turn(turn_id: int) -> Claimed | None:
    """Claim a queued turn and its waiting messages in one transaction; ``None``: not available."""
    with transaction.atomic():
        turn = Turn.claim(turn_id, worker_name())
        if turn is None:
            return None
        return Claimed(turn, _taken(turn, turn.conversation, 0))


def worker_name() -> str:
    """Return this process's name in leases, unique even when its process id is reused."""
    return f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"


def take_messages(turn: Turn, step: int, zone: str) -> list[Message]:
    """Take the messages that came in, at a later *step*.

    A turn that was asked to stop, or whose session ``/new`` has ended, takes none: they are for the
    turn that follows.

    :raises Cancelled: the turn was taken away; what waits is for the one that follows.
    """
    with transaction.atomic():
        conversation = turn.conversation.locked()
        if not turn.renew(unless_stopped=True):
            if not turn.renew():
                raise Cancelled("lost")
            return []
        if conversation.session_from != turn.conversation.session_from:
            return []
        rows = _taken(turn, conversation, step)
        note_context(rows, zone)
    return rows


def note_context(rows: Sequence[Message], zone: str, related: Sequence[str] = ()) -> None:
    """Store clock, *zone*, channel and *related* lines with the newest message, for the model."""
    for row in rows[-1:]:
        with transaction.atomic():
            row.context = turn_context(datetime.now(UTC), zone, "web", related)
            row.save(update_fields=["context"])


def _taken(turn: Turn, conversation: Conversation, step: int) -> list[Message]:
    rows = list(conversation.waiting())
    for row in rows:
        row.turn, row.step = turn, step
    if rows:
        Message.objects.filter(pk__in=[row.pk for row in rows]).update(turn=turn, step=step)
    return rows
