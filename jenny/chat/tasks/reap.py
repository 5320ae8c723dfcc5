"""Finds turns whose worker is gone, and turns that no worker ever got.

Leases are compared by the database's clock. A dead turn is marked, never run again: what
it did so far may have had effects.
"""

import json
import logging
from datetime import timedelta

import redis
from celery import shared_task
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.stream import Position, replay
from jenny.chat.tasks.answers import answer_of
from jenny.chat.tasks.changed import note_changes
from jenny.chat.tasks.publish import Publisher, redis_client
from jenny.chat.tasks.turns import queue_turn
from jenny.chat.thread import renderer_of

log = logging.getLogger(__name__)

# A lease is renewed every two seconds; the person is to know within fifteen.
SECONDS_TO_LIVE = 8
# A queued turn that nobody took is sent to the queue again this often.
SECONDS_TO_QUEUE = 15

SENTENCE = "The worker that wrote this answer was lost. What was written is kept."


@shared_task(name="chat.reap")
def reap() -> None:
    """End the turns whose lease ran out; send again the ones that were never taken."""
    dead = Now() - timedelta(seconds=SECONDS_TO_LIVE)
    for turn in Turn.objects.filter(state=Turn.State.RUNNING, heartbeat_at__lt=dead).select_related(
        "conversation"
    ):
        try:
            interrupt(turn)
        except Conversation.DoesNotExist:
            continue
        except Exception:
            # The others must not wait for one that cannot be ended.
            log.exception("reap.broke", extra={"turn": turn.pk})
    unheard = Now() - timedelta(seconds=SECONDS_TO_QUEUE)
    # Compared by the database alone: what it stored as "now" may be rounded on its way here.
    queued = Turn.objects.filter(state=Turn.State.QUEUED).filter(
        Q(heartbeat_at=None, created_at__lt=Now() - timedelta(seconds=3))
        | Q(heartbeat_at__lt=unheard)
    )
    for pk in list(queued.values_list("pk", flat=True)):
        # Only the one that moves the stamp sends it, so two reapers do not send it twice.
        if queued.filter(pk=pk).update(heartbeat_at=Now()):
            queue_turn(pk)


def interrupt(turn: Turn) -> bool:
    """Mark a running turn whose lease ran out as interrupted, keeping its partial text.

    ``False``: its holder renewed the lease or ended it meanwhile.
    """
    lost = Turn.objects.filter(
        pk=turn.pk,
        state=Turn.State.RUNNING,
        heartbeat_at__lt=Now() - timedelta(seconds=SECONDS_TO_LIVE),
    )
    if not lost.exists():
        return False
    # Read before the transaction, which must not wait for Redis. Each write of the holder renews
    # the lease: if one came in between, nothing is won.
    unstored = {
        block.pk: _unstored_text(block, str(turn.conversation_id))
        for block in turn.blocks.filter(is_open=True, kind=Block.Kind.TEXT)
    }
    with transaction.atomic():
        turn.conversation.locked()
        won = lost.update(
            state=Turn.State.INTERRUPTED,
            reason="lost",
            sentence=SENTENCE,
            can_retry=True,
            ended_at=Now(),
        )
        if not won:
            return False
        for block in turn.blocks.filter(is_open=True):
            _close(block, unstored.get(block.pk, ""))
        turn.refresh_from_db()
        follower = turn.follow()
    note_changes(turn)
    if follower is not None:
        queue_turn(follower.pk)
    # Its worker may have died before it told that it took them.
    rows = list(Message.objects.filter(turn=turn).order_by("pk"))
    if not any(row.kind == Message.Kind.ANSWER for row in rows):
        rows.append(answer_of(turn))
    publisher = Publisher(turn.conversation)
    publisher.tell(*map(publisher.item, rows), publisher.state())
    return True


def _close(block: Block, unstored: str) -> None:
    """Close a block that its worker left open, with the text that only the stream has."""
    if block.kind == Block.Kind.TEXT:
        block.text += unstored
        block.html = renderer_of(block).finish()
    elif block.kind == Block.Kind.TOOL:
        block.data |= {"ok": False, "result": "Not finished: the worker was lost."}
    block.is_open = False
    block.save(update_fields=["text", "html", "data", "is_open"])


def _unstored_text(block: Block, conversation: str) -> str:
    """What the page was told of the block since its row was last stored."""
    try:
        entries = replay(
            redis_client(), conversation, Position(block.event_number, block.event_count)
        )
    except redis.RedisError:
        return ""
    told = (json.loads(entry.data) for entry in entries if entry.data)
    return "".join(
        event.get("source", "") for event in told if event.get("block") == f"b{block.pk}"
    )
