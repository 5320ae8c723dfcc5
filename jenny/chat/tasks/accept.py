"""Takes in what a person sends: stored first, then queued, then shown."""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

import redis
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from jenny.agent.messages import clean
from jenny.chat import commands
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.stream import cancel_key
from jenny.chat.tasks.answers import answer_of
from jenny.chat.tasks.publish import Publisher, redis_client
from jenny.chat.tasks.turns import queue_turn

log = logging.getLogger(__name__)

# Characters of one message; a model's window holds less.
LONGEST = 1_000_000
TITLE_LENGTH = 60


class Refused(ValueError):
    """The text cannot be taken; the message is a sentence for the person."""


@dataclass(frozen=True)
class Accepted:
    """What became of a text: the stored message, and the turn that waits for it (if any)."""

    message: Message
    turn: Turn | None = None
    is_new: bool = True


def check_text(text: str) -> str:
    """The text as it is stored. :raises Refused: it is blank or far too long."""
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
    if not text.strip():
        message = "There is nothing to send: the message is empty."
        raise Refused(message)
    if len(text) > LONGEST:
        message = (
            f"The message has {len(text):,} characters; at most {LONGEST:,} can be sent at once. "
            "Nothing was sent: put the text into a file, or send it in parts."
        )
        raise Refused(message)
    return text


def accept(
    conversation: Conversation,
    text: str,
    client_key: str = "",
    *,
    start: Callable[[int], object] = queue_turn,
) -> Accepted:
    """Store a user's message and see that a turn will read it: one that runs already, or a
    new one, which *start* is given to.

    The same *client_key* twice is one message. :raises Refused:
    """
    text = check_text(text)
    try:
        message, turn, is_new_turn = _store(conversation, text, client_key[:64])
    except IntegrityError:
        # The form was sent twice, and the first is stored.
        message = Message.objects.get(conversation=conversation, client_key=client_key[:64])
        return Accepted(message, message.turn, is_new=False)
    publisher = Publisher(conversation)
    publisher.message(message)
    if is_new_turn:
        publisher.turn_state(turn)
        start(turn.pk)
    return Accepted(message, turn)


def begin_turn(conversation: Conversation) -> Turn | None:
    """A new turn for messages that wait without one; ``None``: none wait, or a turn is live."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        waiting = Message.objects.filter(
            conversation=conversation, kind=Message.Kind.USER, turn=None
        )
        live = conversation.turns.filter(state__in=Turn.LIVE)
        if live.exists() or not waiting.exists():
            return None
        return Turn.objects.create(conversation=conversation)


def _store(conversation: Conversation, text: str, client_key: str) -> tuple[Message, Turn, bool]:
    """Message and turn in one transaction; a live turn takes the message in by itself."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        message = Message.objects.create(
            conversation=conversation,
            kind=Message.Kind.USER,
            text=text,
            client_key=client_key,
            event_number=conversation.next_event_number(),
        )
        changes: dict[str, object] = {"active_at": Now()}
        if not conversation.title:
            conversation.title = first_words(text)
            changes["title"] = conversation.title
        Conversation.objects.filter(pk=conversation.pk).update(**changes)
        turn = conversation.turns.filter(state__in=Turn.LIVE).first()
        if turn is not None:
            return message, turn, False
        return message, Turn.objects.create(conversation=conversation), True


def first_words(text: str) -> str:
    """A title until the model has made one."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(" .,;:") + "…"


def accept_command(
    conversation: Conversation, call: commands.Call, reply: str, client_key: str = ""
) -> Message:
    """Store a command and its reply; neither is ever sent to the model.

    The same *client_key* twice is one command: the second time the stored one is returned.
    """
    publisher = Publisher(conversation)
    typed = f"{call.command.name} {call.argument}".rstrip()
    try:
        publisher.message(add(conversation, Message.Kind.COMMAND, typed, client_key))
    except IntegrityError:
        return Message.objects.get(conversation=conversation, client_key=client_key)
    message = add(conversation, Message.Kind.REPLY, reply)
    publisher.message(message)
    return message


def add(conversation: Conversation, kind: str, text: str, client_key: str = "") -> Message:
    """Store a message of the thread that no turn reads.

    :raises IntegrityError: the conversation has a message of this *client_key*
    """
    with transaction.atomic():
        number = conversation.next_event_number()
        if not conversation.title:
            conversation.title = first_words(text)
        Conversation.objects.filter(pk=conversation.pk).update(
            active_at=Now(), title=conversation.title
        )
        return Message.objects.create(
            conversation=conversation,
            kind=kind,
            text=text,
            client_key=client_key,
            event_number=number,
        )


def stop(conversation: Conversation) -> int:
    """Ask the live turn to end; how many were asked (0 or 1). Its partial text is kept."""
    asked = 0
    for turn in conversation.turns.filter(state__in=Turn.LIVE):
        if _stop_queued(turn):
            asked += 1
            continue
        asked += Turn.objects.filter(pk=turn.pk, state=Turn.State.RUNNING).update(
            cancel_requested=True
        )
        try:
            redis_client().set(cancel_key(turn.pk), 1, ex=3600)
        except redis.RedisError as error:
            # The worker reads the row itself every two seconds.
            log.warning("stop.not_sent", extra={"cause": type(error).__name__})
    return asked


def _stop_queued(turn: Turn) -> bool:
    """End a turn that no worker has taken yet. ``False``: one has."""
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=turn.conversation_id)
        if not Turn.objects.filter(pk=turn.pk, state=Turn.State.QUEUED).update(
            state=Turn.State.STOPPED,
            reason="stopped",
            sentence="Stopped before it began.",
            can_retry=True,
            ended_at=Now(),
        ):
            return False
        waiting = Message.objects.filter(
            conversation=conversation, kind=Message.Kind.USER, turn=None
        )
        taken = list(waiting)
        waiting.update(turn=turn)
        turn.refresh_from_db()
        answer = answer_of(turn)
    publisher = Publisher(conversation)
    for message in (*taken, answer):
        publisher.message(message)
    publisher.turn_state(turn)
    return True


def retry(conversation: Conversation, turn_id: int) -> Turn | None:
    """Run a turn that failed or was interrupted once more, as a new turn for the same
    messages. ``None``: there is nothing to retry, or something runs already."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        if conversation.turns.filter(state__in=Turn.LIVE).exists():
            return None
        if not conversation.turns.filter(pk=turn_id, can_retry=True, retried=False).update(
            retried=True
        ):
            return None
        Message.objects.filter(turn=turn_id, kind=Message.Kind.USER).update(turn=None, step=0)
        turn = Turn.objects.create(conversation=conversation)
    publisher = Publisher(conversation)
    for message in Message.objects.filter(turn=turn_id, kind=Message.Kind.ANSWER):
        publisher.message(message)
    publisher.turn_state(turn)
    queue_turn(turn.pk)
    return turn


def start_anew(conversation: Conversation, client_key: str = "") -> Message:
    """``/new``: what was said so far is no longer sent to the model; the thread keeps it.

    A live turn is stopped. Messages that no turn took are passed over with the rest. The same
    *client_key* twice is one start: the second time its divider is returned.
    """
    with contextlib.suppress(Message.DoesNotExist):
        if client_key:
            # A live turn that began since must not be stopped by the repetition.
            return Message.objects.get(conversation=conversation, client_key=client_key)
    stop(conversation)
    divider = add(conversation, Message.Kind.DIVIDER, "New session started.", client_key)
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(context_from=divider.pk)
        newest = conversation.turns.order_by("-pk").first()
        Message.objects.filter(
            conversation=conversation, kind=Message.Kind.USER, turn=None, pk__lt=divider.pk
        ).update(turn=newest)
        conversation.turns.filter(can_retry=True).update(can_retry=False)
    Publisher(conversation).message(divider)
    return divider
