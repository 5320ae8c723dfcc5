"""Accepts what a person sends: stores it, enqueues a turn, and publishes it."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import redis
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from jenny.agent.messages import clean
from jenny.broker import enqueue, redis_client
from jenny.chat.models import Attachment, Conversation, Message, Turn
from jenny.chat.services import attachments
from jenny.chat.services.publish import Publisher
from jenny.chat.services.turn_claims import answer_of
from jenny.chat.services.turns import queue_turn
from jenny.chat.stream import cancel_key

log = logging.getLogger(__name__)

# Characters of one message; a model's window holds less.
LONGEST = 1_000_000
TITLE_LENGTH = 60
# The divider that /new adds to the thread.
SESSION_BEGINS = "New session started."


class MessageRefused(ValueError):
    """The text is not accepted; the message is a sentence for the person."""


@dataclass(frozen=True)
class AcceptedMessage:
    """The stored message, and the turn that waits for it (if any)."""

    message: Message
    turn: Turn | None = None
    is_new: bool = True


def check_text(text: str, *, has_files: bool = False) -> str:
    """Return the text as it is stored. A message with files needs none.

    :raises MessageRefused: it is blank or far too long.
    """
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
    if not text.strip() and not has_files:
        message = "There is nothing to send: the message is empty."
        raise MessageRefused(message)
    if len(text) > LONGEST:
        message = (
            f"The message has {len(text):,} characters; at most {LONGEST:,} can be sent at once. "
            "Nothing was sent: put the text into a file, or send it in parts."
        )
        raise MessageRefused(message)
    return text


def accept_message(
    conversation: Conversation,
    text: str,
    client_key: str = "",
    *,
    files: Sequence[Attachment] = (),
    start: Callable[[int], object] = queue_turn,
) -> AcceptedMessage:
    """Store a user's message, for a live turn or for a new one, which *start* gets.

    The same *client_key* twice is one message. *files* wait to be sent with it. A conversation that
    is not saved yet is stored with its first message.

    :raises MessageRefused: see :func:`check_text`.
    :raises WorkspaceError: a file cannot be stored; nothing was sent, and the files still wait.
    """
    text = check_text(text, has_files=bool(files))
    client_key = client_key[:64]
    try:
        attachments.store(conversation, files)
        message, turn, is_new_turn = _store(conversation, text, client_key, files)
    except (IntegrityError, attachments.AttachmentRefused):
        if not (client_key and conversation.has_taken(client_key)):
            raise
        # The form was sent twice, and the first message is stored with the files.
        message = Message.objects.get(conversation=conversation, client_key=client_key)
        return AcceptedMessage(message, message.turn, is_new=False)
    attachments.drop_uploads(files)
    if is_new_turn:
        # Start first: the pages then get the state that the turn has by that time.
        start(turn.pk)
    publisher = Publisher(conversation)
    parts = (publisher.item(message), publisher.state())
    publisher.publish(*parts[: 1 + is_new_turn], number=message.event_number)
    return AcceptedMessage(message, turn)


def begin_turn(conversation: Conversation) -> Turn | None:
    """Create a turn for waiting messages; ``None``: none wait, or a turn is live."""
    with transaction.atomic():
        waiting = conversation.locked().waiting()
        live = conversation.turns.filter(state__in=Turn.LIVE)
        if live.exists() or not waiting.exists():
            return None
        return Turn.objects.create(conversation=conversation)


def _store(
    conversation: Conversation, text: str, client_key: str, files: Sequence[Attachment]
) -> tuple[Message, Turn, bool]:
    """Store message and turn in one transaction; a live turn takes the message in by itself."""
    with transaction.atomic():
        conversation.insert_if_new()
        conversation.bump()
        turn = Turn.live_in(conversation)
        if not conversation.title:
            conversation.title = first_words(text or ", ".join(one.name for one in files))
            Conversation.objects.filter(pk=conversation.pk).update(title=conversation.title)
        message = Message.objects.create(
            conversation=conversation,
            kind=Message.Kind.USER,
            text=text,
            client_key=client_key,
            # A new turn has an event of its own.
            event_number=conversation.next_event_number(1 if turn else 2),
            branch_id=conversation.branch_id,
        )
        attachments.give_to(message, files)
        if turn is not None:
            return message, turn, False
        return message, Turn.objects.create(conversation=conversation), True


def first_words(text: str) -> str:
    """Return the title that is used until the model has made one."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(" .,;:") + "…"


def accept_command(
    conversation: Conversation, typed: str, reply: str, client_key: str = ""
) -> Message:
    """Store a command as it was *typed* and its reply; neither is ever sent to the model.

    The same *client_key* twice is one command: the second call returns the stored one.
    """
    try:
        # Both or none: a stored command without its reply would be dropped as repeated when it is
        # sent again.
        with transaction.atomic():
            command = add_message(conversation, Message.Kind.COMMAND, typed, client_key)
            message = add_message(conversation, Message.Kind.REPLY, reply)
    except IntegrityError:
        return Message.objects.get(conversation=conversation, client_key=client_key)
    publisher = Publisher(conversation)
    publisher.publish(publisher.item(command), publisher.item(message))
    return message


def add_message(conversation: Conversation, kind: str, text: str, client_key: str = "") -> Message:
    """Store a message of the thread that no turn reads.

    :raises IntegrityError: the conversation has a message of this *client_key*
    """
    with transaction.atomic():
        number = conversation.next_event_number()
        Conversation.objects.filter(pk=conversation.pk).update(active_at=Now())
        return Message.objects.create(
            conversation=conversation,
            kind=kind,
            text=text,
            client_key=client_key,
            event_number=number,
            branch_id=conversation.branch_id,
        )


def stop_turn(conversation: Conversation) -> int:
    """Ask the live turn to end, keeping its partial text; return how many were asked (0 or 1)."""
    with transaction.atomic():
        shown = ask_to_end(conversation.locked())
    return publish_end(conversation, shown)


@dataclass(frozen=True)
class EndRequest:
    """The turn that was asked to end: a queued one, which is over, or a running one."""

    over: Turn | None = None
    rows: tuple[Message, ...] = ()
    running: Turn | None = None


def ask_to_end(conversation: Conversation) -> EndRequest:
    """End a queued turn, or ask a running one to end; the caller locks the conversation."""
    live = Turn.live_in(conversation)
    if live is None:
        return EndRequest()
    won = Turn.objects.filter(pk=live.pk, state=Turn.State.QUEUED).update(
        state=Turn.State.STOPPED,
        reason="stopped",
        message="Stopped before it began.",
        can_retry=True,
        ended_at=Now(),
    )
    if not won:
        running = Turn.objects.filter(pk=live.pk, state=Turn.State.RUNNING)
        return EndRequest(running=live) if running.update(cancel_requested=True) else EndRequest()
    waiting = conversation.waiting()
    taken = list(waiting)
    waiting.update(turn=live)
    conversation.rests(conversation.workspace.root)
    live.refresh_from_db()
    return EndRequest(over=live, rows=(*taken, answer_of(live)))


def publish_end(conversation: Conversation, asked: EndRequest) -> int:
    """After that transaction: publish the ending, or signal the worker."""
    if asked.over is not None:
        publisher = Publisher(conversation)
        publisher.publish(*map(publisher.item, asked.rows), publisher.state())
    elif asked.running is not None:
        try:
            redis_client().set(cancel_key(asked.running.pk), 1, ex=3600)
        except redis.RedisError as error:
            # The worker reads the row itself every two seconds.
            log.warning("stop.not_sent", extra={"cause": type(error).__name__})
    else:
        return 0
    return 1


def retry_turn(conversation: Conversation, turn_id: int) -> Turn | None:
    """Run a failed or interrupted turn again, as a new turn for the same messages.

    ``None``: there is nothing to retry, or a turn is live.
    """
    with transaction.atomic():
        conversation.locked()
        if conversation.turns.filter(state__in=Turn.LIVE).exists():
            return None
        asked = conversation.messages.filter(turn=turn_id, kind=Message.Kind.USER, is_current=True)
        if not asked.exists() or not conversation.turns.filter(
            pk=turn_id, can_retry=True, retried=False
        ).update(retried=True):
            return None
        asked.update(turn=None, step=0)
        turn = Turn.objects.create(conversation=conversation)
    queue_turn(turn.pk)
    publisher = Publisher(conversation)
    answers = Message.objects.filter(turn=turn_id, kind=Message.Kind.ANSWER)
    publisher.publish(*map(publisher.item, answers), publisher.state())
    return turn


def start_anew(conversation: Conversation, client_key: str = "") -> Message:
    """Start a new session (``/new``): the thread keeps earlier messages, the model gets none.

    A live turn is stopped. Messages that no turn took are passed over, too. The same *client_key*
    twice is one start: the second call returns its divider.
    """
    with contextlib.suppress(IntegrityError):
        return _start_anew(conversation, client_key)
    return Message.objects.get(conversation=conversation, client_key=client_key)


def _start_anew(conversation: Conversation, client_key: str) -> Message:
    """:raises IntegrityError: the session was started before; nothing was done."""
    with transaction.atomic():
        # One transaction, so that a message is either before the divider or after it.
        asked = ask_to_end(conversation.locked())
        divider = add_message(conversation, Message.Kind.DIVIDER, SESSION_BEGINS, client_key)
        # Earlier messages wait for the history; the sweep enqueues them, also when there is no
        # broker now.
        Conversation.objects.filter(pk=conversation.pk).update(
            context_from=divider.pk,
            session_from=divider.pk,
            tokens_gone=0,
            consolidate_after=Now(),
        )
        newest = conversation.turns.order_by("-pk").first()
        Message.objects.filter(
            conversation=conversation, kind=Message.Kind.USER, turn=None, pk__lt=divider.pk
        ).update(turn=newest)
        conversation.turns.filter(can_retry=True).update(can_retry=False)
    publish_end(conversation, asked)
    Publisher(conversation).message(divider)
    enqueue("chat.consolidate", str(conversation.pk), "idle")
    return divider
