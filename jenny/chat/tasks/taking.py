"""What a turn begins with, and goes on with: the messages that wait, taken for it alone."""

import os
import secrets
import socket
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from jenny.accounts.models import Workspace
from jenny.agent.errors import Cancelled
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.prompt import turn_context
from jenny.workspace import config
from jenny.workspace.errors import WorkspaceError


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


def take(turn: Turn, step: int) -> list[Message]:
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
        return _taken(turn, conversation, step)


def _taken(turn: Turn, conversation: Conversation, step: int) -> list[Message]:
    """The messages that wait, from now on the turn's; with the newest of them it is stored what
    the model is told of clock, zone and channel."""
    rows = conversation.waiting_rows()
    for row in rows:
        if row is rows[-1]:
            zone = _zone_of(turn.conversation.workspace)
            row.context = turn_context(datetime.now(UTC), zone, "web")
        row.give_to(turn, step)
    return rows


def _zone_of(row: Workspace) -> str:
    """The zone of the workspace's settings, or else of its owner."""
    try:
        return str(config.load(row.root).get("agents.defaults.timezone") or row.owner.time_zone)
    except (WorkspaceError, OSError):
        # The turn itself says what is wrong with the folder.
        return row.owner.time_zone
