"""Sends the events of a conversation through Redis, numbered by the database.

Without Redis the pages only lose their live view: the rows are stored first, and the next event
that arrives makes every page render anew.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime, tzinfo

import redis
from django.core.exceptions import ObjectDoesNotExist, ObjectNotUpdated
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone

from jenny.agent.clock import zone_of
from jenny.broker import redis_client
from jenny.chat import stream, thread
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.stream import Position, Sent, Writer, encode, key

# Renders messages and blocks as HTML for pages that follow a conversation.


def render_item(message: Message, conversation: Conversation) -> str:
    """Return a message as HTML as the page shows it, without the parts that need a request.

    :raises Message.DoesNotExist: it was deleted.
    """
    fresh = Message.objects.select_related("turn").get(pk=message.pk)
    fresh.conversation = conversation
    zone = zone_of(conversation.workspace.owner.time_zone)
    is_last, blocks = True, []
    if fresh.kind == Message.Kind.ANSWER:
        blocks = list(fresh.blocks.order_by("pk"))
        later = conversation.messages.filter(
            is_current=True, pk__gt=fresh.pk, turn=fresh.turn_id, kind=Message.Kind.ANSWER
        )
        is_last = fresh.turn_id is None or not later.exists()
    item = thread.item(fresh, day=_new_day(fresh, zone), is_last=is_last, blocks=blocks)
    with timezone.override(zone):
        return render_to_string("chat/thread.html#item", {"item": item})


def render_newest(
    message: Message, blocks: Sequence[Block], *, after: Message | None = None
) -> str:
    """Render the thread's newest message, which was just stored with these *blocks*.

    *after*: an earlier message. When it is of the same day, so is whatever lies between them.
    """
    zone = zone_of(message.conversation.workspace.owner.time_zone)
    is_same_day = after is not None and _day_of(after.created_at, zone) == _day_of(
        message.created_at, zone
    )
    day = None if is_same_day else _new_day(message, zone)
    item = thread.item(message, day=day, blocks=blocks, summaries=())
    with timezone.override(zone):
        return render_to_string("chat/thread.html#item", {"item": item})


def _new_day(message: Message, zone: tzinfo) -> date | None:
    """Return the day of *message* when it differs from that of the message before it."""
    earlier = Message.objects.filter(
        conversation=message.conversation_id, is_current=True, pk__lt=message.pk
    )
    before = earlier.order_by("-pk").values_list("created_at", flat=True).first()
    day = _day_of(message.created_at, zone)
    return None if before is not None and _day_of(before, zone) == day else day


def _day_of(time: datetime, zone: tzinfo) -> date:
    return time.astimezone(zone).date()


def render_block(block: Block) -> str:
    return render_to_string("chat/thread.html#block", {"block": thread.block_view(block)})


log = logging.getLogger(__name__)

# Seconds without an attempt after Redis failed; events are only stored meanwhile.
SECONDS_AFTER_FAULT = 1.0
# The row of the event was deleted with its conversation, so nobody needs the event.
GONE = (ObjectDoesNotExist, ObjectNotUpdated)
# Seconds in which pages that show a deleted conversation can receive the event about it.
SECONDS_GONE = 60
# By so much its number is above the newest one that the deleting process knows.
NUMBERS_GONE = 1_000_000
# Reads the content of an event from the database.
type MakeEvent = Callable[[], stream.Event]
type Renumber = Callable[[], Position]


class Pause:
    """After a failure nothing in this process asks Redis for a moment.

    A failed attempt takes seconds. The heartbeat, which asks for each of its turns, would miss
    their leases meanwhile.
    """

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        self._until = time.monotonic() + SECONDS_AFTER_FAULT

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self._until


PAUSE = Pause()


class Publisher:
    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._writer = Writer(redis_client(), str(conversation.pk))
        self._gap = False

    def send(
        self, position: Position, make_events: Callable[[], list[stream.Event]], renumber: Renumber
    ) -> None:
        """Send what *tell* reads, at *position*.

        *renumber* returns a newer position; it is called when the stream contains something newer,
        or lost its entries. *tell* reads after each number is taken, so a higher number always has
        a later state, and a late writer cannot replace it by an older one.
        """
        if PAUSE.is_on:
            self._gap = True
            return
        try:
            for _ in range(5):
                sent = self._writer.append(position, *make_events(), after_gap=self._gap)
                if sent is Sent.SENT:
                    self._gap = False
                    return
                self._gap = self._gap or sent is Sent.LOST
                position = renumber()
        except redis.RedisError as error:
            self._gap = True
            PAUSE.begin()
            log.warning("events.not_sent", extra={"cause": type(error).__name__})

    def publish(
        self, *parts: MakeEvent, number: int | None = None, first: Position | None = None
    ) -> None:
        """Send the events that *parts* read from the database, in one call.

        *number*: the last of the event numbers taken with the stored rows; or *first*: the position
        of the first event. Without either, numbers are taken here.
        """
        if not parts:
            return
        before = len(parts) - 1

        def renumber() -> Position:
            with transaction.atomic():
                return Position(self.conversation.next_event_number(len(parts)) - before)

        with contextlib.suppress(*GONE):
            begin = first or (Position(number - before) if number else renumber())
            self.send(begin, lambda: [part() for part in parts], renumber)

    def item(self, message: Message) -> MakeEvent:
        """Return a reader for a message of the thread."""
        return lambda: stream.item(f"m{message.pk}", render_item(message, self.conversation))

    def state(self) -> MakeEvent:
        """Return a reader for the newest turn's state: waiting, running or over."""
        return lambda: _state_of(self.conversation)

    def gauge(self, message: str, percent: int, note: str | None = None) -> MakeEvent:
        """Return a reader for the meter.

        *note*: what is too big; ``None`` leaves the present note.
        """
        return lambda: stream.meter(message, percent, note)

    def message(self, message: Message) -> None:
        self.publish(self.item(message))

    def turn_state(self) -> None:
        self.publish(self.state())

    def conversation_title(self) -> None:
        self.publish(lambda: stream.title(self.conversation.title))

    def meter(self, message: str, percent: int, note: str | None = None) -> None:
        self.publish(self.gauge(message, percent, note))

    def changed(self) -> None:
        """Make pages render the thread anew, since it has other messages now."""
        self.publish(lambda: stream.RESET)

    def conversation_gone(self) -> None:
        """Delete the stream after the conversation was deleted; readers reload and find it gone."""
        name = key(str(self.conversation.pk))
        last = Position(self.conversation.event_number + NUMBERS_GONE)
        try:
            with redis_client().pipeline() as pipe:
                pipe.delete(name)
                pipe.xadd(name, {"data": encode(stream.RESET), "previous": str(last)}, str(last))
                pipe.expire(name, SECONDS_GONE)
                pipe.execute()
        except redis.RedisError as error:
            # The stream expires by itself within the hour.
            log.warning("events.not_sent", extra={"cause": type(error).__name__})


def _state_of(conversation: Conversation) -> stream.Event:
    turns = Turn.objects.filter(conversation=conversation.pk).order_by("-pk")
    turn = turns.only("state", "message").first()
    if turn is None:
        return stream.state("idle", 0)
    return stream.state(turn.state if turn.is_live else "idle", turn.pk, turn.message)


def position_of(conversation: Conversation) -> Position:
    """Return the position up to which the rows contain everything that the stream sent.

    Text being written is stored at intervals: while a block is open, the position is that of its
    stored state, and the rest is read from the stream.
    """
    conversation.refresh_from_db(fields=["event_number"])
    open_blocks = Block.objects.filter(
        turn__conversation=conversation, turn__state__in=Turn.LIVE, is_open=True
    )
    positions = [Position(*row) for row in open_blocks.values_list("event_number", "event_count")]
    if positions:
        return min(positions)
    number = conversation.event_number
    counts = Block.objects.filter(
        message__conversation=conversation, event_number=number
    ).values_list("event_count", flat=True)
    return Position(number, max(counts, default=0))
