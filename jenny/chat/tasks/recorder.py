"""Keeps what a turn does: blocks and results to the database, events to the page.

Text goes to the page first and to the database twice a second: the stream holds what the
row does not yet (``reap`` reads it back after a crash). Everything else is stored first.
Each write is fenced: a worker whose lease was taken writes nothing.
"""

import time
from typing import Any

from django.db import transaction

from jenny.agent.errors import CancelReason
from jenny.agent.messages import Part, Thinking, ToolUse
from jenny.agent.pricing import Prices
from jenny.agent.tokens import Usage
from jenny.agent.tools import ToolOutcome
from jenny.agent.watch import Watch
from jenny.chat import events
from jenny.chat.models import Block, Message, Turn
from jenny.chat.stream import Position
from jenny.chat.tasks.answers import answer_of
from jenny.chat.tasks.lending import Lending
from jenny.chat.tasks.publish import Publisher, render_block
from jenny.chat.thread import renderer_of
from jenny.markdown.streaming import StreamRenderer

# A page gets text at most this often; the first words go at once.
FLUSH_SECONDS = 0.04
STORE_SECONDS = 0.5
STORED_FIELDS = ("text", "html", "data", "is_open", "event_number", "event_count")


class Recorder:
    """The listener of one turn (``jenny.agent.loop.Listener``)."""

    def __init__(self, turn: Turn, watch: Watch) -> None:
        self.turn_id = turn.pk
        self.turn = turn
        # Made when there is something to say; another one behind each message taken in.
        self.answers: list[Message] = []
        self.step = 0
        self.prices: Prices | None = None
        # Tokens of the context window, and of an answer at most.
        self.window = (0, 0)
        self.publisher = Publisher(turn.conversation)
        self._watch = watch
        self._lock = Lending()
        self._block: Block | None = None
        self._renderer: StreamRenderer | None = None
        self._waiting = ""
        self._flushed = self._stored = self._opened = 0.0
        self._calls: dict[str, Block] = {}
        self._of_attempt: list[Block] = []
        # What a failed attempt wrote; taken away as soon as the next one writes.
        self._stale: list[Block] = []
        # What says that it is tried again; a later fault's note takes its place.
        self._retrying: list[Block] = []
        self._needs_answer = True

    # --- what the loop tells ----------------------------------------------------------------

    def step_started(self, step: int) -> None:
        """A request to the model begins (again, after a fault)."""
        with self._lock:
            self.step = step
            self._of_attempt = []

    def text(self, delta: str) -> None:
        """Words of the answer."""
        with self._lock:
            self._into(Block.Kind.TEXT)
            self._waiting += delta
            if time.monotonic() - self._flushed >= FLUSH_SECONDS:
                self._flush()

    def thinking(self, delta: str) -> None:
        """Words of the model to itself; shown when they are complete."""
        with self._lock:
            block = self._into(Block.Kind.THINKING)
            block.text += delta

    def tool_started(self, call: ToolUse) -> None:
        """A tool call begins."""
        with self._lock:
            self._close()
            data = {"id": call.id, "name": call.name, "arguments": call.arguments}
            self._calls[call.id] = self._create(Block.Kind.TOOL, data=data)

    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        """A tool call is over."""
        with self._lock:
            block = self._calls.pop(call.id)
            block.data |= {"ok": result.ok, "result": result.content, "seconds": round(seconds, 3)}
            block.is_open = False
            self._store(block)
            self._send(block, self._whole(block))

    def step_finished(
        self,
        step: int,  # noqa: ARG002 - the loop's listener gets it
        parts: tuple[Part, ...],
        stop_reason: str,  # noqa: ARG002 - the same
        usage: Usage,  # noqa: ARG002 - the same
    ) -> None:
        """The model ended its message."""
        with self._lock:
            self._retrying = []
            if self._block is not None and self._block.kind == Block.Kind.THINKING:
                signatures = [part.signature for part in parts if isinstance(part, Thinking)]
                self._block.data["signature"] = signatures[-1] if signatures else ""
            self._close()
            self._drop(self._stale)

    def step_failed(self, _step: int, sentence: str, retry_in: float | None) -> None:
        """The attempt failed; when it is made again, what it wrote gives way to the next.

        One note at most says so: it gives way to the next fault's, or to the turn's ending.
        """
        with self._lock:
            self._close()
            self._drop(self._retrying)
            if retry_in is not None:
                self._stale += self._of_attempt
                self._of_attempt = []
                self._retrying = [self._note(f"{sentence} Jenny tries again.")]

    def note(self, sentence: str) -> None:
        """Something the person should see, such as a parameter left out."""
        with self._lock:
            self._close()
            self._note(sentence)

    # --- what the worker asks ---------------------------------------------------------------

    def begin_answer(self) -> None:
        """Go on in another message: the turn took in what the user sent meanwhile."""
        with self._lock:
            self._close()
            self._needs_answer = True

    def end(self) -> None:
        """Nothing more comes: close what is open."""
        with self._lock:
            self._close()
            for block in self._calls.values():
                block.data |= {"ok": False, "result": "Not finished: the turn ended first."}
                block.is_open = False
                self._store(block)
                self._send(block, self._whole(block))
            self._calls = {}

    # --- what the pulse asks ----------------------------------------------------------------

    def flush_due(self) -> None:
        """Send text that waits, and store it now and then."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            if self._waiting and now - self._flushed >= FLUSH_SECONDS:
                self._flush()
            if self._block is not None and now - self._stored >= STORE_SECONDS:
                self._stored = now
                self._store(self._block)
        finally:
            self._lock.release()

    def renew(self) -> None:
        """Renew the lease; without it, stop."""
        if not self.turn.renew():
            self._watch.cancel("lost")
        elif Turn.objects.filter(pk=self.turn_id, cancel_requested=True).exists():
            self._watch.cancel("stop")

    def cancel(self, reason: CancelReason) -> None:
        """Ask the loop to end."""
        self._watch.cancel(reason)

    # --- blocks -----------------------------------------------------------------------------

    def _into(self, kind: str) -> Block:
        """The open block of *kind*, begun when there is none."""
        if self._block is None or self._block.kind != kind:
            self._close()
            self._drop(self._stale)
            self._block = self._create(kind)
            self._renderer = renderer_of(self._block) if kind == Block.Kind.TEXT else None
            self._opened = self._stored = time.monotonic()
        return self._block

    def _note(self, sentence: str) -> Block:
        return self._create(Block.Kind.NOTE, text=sentence, is_open=False)

    def _create(self, kind: str, **fields: Any) -> Block:
        """A new block, stored and shown."""
        if kind == Block.Kind.TOOL:
            self._drop(self._stale)
        if self._needs_answer:
            self._needs_answer = False
            self.answers.append(answer_of(self.turn))
            for answer in self.answers[-2:]:
                self.publisher.message(answer)
        with transaction.atomic():
            number = self.turn.conversation.next_event_number()
            self._fence()
            block = Block.objects.create(
                turn=self.turn,
                message=self.answers[-1],
                step=self.step,
                kind=kind,
                event_number=number,
                **fields,
            )
        if kind != Block.Kind.NOTE:
            self._of_attempt.append(block)
        self.publisher.send(Position(number), self._whole(block), lambda: self._renumber(block))
        return block

    def _flush(self) -> None:
        """Send the text that waits, as what it changes in the block."""
        if self._block is None or self._renderer is None or not self._waiting:
            return
        self._flushed = time.monotonic()
        operations = self._renderer.feed(self._waiting)
        source, self._waiting = self._waiting, ""
        self._block.text += source
        self._block.data["done"] = self._renderer.done_count
        for operation in operations:
            # The first of them carries the words themselves, for who must mend the row.
            event = {**events.text_op(f"b{self._block.pk}", operation), "source": source}
            self._send(self._block, event, stored=False)
            source = ""

    def _close(self) -> None:
        """End the open block: its stored rendering is what the page shows from now on."""
        block, renderer = self._block, self._renderer
        if block is None:
            return
        self._flush()
        self._block = self._renderer = None
        block.is_open = False
        if block.kind == Block.Kind.THINKING:
            block.data["duration"] = f"{max(1, round(time.monotonic() - self._opened))} s"
        if renderer is not None:
            block.html = renderer.finish()
            self._store(block)
            self._send(block, events.final(f"b{block.pk}", block.html))
        else:
            self._store(block)
            self._send(block, self._whole(block))

    def _drop(self, blocks: list[Block]) -> None:
        """Take *blocks* away from the answer; the list is empty then."""
        while blocks:
            block = blocks.pop(0)
            with transaction.atomic():
                number = self.turn.conversation.next_event_number()
                self._fence()
                Block.objects.filter(pk=block.pk).delete()
            event = events.drop(f"b{block.pk}")
            self.publisher.send(Position(number), event, self._fresh_position)

    def _whole(self, block: Block) -> events.Event:
        return events.block(f"m{block.message_id}", f"b{block.pk}", render_block(block))

    def _send(self, block: Block, event: events.Event, *, stored: bool = True) -> None:
        """Send an event of *block* at its next position. What must outlive the stream was
        stored just before, with the position it is sent at."""
        if not stored:
            block.event_count += 1
        position = Position(block.event_number, block.event_count)
        self.publisher.send(position, event, lambda: self._renumber(block))

    def _store(self, block: Block) -> None:
        """Write the row; a closed block takes one more position, for the event that says so."""
        if not block.is_open:
            block.event_count += 1
        with transaction.atomic():
            self._fence()
            block.save(update_fields=STORED_FIELDS)

    def _renumber(self, block: Block) -> Position:
        """Give the block a new event number and store it whole."""
        with transaction.atomic():
            block.event_number = self.turn.conversation.next_event_number()
            block.event_count = 0
            self._fence()
            block.save(update_fields=STORED_FIELDS)
        return Position(block.event_number)

    def _fresh_position(self) -> Position:
        with transaction.atomic():
            return Position(self.turn.conversation.next_event_number())

    def _fence(self) -> None:
        """Inside a transaction: hold the turn's row, and stop when it is no longer ours."""
        if not self.turn.renew():
            self._watch.cancel("lost")
            self._watch.check()
