"""What a turn begins with, and goes on with: the messages that wait, taken for it alone."""

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from jenny.agent.errors import Cancelled
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.prompt import turn_context


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that is this process's alone, and the messages that it begins with."""

    turn: Turn
    rows: list[Message]


def claim(turn_id: int) -> Claimed | None:
    """Claim a queued turn with the messages that wait, both or none; ``None``: it was not to be
    had."""
    with transaction.atomic():
        turn = Turn.claim(turn_id, worker_name())
        if turn is None:
            return None
        return Claimed(turn, _taken(turn, turn.conversation, 0))


def worker_name() -> str:
    """Who holds a lease: this process, and no other that ever had its number."""
    return f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"


def take(turn: Turn, step: int, zone: str) -> list[Message]:
    """Take what came in since, at a later *step*.

    One that was asked to stop, or whose session ``/new`` has ended, takes none: they are for
    the turn that follows.

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


def note_context(rows: Sequence[Message], zone: str) -> None:
    """Store with the newest of the messages what the model is told of clock, *zone* and channel."""
    for row in rows[-1:]:
        with transaction.atomic():
            row.note_context(turn_context(datetime.now(UTC), zone, "web"))


def _taken(turn: Turn, conversation: Conversation, step: int) -> list[Message]:
    """The messages that wait, from now on the turn's."""
    rows = conversation.waiting_rows()
    for row in rows:
        row.give_to(turn, step)
    return rows
