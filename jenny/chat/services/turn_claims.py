"""Claims a turn with its waiting messages, and takes in later ones."""

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
            row.note_context(turn_context(datetime.now(UTC), zone, "web", related))


def _taken(turn: Turn, conversation: Conversation, step: int) -> list[Message]:
    rows = conversation.waiting_rows()
    for row in rows:
        row.give_to(turn, step)
    return rows
