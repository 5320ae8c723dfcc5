"""Sends the events of a conversation: numbered by the database, carried by Redis.

A Redis that is down costs the pages their live view and nothing else: the rows are
stored first, and the next event that gets through tells every page to render anew.
"""

import contextlib
import functools
import logging
import time
from collections.abc import Callable

import redis
from celery import Task
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, ObjectNotUpdated
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from jenny.accounts.models.prepared import Prepared, uuid_slot
from jenny.chat import events
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.stream import Position, Sent, Writer, encode, key
from jenny.chat.tasks.rendering import render_item

log = logging.getLogger(__name__)

# After Redis failed, how long events are only stored before it is tried again.
SECONDS_AFTER_FAULT = 1.0
# A row that is about to be told of was deleted with its conversation: nobody is left to tell.
GONE = (ObjectDoesNotExist, ObjectNotUpdated)
# How long pages that show a deleted conversation have to hear of it.
SECONDS_GONE = 60
# Reads what an event tells.
type Tell = Callable[[], events.Event]
type Renumber = Callable[[], Position]
# One for each turn or request that sends at this moment; the library's own limit is a hundred.
MOST_CONNECTIONS = 2_000


@functools.cache
def redis_client() -> redis.Redis:
    """This process's Redis client. Its time limits keep a dead server from holding a turn, and
    it does not try again by itself: its tries multiply (connecting, then asking), and a kept
    connection whose server was started anew is noticed when it is taken from the pool."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=2,
        socket_connect_timeout=1,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
        max_connections=MOST_CONNECTIONS,
    )


def hand_over(task: Task, *arguments: object) -> bool:
    """Hand a task to the workers. ``False``: there is no broker; the rows say what is to be
    done, and ``chat.reap`` sends it again as soon as there is one.

    The broker is asked for a sign of life first: Celery's own client would keep a request
    waiting for six seconds before it gives up.
    """
    try:
        redis_client().ping()
        task.apply_async(arguments, retry=False)
    except (redis.RedisError, OperationalError) as error:
        log.warning("task.not_sent", extra={"task": task.name, "cause": type(error).__name__})
        return False
    return True


class Pause:
    """Redis failed just now, and is not asked again for a moment by anything in this process.

    To find out that one does not answer takes seconds. The pulse, which asks for each of its
    turns, would miss their leases meanwhile.
    """

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        """It failed."""
        self._until = time.monotonic() + SECONDS_AFTER_FAULT

    @property
    def is_on(self) -> bool:
        """Whether it is left alone."""
        return time.monotonic() < self._until


PAUSE = Pause()


class Publisher:
    """Sends one conversation's events for one writer."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._writer = Writer(redis_client(), str(conversation.pk))
        self._gap = False

    def send(
        self, position: Position, tell: Callable[[], list[events.Event]], renumber: Renumber
    ) -> None:
        """Send what *tell* reads, at *position*. *renumber* gives a newer position; it is called
        when something newer is in the stream already, or when the stream lost what it had.

        What is told is read behind each number taken: so a higher number always tells a later
        state, and a writer that comes late does not put an older one in its place.
        """
        if PAUSE.is_on:
            self._gap = True
            return
        try:
            for _ in range(5):
                sent = self._writer.append(position, *tell(), after_gap=self._gap)
                if sent is Sent.SENT:
                    self._gap = False
                    return
                self._gap = self._gap or sent is Sent.LOST
                position = renumber()
        except redis.RedisError as error:
            self._gap = True
            PAUSE.begin()
            log.warning("events.not_sent", extra={"cause": type(error).__name__})

    def tell(self, *parts: Tell, number: int | None = None, first: Position | None = None) -> None:
        """Send the events that *parts* read from the database, in one go. *number*: the last of
        the event numbers that were taken with what they tell of; or *first*: where the first of
        them goes. Without either, numbers are taken."""
        if not parts:
            return
        before = len(parts) - 1

        def renumber() -> Position:
            with transaction.atomic():
                return Position(self.conversation.next_event_number(len(parts)) - before)

        with contextlib.suppress(*GONE):
            begin = first or (Position(number - before) if number else renumber())
            self.send(begin, lambda: [part() for part in parts], renumber)

    def item(self, message: Message) -> Tell:
        """Tells of a message of the thread."""
        return lambda: events.item(f"m{message.pk}", render_item(message))

    def state(self) -> Tell:
        """Tells of the newest turn: whether it waits, runs or is over."""
        return lambda: _state_of(self.conversation)

    def gauge(self, sentence: str, percent: int, note: str | None = None) -> Tell:
        """Tells of the context's fill. *note*: what is too big; ``None`` leaves what is there."""
        return lambda: events.meter(sentence, percent, note)

    def message(self, message: Message) -> None:
        """A message of the thread was stored or changed."""
        self.tell(self.item(message))

    def turn_state(self) -> None:
        """A turn was queued, began or ended."""
        self.tell(self.state())

    def conversation_title(self) -> None:
        """The title was changed."""
        self.tell(lambda: events.title(self.conversation.title))

    def meter(self, sentence: str, percent: int, note: str | None = None) -> None:
        """The context's fill changed; see :meth:`gauge`."""
        self.tell(self.gauge(sentence, percent, note))

    def changed(self) -> None:
        """Other messages stand in the thread now: pages render it anew."""
        self.tell(lambda: events.RESET)

    def conversation_gone(self) -> None:
        """The conversation was deleted: nothing of it stays in the stream, and whoever reads it
        looks again and finds that."""
        name = key(str(self.conversation.pk))
        last = Position(self.conversation.event_number + 1_000_000)
        try:
            with redis_client().pipeline() as pipe:
                pipe.delete(name)
                pipe.xadd(name, {"data": encode(events.RESET), "previous": str(last)}, str(last))
                pipe.expire(name, SECONDS_GONE)
                pipe.execute()
        except redis.RedisError as error:
            # What the stream holds goes by itself within the hour.
            log.warning("events.not_sent", extra={"cause": type(error).__name__})


_NEWEST = Prepared(
    lambda: (
        Turn.objects.filter(conversation=uuid_slot("conversation"))
        .order_by("-pk")
        .only("state", "sentence")[:1]
    )
)


def _state_of(conversation: Conversation) -> events.Event:
    turn = _NEWEST.first(conversation=conversation.pk)
    if turn is None:
        return events.state("idle", 0)
    return events.state(turn.state if turn.is_live else "idle", turn.pk, turn.sentence)


def position_of(conversation: Conversation) -> Position:
    """Up to where the rows hold everything that the stream told.

    Text that is being written is stored now and then only: while a block is open, the
    position is that of its stored state, and what follows it is read from the stream.
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
