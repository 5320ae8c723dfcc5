"""Decides when a conversation is summarised, and how much of it.

Contains the triggers, the rounds, and the reply to the person who asked.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jenny.accounts.services.usage import why_calls_wait
from jenny.agent.errors import OVERRUN, WAITS, Cancelled
from jenny.agent.run_kinds import RUN_KINDS
from jenny.broker import enqueue
from jenny.chat.models import Conversation, Message, ProjectState, Turn
from jenny.chat.models.consolidation import AGAIN_AFTER, ASKED_AGAIN_AFTER, idle_minutes
from jenny.chat.services import context_window
from jenny.chat.services.consolidation_state import Claim, Outcome, claimed, settle_pointers
from jenny.chat.services.context_window import (
    ContextUsage,
    Pointers,
    Slice,
    find_overflow,
    publish_overflow,
)
from jenny.chat.services.publish import Publisher
from jenny.chat.services.summaries import summarise_slice
from jenny.workspace.errors import WorkspaceError
from memory.models import DreamRun
from memory.models.dream import SEND_AGAIN_AFTER
from memory.services import dream_scheduler

logger = logging.getLogger(__name__)

# "overrun": the model refused the request for its length; nobody waits for a summary then.
# "update": the memory is updated now, so what was just said goes into the history first.
type Trigger = Literal["idle", "pressure", "asked", "overrun", "update"]

# Slices of one consolidation. A slice that gains nothing ends it sooner.
ROUNDS = 5
# Conversations that one sweep enqueues; the others wait for the next one.
SWEPT = 200
# Conversations that are taken in before one update of the memory, the newest first.
MOST_SUMMARISED = 20
# No other conversation is begun after this.
SUMMARY_SECONDS = 600
# Two requests to a model, each with its time limit, and more.
ONE_TAKES = timedelta(minutes=7)
_NOT_SUMMARISED = frozenset({"busy", "claimed", "failed"})
_LATER = "What was said here is kept and summarised later."
# Triggers that ask for one slice only; what comes in meanwhile is another.
_AT_ONE_GO = frozenset({"asked", "overrun", "update"})


def enqueue_due() -> None:
    """Enqueue conversations that were idle long enough, were ended by ``/new``, or whose summary a
    person waits for.
    """
    live = Turn.objects.filter(conversation=OuterRef("pk"), state__in=Turn.LIVE)
    due = Conversation.objects.filter(
        ~Exists(live), consolidate_after__lte=Now(), workspace__deleted_at=None
    )
    rows = due.order_by("consolidate_after").values_list("pk", "reply_id")
    for pk, reply in list(rows[:SWEPT]):
        again = ASKED_AGAIN_AFTER if reply else AGAIN_AFTER
        # The update succeeds for one sweep only, so two sweeps do not enqueue it twice.
        if due.filter(pk=pk).update(consolidate_after=Now() + again):
            enqueue("chat.consolidate", str(pk), "asked" if reply else "idle", reply)


def consolidate(conversation_id: str, trigger: Trigger, reply_id: int = 0) -> None:
    """Summarise a conversation into the history as far as *trigger* asks for it.

    The reply with *reply_id* reports the outcome.
    """
    chat = _chat(conversation_id)
    if chat is None:
        return
    outcome = run(chat, trigger)
    # While another holder has the claim, or seems to, the sweep retries for the first asker.
    is_to_wait = outcome.ending == "claimed" and chat.reply_id == reply_id
    if reply_id and not is_to_wait:
        _tell(chat, reply_id, outcome.message)


def after_turn(turn: Turn) -> None:
    """Summarise the oldest part after a turn when the context is full."""
    chat = turn.conversation
    chat.refresh_from_db(fields=["context_from", "tokens_gone", "branch"])
    if chat.project:
        ProjectState.of(chat.workspace, chat.project).happened()
    with contextlib.suppress(WorkspaceError):
        if turn.reason in OVERRUN:
            enqueue("chat.consolidate", str(chat.pk), "overrun")
        elif ContextUsage(chat).is_on(rows_of(chat, chat.context_from).count()):
            enqueue("chat.consolidate", str(chat.pk), "pressure")
        else:
            publish_overflow(chat, "")


def ask_for(chat: Conversation, reply: Message) -> None:
    """Have the conversation summarised now; *reply* will report the outcome."""
    rows = Conversation.objects.filter(pk=chat.pk)
    rows.update(consolidate_after=Now() + ASKED_AGAIN_AFTER)
    rows.filter(reply_id=0).update(reply_id=reply.pk)
    if not enqueue("chat.consolidate", str(chat.pk), "asked", reply.pk):
        message = "No worker can be reached. What was said here is summarised later."
        _tell(chat, reply.pk, message)


def enqueue_update(run_id: int) -> None:
    """Send a queued Dream run to the workers, behind a task that takes in what was just said."""
    DreamRun.objects.filter(pk=run_id).update(sent_at=Now())
    if not enqueue("chat.take_in", run_id):
        dream_scheduler.enqueue_run(run_id)


def summarise_and_run(run_id: int) -> None:
    """Summarise what was just said in the run's workspace, then send the run."""
    found = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    for dream_run in found.select_related("workspace"):
        summarise_open_conversations(dream_run)
        dream_scheduler.enqueue_run(run_id)


def summarise_open_conversations(dream_run: DreamRun) -> None:
    """Add what the history lacks of open conversations before the run. Their contexts stay as they
    are; one that is being answered waits for its own time. The run's report says how many were not
    taken in."""
    feeding = [name for name, kind in RUN_KINDS.items() if kind.feeds_history]
    unsummarised = Message.objects.filter(
        conversation=OuterRef("pk"),
        is_current=True,
        kind__in=(Message.Kind.USER, Message.Kind.ANSWER),
        pk__gt=OuterRef("summarised_through"),
    )
    rows = Conversation.objects.filter(
        Exists(unsummarised), workspace=dream_run.workspace, kind__in=feeding
    )
    chats = list(rows.select_related("workspace__owner").order_by("-active_at"))
    waiting = DreamRun.objects.filter(pk=dream_run.pk, state=DreamRun.State.QUEUED)
    until = time.monotonic() + SUMMARY_SECONDS
    missed = len(chats)
    for chat in chats[:MOST_SUMMARISED]:
        # Nobody sends the run while it waits for this conversation.
        sent_at = Now() + (ONE_TAKES - SEND_AGAIN_AFTER)
        if time.monotonic() > until or not waiting.update(sent_at=sent_at):
            break
        missed -= run(chat, "update").ending not in _NOT_SUMMARISED
    if missed:
        count = "one conversation" if missed == 1 else f"{missed:,} conversations"
        note = f"What was said last in {count} is not in this update. It follows with a later one."
        waiting.update(notes=[note])


def run(chat: Conversation, trigger: Trigger) -> Outcome:
    """Consolidate in this process and return the outcome. Raises nothing: the task calls it."""
    if trigger != "overrun" and (waits := why_calls_wait(chat.workspace)):
        return Outcome("failed", problem=f"{waits} {_LATER}")
    try:
        with claimed(chat) as claim:
            return _in_rounds(claim, trigger) if claim else Outcome("claimed")
    except Conversation.DoesNotExist:
        return Outcome("failed", problem="The conversation was deleted.")
    except (Cancelled, WorkspaceError) as error:
        logger.warning("consolidation.failed", extra={"cause": type(error).__name__})
        why = error.message if isinstance(error, WorkspaceError) else _ended(error)
    except Exception:
        logger.exception("consolidation.broke", extra={"conversation": str(chat.pk)})
        why = "Something in Jenny itself broke."
    return Outcome("failed", problem=f"{why} {_LATER}")


def _ended(error: Cancelled) -> str:
    return WAITS.get(error.reason, "The process was ended.")


def _in_rounds(claim: Claim, trigger: Trigger) -> Outcome:
    """Summarise slice after slice while each one gains something."""
    total = Outcome()
    piece: Slice | None = None
    settle_pointers(claim)
    for number in range(ROUNDS):
        found = _next(claim.conversation, trigger)
        if found is None:
            return total if number else Outcome("busy")
        chat, piece = found
        if piece is None:
            break
        total = total.plus(summarise_slice(claim, chat, piece, at_once=trigger == "overrun"))
        if trigger in _AT_ONE_GO and not piece.is_past:
            return total
    if trigger == "pressure":
        publish_overflow(
            claim.conversation, find_overflow(claim.conversation) if piece is None else ""
        )
    return total


def _next(known: Conversation, trigger: Trigger) -> tuple[Conversation, Slice | None] | None:
    """Return the conversation as it is now and its next slice; ``None``: a turn is live."""
    with transaction.atomic():
        chat = known.locked()
        if chat.turns.filter(state__in=Turn.LIVE).exists() or chat.waiting().exists():
            return None
        at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
        query = rows_of(chat, min(at.summarised_through + 1, at.context_from))
        rows = list(
            query.select_related("turn").prefetch_related("blocks", "attachments").order_by("pk")
        )
        piece = context_window.past(rows, at)
        if piece is None:
            piece = _CHOICES[trigger](chat, rows, at)
        if piece is None and trigger not in {"pressure", "overrun"}:
            _note_rest(chat, trigger)
    return chat, piece


def rows_of(chat: Conversation, first: int) -> QuerySet[Message]:
    """Return the current messages from that id on: those that a turn took, and its answers."""
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    rows = Message.objects.filter(conversation=chat, pk__gte=first, kind__in=kinds, is_current=True)
    retried = Q(kind=Message.Kind.ANSWER, turn__retried=True)
    return rows.exclude(turn=None).exclude(retried)


def _idle(chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return context_window.whole(rows, at) if chat.may_rest and _is_idle(chat) else None


def _is_idle(chat: Conversation) -> bool:
    """True when nothing happened for the idle time of the present settings."""
    minutes = idle_minutes(chat.workspace.root)
    rested = Conversation.objects.filter(
        pk=chat.pk, active_at__lte=Now() - timedelta(minutes=minutes)
    )
    return minutes > 0 and rested.exists()


def _asked(_chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return context_window.whole(rows, at)


def _pressed(chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    pressure = ContextUsage(chat)
    count = sum(row.pk >= at.context_from for row in rows)
    return context_window.oldest(rows, at, tokens=pressure.surplus, keep=pressure.keep(count))


def _overrun(_chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    """Return half of the conversation's messages that the model was sent."""
    context = [row for row in rows if row.pk >= at.context_from]
    tokens = sum(weight.tokens for weight in context_window.weighed(context))
    return context_window.oldest(rows, at, tokens=max(1, tokens // 2))


def _unsummarised(_chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return context_window.unsummarised(rows, at)


_CHOICES: dict[Trigger, Callable[[Conversation, list[Message], Pointers], Slice | None]] = {
    "idle": _idle,
    "asked": _asked,
    "pressure": _pressed,
    "overrun": _overrun,
    "update": _unsummarised,
}


def _note_rest(chat: Conversation, trigger: Trigger) -> None:
    """Clear the time of the next check, or set it when the idle time is not over yet."""
    rows = Conversation.objects.filter(pk=chat.pk)
    minutes = idle_minutes(chat.workspace.root)
    if trigger == "asked" or not minutes or not chat.may_rest or _is_idle(chat):
        rows.update(consolidate_after=None)
    else:
        rows.update(consolidate_after=chat.active_at + timedelta(minutes=minutes))


def _chat(conversation_id: str) -> Conversation | None:
    rows = Conversation.objects.select_related("workspace__owner")
    return rows.filter(pk=conversation_id, workspace__deleted_at=None).first()


def _tell(chat: Conversation, reply_id: int, sentence: str) -> None:
    Conversation.objects.filter(pk=chat.pk, reply_id=reply_id).update(reply_id=0)
    Message.objects.filter(pk=reply_id, conversation=chat).update(text=sentence)
    for message in Message.objects.filter(pk=reply_id, conversation=chat):
        Publisher(chat).message(message)
