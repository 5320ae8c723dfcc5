"""Finds turns whose worker died, and queued turns that no worker took.

Leases are compared by the database's clock. A dead turn is marked and never run again, since its
tool calls may have had effects.
"""

import json
import logging
from datetime import timedelta
from uuid import UUID

import redis
from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.accounts.services import usage
from jenny.agent.errors import WAITS
from jenny.broker import enqueue, redis_client
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.services.memory_links import record_changes
from jenny.chat.services.publish import Publisher
from jenny.chat.services.send_message import first_words
from jenny.chat.services.turn_claims import answer_of
from jenny.chat.services.turns import queue_turn
from jenny.chat.stream import Position, replay
from jenny.chat.thread import final_html

# Resumes waiting conversations after a pause of all model calls or a daily limit ends.


# Reasons of waiting turns, as their rows have them.
_REASONS = tuple(WAITS)
# The newest conversations may lack a title because of the pause.
_LOOKED_AT = 20
# Workspaces of one sweep; the others wait for the next one.
_SWEPT = 100


def resume_where_possible() -> None:
    """Resume where the cause of waiting has ended by itself.

    This is so when a limit's day is over or the settings were restored. With nothing waiting it is
    one indexed query.
    """
    waiting = Turn.objects.filter(
        reason__in=_REASONS,
        can_retry=True,
        retried=False,
        conversation__deleted_at=None,
        conversation__workspace__deleted_at=None,
    )
    rows = Workspace.objects.filter(pk__in=waiting.values("conversation__workspace"))
    for workspace in list(rows.select_related("owner")[:_SWEPT]):
        if not usage.why_calls_wait(workspace):
            _go_on(workspace)


def resume(workspace: Workspace) -> int:
    """Answer unanswered messages in new turns; return the number of resumed conversations."""
    for pk in _without_title(workspace):
        enqueue("chat.make_title", str(pk))
    return _go_on(workspace)


def _go_on(workspace: Workspace) -> int:
    waiting = Turn.objects.filter(
        conversation__workspace=workspace, reason__in=_REASONS, can_retry=True, retried=False
    )
    chats = Conversation.objects.filter(pk__in=waiting.values("conversation"))
    return sum(_goes_on(chat) for chat in chats.select_related("workspace__owner"))


def _without_title(workspace: Workspace) -> list[UUID]:
    """Return conversations that still have their first words as title after the pause.

    A title made twice does no harm.
    """
    newest = Conversation.objects.filter(workspace=workspace, titled_by_hand=False).annotate(
        done=Count("turns", filter=Q(turns__state=Turn.State.DONE))
    )
    rows = newest.filter(done=1).order_by("-active_at")[:_LOOKED_AT]
    found = []
    for chat in rows:
        first = chat.messages.filter(kind=Message.Kind.USER).order_by("pk").first()
        if first is not None and chat.title == first_words(first.text):
            found.append(chat.pk)
    return found


def _goes_on(chat: Conversation) -> bool:
    """Start one new turn for all waiting messages. ``False``: a turn is live."""
    with transaction.atomic():
        chat.locked()
        if chat.turns.filter(state__in=Turn.LIVE).exists():
            return False
        paused = chat.turns.filter(reason__in=_REASONS, can_retry=True, retried=False)
        ids = list(paused.values_list("pk", flat=True))
        asked = chat.messages.filter(turn__in=ids, kind=Message.Kind.USER, is_current=True)
        if not asked.exists():
            return False
        asked.update(turn=None, step=0)
        chat.turns.filter(pk__in=ids).update(retried=True)
        turn = Turn.objects.create(conversation=chat)
    queue_turn(turn.pk)
    publisher = Publisher(chat)
    answers = Message.objects.filter(turn__in=ids, kind=Message.Kind.ANSWER)
    publisher.publish(*map(publisher.item, answers), publisher.state())
    return True


log = logging.getLogger(__name__)

# A lease is renewed every two seconds; a person should know of its end within fifteen.
SECONDS_TO_LIVE = 8
# A queued turn that nobody took is enqueued again this often.
SECONDS_TO_QUEUE = 15

SENTENCE = "The worker that wrote this answer was lost. What was written is kept."


def recover_turns() -> None:
    """End turns whose lease expired; enqueue again the ones that were never taken."""
    dead = Now() - timedelta(seconds=SECONDS_TO_LIVE)
    for turn in Turn.objects.filter(state=Turn.State.RUNNING, heartbeat_at__lt=dead).select_related(
        "conversation"
    ):
        try:
            interrupt_turn(turn)
        except Conversation.DoesNotExist:
            continue
        except Exception:
            # An error in one turn must not delay the others.
            log.exception("reap.broke", extra={"turn": turn.pk})
    waiting_too_long = Now() - timedelta(seconds=SECONDS_TO_QUEUE)
    # Compared inside the database only: its "now" may be rounded on the way here.
    queued = Turn.objects.filter(state=Turn.State.QUEUED).filter(
        Q(heartbeat_at=None, created_at__lt=Now() - timedelta(seconds=3))
        | Q(heartbeat_at__lt=waiting_too_long)
    )
    for pk in list(queued.values_list("pk", flat=True)):
        # The update succeeds for one process only, so two of them do not enqueue it twice.
        if queued.filter(pk=pk).update(heartbeat_at=Now()):
            queue_turn(pk)


def interrupt_turn(turn: Turn) -> bool:
    """Mark a running turn whose lease expired as interrupted, keeping its partial text.

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
    # the lease, so a write in between stops the recovery.
    unstored = {
        block.pk: _unstored_text(block, str(turn.conversation_id))
        for block in turn.blocks.filter(is_open=True, kind=Block.Kind.TEXT)
    }
    with transaction.atomic():
        conversation = turn.conversation.locked()
        won = lost.update(
            state=Turn.State.INTERRUPTED,
            reason="lost",
            message=SENTENCE,
            can_retry=True,
            ended_at=Now(),
        )
        if not won:
            return False
        for block in turn.blocks.filter(is_open=True):
            close_block(block, unstored.get(block.pk, ""))
        turn.refresh_from_db()
        follower = turn.follow(conversation)
    record_changes(turn)
    if follower is not None:
        queue_turn(follower.pk)
    # Its worker may have died before it published that it took them.
    rows = list(Message.objects.filter(turn=turn).order_by("pk"))
    if not any(row.kind == Message.Kind.ANSWER for row in rows):
        rows.append(answer_of(turn))
    publisher = Publisher(turn.conversation)
    publisher.publish(*map(publisher.item, rows), publisher.state())
    return True


def close_block(
    block: Block, unstored: str = "", *, result: str = "Not finished: the worker was lost."
) -> None:
    """Close a block that its worker left open, with the text that only the stream has.

    A tool call gets the *result*.
    """
    if block.kind == Block.Kind.TEXT:
        block.text += unstored
        block.html = final_html(block)
    elif block.kind == Block.Kind.TOOL:
        block.data |= {"ok": False, "result": result}
    block.is_open = False
    block.save(update_fields=["text", "html", "data", "is_open"])


def _unstored_text(block: Block, conversation: str) -> str:
    """Return the block's text that was sent after its row was last stored."""
    try:
        entries = replay(
            redis_client(), conversation, Position(block.event_number, block.event_count)
        )
    except redis.RedisError:
        return ""
    events = (json.loads(entry.data) for entry in entries if entry.data)
    return "".join(
        event.get("source", "") for event in events if event.get("block") == f"b{block.pk}"
    )
