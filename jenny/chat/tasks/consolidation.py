"""When a conversation is summarised, and how much of it: the triggers, the rounds, and the reply
to who asked for it.
"""

import contextlib
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

from celery import shared_task
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jenny.accounts.management.gate import why_calls_wait
from jenny.agent.errors import WAITS, Cancelled
from jenny.chat import slices
from jenny.chat.models import Conversation, Message, ProjectState, Turn
from jenny.chat.models.consolidating import AGAIN_AFTER, ASKED_AGAIN_AFTER, idle_minutes
from jenny.chat.outcomes import Outcome
from jenny.chat.slices import Pointers, Slice
from jenny.chat.tasks.claims import Claim, claimed
from jenny.chat.tasks.crowding import crowding, tell_crowding
from jenny.chat.tasks.pointers import settle
from jenny.chat.tasks.pressure import Pressure
from jenny.chat.tasks.publish import Publisher, hand_over
from jenny.chat.tasks.summarising import carry_out
from jenny.workspace.errors import WorkspaceError

logger = logging.getLogger(__name__)

# "overrun": the model refused the request for its length; nobody waits for a summary then.
type Trigger = Literal["idle", "pressure", "asked", "overrun"]

# Slices of one act. A slice that gains nothing ends it sooner.
ROUNDS = 5
# Conversations that one sweep hands over; the others are there for the next one.
SWEPT = 200
# How a turn ends whose request was too long for its model.
OVERRUN = frozenset({"context_overflow", "too_large"})
_LATER = "What was said here is kept and summarised later."
# Triggers for which one slice is all that was asked for; what comes in meanwhile is another.
_AT_ONE_GO = frozenset({"asked", "overrun"})


@shared_task(name="chat.sweep")
def sweep() -> None:
    """Hand over the conversations that were idle for long enough, that ``/new`` ended, or whose
    summary somebody waits for."""
    live = Turn.objects.filter(conversation=OuterRef("pk"), state__in=Turn.LIVE)
    due = Conversation.objects.filter(
        ~Exists(live), consolidate_after__lte=Now(), workspace__deleted_at=None
    )
    rows = due.order_by("consolidate_after").values_list("pk", "reply_id")
    for pk, reply in list(rows[:SWEPT]):
        again = ASKED_AGAIN_AFTER if reply else AGAIN_AFTER
        # Only the one that moves the stamp sends it, so two sweeps do not send it twice.
        if due.filter(pk=pk).update(consolidate_after=Now() + again):
            hand_over(consolidate, str(pk), "asked" if reply else "idle", reply)


@shared_task(name="chat.consolidate")
def consolidate(conversation_id: str, trigger: Trigger, reply_id: int = 0) -> None:
    """Take a conversation into the history, as far as *trigger* asks for it; the reply of that
    id says what came of it."""
    chat = _chat(conversation_id)
    if chat is None:
        return
    outcome = run(chat, trigger)
    # While another is at it, or seems to be, the sweep asks again for whoever asked first.
    is_to_wait = outcome.ending == "claimed" and chat.reply_id == reply_id
    if reply_id and not is_to_wait:
        _tell(chat, reply_id, outcome.sentence)


def after_turn(turn: Turn) -> None:
    """A turn is over: have the oldest part summarised when the context is full."""
    chat = turn.conversation
    chat.refresh_from_db(fields=["context_from", "tokens_gone", "branch"])
    if chat.project:
        ProjectState.of(chat.workspace, chat.project).happened()
    with contextlib.suppress(WorkspaceError):
        if turn.reason in OVERRUN:
            hand_over(consolidate, str(chat.pk), "overrun")
        elif Pressure(chat).is_on(rows_of(chat, chat.context_from).count()):
            hand_over(consolidate, str(chat.pk), "pressure")
        else:
            tell_crowding(chat, "")


def ask_for(chat: Conversation, reply: Message) -> None:
    """Have the conversation summarised now; *reply* will say what came of it."""
    rows = Conversation.objects.filter(pk=chat.pk)
    rows.update(consolidate_after=Now() + ASKED_AGAIN_AFTER)
    rows.filter(reply_id=0).update(reply_id=reply.pk)
    if not hand_over(consolidate, str(chat.pk), "asked", reply.pk):
        sentence = "No worker can be reached. What was said here is summarised later."
        _tell(chat, reply.pk, sentence)


def run(chat: Conversation, trigger: Trigger) -> Outcome:
    """Do it in this process, and say what came of it. The task's edge: nothing is raised."""
    if trigger != "overrun" and (waits := why_calls_wait(chat.workspace)):
        return Outcome("failed", problem=f"{waits} {_LATER}")
    try:
        with claimed(chat) as claim:
            return _in_rounds(claim, trigger) if claim else Outcome("claimed")
    except Conversation.DoesNotExist:
        return Outcome("failed", problem="The conversation was deleted.")
    except (Cancelled, WorkspaceError) as error:
        logger.warning("consolidation.failed", extra={"cause": type(error).__name__})
        why = error.sentence if isinstance(error, WorkspaceError) else _ended(error)
    except Exception:
        logger.exception("consolidation.broke", extra={"conversation": str(chat.pk)})
        why = "Something in Jenny itself broke."
    return Outcome("failed", problem=f"{why} {_LATER}")


def _ended(error: Cancelled) -> str:
    return WAITS.get(error.reason, "The process was ended.")


def _in_rounds(claim: Claim, trigger: Trigger) -> Outcome:
    """Slice after slice, as long as each one gains something."""
    total = Outcome()
    piece: Slice | None = None
    settle(claim)
    for number in range(ROUNDS):
        found = _next(claim.conversation, trigger)
        if found is None:
            return total if number else Outcome("busy")
        chat, piece = found
        if piece is None:
            break
        total = total.plus(carry_out(claim, chat, piece, at_once=trigger == "overrun"))
        if trigger in _AT_ONE_GO and not piece.is_past:
            return total
    if trigger == "pressure":
        tell_crowding(claim.conversation, crowding(claim.conversation) if piece is None else "")
    return total


def _next(known: Conversation, trigger: Trigger) -> tuple[Conversation, Slice | None] | None:
    """The conversation as it is now, and what of it is next; ``None``: a turn is under way."""
    with transaction.atomic():
        chat = known.locked()
        if chat.turns.filter(state__in=Turn.LIVE).exists() or chat.waiting().exists():
            return None
        at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
        query = rows_of(chat, min(at.summarised_through + 1, at.context_from))
        rows = list(query.select_related("turn").prefetch_related("blocks").order_by("pk"))
        piece = slices.past(rows, at)
        if piece is None:
            piece = _CHOICES[trigger](chat, rows, at)
        if piece is None and trigger not in {"pressure", "overrun"}:
            _note_rest(chat, trigger)
    return chat, piece


def rows_of(chat: Conversation, first: int) -> QuerySet[Message]:
    """The messages in force from that id on: those that a turn took, and its answers."""
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    rows = Message.objects.filter(conversation=chat, pk__gte=first, kind__in=kinds, is_current=True)
    retried = Q(kind=Message.Kind.ANSWER, turn__retried=True)
    return rows.exclude(turn=None).exclude(retried)


def _idle(chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return slices.whole(rows, at) if chat.may_rest and _is_idle(chat) else None


def _is_idle(chat: Conversation) -> bool:
    """Whether nothing happened here for as long as the settings say now."""
    minutes = idle_minutes(chat.workspace.root)
    rested = Conversation.objects.filter(
        pk=chat.pk, active_at__lte=Now() - timedelta(minutes=minutes)
    )
    return minutes > 0 and rested.exists()


def _asked(_chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return slices.whole(rows, at)


def _pressed(chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    pressure = Pressure(chat)
    count = sum(row.pk >= at.context_from for row in rows)
    return slices.oldest(rows, at, tokens=pressure.surplus, keep=pressure.keep(count))


def _overrun(_chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    """Half of what the model was sent of the conversation."""
    context = [row for row in rows if row.pk >= at.context_from]
    tokens = sum(weight.tokens for weight in slices.weighed(context))
    return slices.oldest(rows, at, tokens=max(1, tokens // 2))


_CHOICES: dict[Trigger, Callable[[Conversation, list[Message], Pointers], Slice | None]] = {
    "idle": _idle,
    "asked": _asked,
    "pressure": _pressed,
    "overrun": _overrun,
}


def _note_rest(chat: Conversation, trigger: Trigger) -> None:
    """Nothing waits any more; or, when it was not idle for long enough, it is looked at later."""
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
    """Let the reply say it."""
    Conversation.objects.filter(pk=chat.pk, reply_id=reply_id).update(reply_id=0)
    Message.objects.filter(pk=reply_id, conversation=chat).update(text=sentence)
    for message in Message.objects.filter(pk=reply_id, conversation=chat):
        Publisher(chat).message(message)
