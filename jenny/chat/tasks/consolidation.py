"""Takes conversations into the history, by the order that loses nothing: the entries are on disk
before the pointers move (``02`` §3).

While a model is asked, neither a transaction nor a connection is held, and chat goes on: what
comes in meanwhile lies behind the slice.
"""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from celery import shared_task
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jenny.accounts.access import model_for
from jenny.agent.errors import AgentError, Cancelled
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.chat import slices
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.models.consolidating import AGAIN_AFTER, idle_minutes
from jenny.chat.outcomes import Outcome
from jenny.chat.prompt import zone_of
from jenny.chat.slices import Pointers, Slice
from jenny.chat.tasks.claims import WATCHES, Claim, claimed
from jenny.chat.tasks.lending import give_back
from jenny.chat.tasks.pointers import move, session_of, settle
from jenny.chat.tasks.pressure import Pressure
from jenny.chat.tasks.publish import Publisher, hand_over
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.redact import redact
from memory.history import consolidator, log, recorded, transcript
from memory.history.consolidator import LIMITS, Reply

logger = logging.getLogger(__name__)

type Trigger = Literal["idle", "pressure", "asked"]

# Slices of one act. A slice that gains nothing ends it sooner.
ROUNDS = 5
# Conversations that one sweep hands over; the others are there for the next one.
SWEPT = 200
# Characters for each token of the model's window that a piece of the conversation may take,
# beside the instructions, what is recorded already, and the answer.
_CHARS_A_TOKEN = 2
_LEAST_CHARS = 2_000


@shared_task(name="chat.sweep")
def sweep() -> None:
    """Hand over the conversations that were idle for long enough, or that ``/new`` ended."""
    live = Turn.objects.filter(conversation=OuterRef("pk"), state__in=Turn.LIVE)
    due = Conversation.objects.filter(
        ~Exists(live), consolidate_after__lte=Now(), workspace__deleted_at=None
    )
    for pk in list(due.order_by("consolidate_after").values_list("pk", flat=True)[:SWEPT]):
        # Only the one that moves the stamp sends it, so two sweeps do not send it twice.
        if due.filter(pk=pk).update(consolidate_after=Now() + AGAIN_AFTER):
            hand_over(consolidate, str(pk), "idle")


@shared_task(name="chat.consolidate")
def consolidate(conversation_id: str, trigger: Trigger, reply_id: int = 0) -> None:
    """Take a conversation into the history, as far as *trigger* asks for it; the reply of that
    id says what came of it."""
    chat = _chat(conversation_id)
    if chat is None:
        return
    outcome = run(chat, trigger)
    if reply_id:
        _tell(chat, reply_id, outcome.sentence)


def after_turn(turn: Turn) -> None:
    """A turn is over: have the oldest part summarised when the context is full."""
    chat = turn.conversation
    chat.refresh_from_db(fields=["context_from", "tokens_gone"])
    with contextlib.suppress(WorkspaceError):
        if Pressure(chat).is_on(_rows(chat, chat.context_from).count()):
            hand_over(consolidate, str(chat.pk), "pressure")


def ask_for(chat: Conversation, reply: Message) -> None:
    """Have the conversation summarised now; *reply* will say what came of it."""
    Conversation.objects.filter(pk=chat.pk).update(consolidate_after=Now() + AGAIN_AFTER)
    if not hand_over(consolidate, str(chat.pk), "asked", reply.pk):
        sentence = "No worker can be reached. What was said here is summarised later."
        _tell(chat, reply.pk, sentence)


def run(chat: Conversation, trigger: Trigger) -> Outcome:
    """Do it in this process, and say what came of it. The task's edge: nothing is raised."""
    try:
        with claimed(chat) as claim:
            return _in_rounds(claim, trigger) if claim else Outcome("claimed")
    except Conversation.DoesNotExist:
        return Outcome("failed", problem="The conversation was deleted.")
    except (Cancelled, WorkspaceError) as error:
        logger.warning("consolidation.failed", extra={"cause": type(error).__name__})
        why = error.sentence if isinstance(error, WorkspaceError) else "The process was ended."
    except Exception:
        logger.exception("consolidation.broke", extra={"conversation": str(chat.pk)})
        why = "Something in Jenny itself broke."
    return Outcome("failed", problem=f"{why} What was said here is kept and summarised later.")


def _in_rounds(claim: Claim, trigger: Trigger) -> Outcome:
    total = Outcome()
    settle(claim)
    for number in range(ROUNDS):
        found = _next(claim.conversation, trigger)
        if found is None:
            return total if number else Outcome("busy")
        chat, piece = found
        if piece is None:
            break
        done = _carried_out(claim, chat, piece)
        total = total.plus(done)
    return total


def _next(known: Conversation, trigger: Trigger) -> tuple[Conversation, Slice | None] | None:
    """The conversation as it is now, and what of it is next; ``None``: a turn is under way."""
    with transaction.atomic():
        chat = known.locked()
        if chat.turns.filter(state__in=Turn.LIVE).exists() or chat.waiting().exists():
            return None
        at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
        query = _rows(chat, min(at.summarised_through + 1, at.context_from))
        rows = list(query.select_related("turn").prefetch_related("blocks").order_by("pk"))
        piece = slices.past(rows, at)
        if piece is None:
            piece = _CHOICES[trigger](chat, rows, at)
        if piece is None and trigger != "pressure":
            _note_rest(chat, trigger)
    return chat, piece


def _rows(chat: Conversation, first: int) -> QuerySet[Message]:
    """The messages in force from that id on: those that a turn took, and its answers."""
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    rows = Message.objects.filter(conversation=chat, pk__gte=first, kind__in=kinds, is_current=True)
    retried = Q(kind=Message.Kind.ANSWER, turn__retried=True)
    return rows.exclude(turn=None).exclude(retried)


def _idle(chat: Conversation, rows: list[Message], at: Pointers) -> Slice | None:
    return slices.whole(rows, at) if _is_idle(chat) else None


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


_CHOICES: dict[Trigger, Callable[[Conversation, list[Message], Pointers], Slice | None]] = {
    "idle": _idle,
    "asked": _asked,
    "pressure": _pressed,
}


def _note_rest(chat: Conversation, trigger: Trigger) -> None:
    """Nothing waits any more; or, when it was not idle for long enough, it is looked at later."""
    rows = Conversation.objects.filter(pk=chat.pk)
    minutes = idle_minutes(chat.workspace.root)
    if trigger == "asked" or not minutes or _is_idle(chat):
        rows.update(consolidate_after=None)
    else:
        rows.update(consolidate_after=chat.active_at + timedelta(minutes=minutes))


def _carried_out(claim: Claim, chat: Conversation, piece: Slice) -> Outcome:
    """Summarise a slice, add it to the history, and only then move the pointers."""
    root = chat.workspace.root
    said = [message for row in piece.rows if (message := slices.spoken(row))]
    outcome = Outcome("done")
    if said:
        # The summariser is not shown them either, so that its summary has none to take out.
        secrets = redact(transcript.raw(said)).hits
        config = workspace_config.load(root)
        window = config.get("agents.defaults.contextWindowTokens")
        zone = chat.workspace.owner.time_zone
        made = consolidator.consolidate(
            said,
            _ask(claim, chat),
            conversation=str(chat.pk),
            recorded=recorded.block(root),
            zone=zone_of(log.zone_of(root, zone)),
            chunk_chars=max(_LEAST_CHARS, min(consolidator.CHUNK_CHARS, window * _CHARS_A_TOKEN)),
            prompt_visible=not piece.is_past,
        )
        if made.entries:
            # /new may have come meanwhile: then the next chat starts without it, too.
            is_past = session_of(claim, made.messages) > made.messages[1]
            entries = [replace(one, prompt_visible=not is_past) for one in made.entries]
            added = log.append(root, entries, zone=zone, one_group=True)
            outcome = Outcome(
                "done",
                summaries=sum(entry.kind == "summary" for entry in added.entries),
                raw=sum(entry.kind == "raw" for entry in added.entries),
                secrets=secrets or added.secrets,
            )
    move(claim, chat, piece, outcome.divider)
    facts = {"summaries": outcome.summaries, "raw": outcome.raw, "messages": len(said)}
    logger.info("consolidation.done", extra={"conversation": str(chat.pk), **facts})
    return outcome


def _ask(claim: Claim, chat: Conversation) -> consolidator.Ask:
    """Asks the conversation's own model, with a time limit for each question."""

    def ask(system: SystemPrompt, text: str) -> Reply:
        claim.renew()
        try:
            endpoint, preset = model_for(chat.workspace, chat.preset)
        except WorkspaceError as error:
            raise AgentError("workspace", error.sentence) from error
        give_back()
        with WATCHES.one(LIMITS.seconds) as watch:
            # Thinking would use up the tokens that the summary may take.
            provider = Provider(endpoint, replace(preset, thinking="off"))
            return consolidator.asking(provider, watch)(system, text)

    return ask


def _chat(conversation_id: str) -> Conversation | None:
    rows = Conversation.objects.select_related("workspace__owner")
    return rows.filter(pk=conversation_id, workspace__deleted_at=None).first()


def _tell(chat: Conversation, reply_id: int, sentence: str) -> None:
    """Let the reply say it."""
    Message.objects.filter(pk=reply_id, conversation=chat).update(text=sentence)
    for message in Message.objects.filter(pk=reply_id, conversation=chat):
        Publisher(chat).message(message)
