"""Records a turn: blocks and results go to the database, events to the page.

Text is sent to the page first and stored twice a second: the stream has what the row lacks
(``turn_recovery`` reads it after a crash). Everything else is stored first. The turn's start and
its messages are published once the model was asked or answers. Each write is fenced: a worker whose
lease was taken writes nothing.
"""

import time
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import CancelReason
from jenny.agent.messages import Part, Thinking, ToolUse
from jenny.agent.tokens import Prices, Usage
from jenny.agent.tools import PROPOSED, ToolOutcome
from jenny.chat import stream
from jenny.chat.models import Block, Message, Turn
from jenny.chat.services import consent_requests
from jenny.chat.services.publish import MakeEvent, Publisher, render_block, render_newest
from jenny.chat.services.turn_claims import answer_at
from jenny.chat.stream import Position
from jenny.chat.thread import final_html, renderer_of
from jenny.db_connections import LoanedConnectionLock
from jenny.markdown.streaming import StreamRenderer
from jenny.workspace.write_rules import Change

# Minimum interval of text events; the first words are sent at once.
FLUSH_SECONDS = 0.04
STORE_SECONDS = 0.5
# Delay of the event for the turn's start, so that it does not hold up the first request.
TELL_SECONDS = 0.05


class Recorder:
    """The listener of one turn (``jenny.agent.loop.Listener``)."""

    def __init__(self, turn: Turn, watch: CancellationToken) -> None:
        self.turn = turn
        # Created when there is something to write; a new one follows each message taken in.
        self.answers: list[Message] = []
        self.publisher = Publisher(turn.conversation)
        self._watch = watch
        self._needs_answer = True
        self.turn_id = turn.pk
        self.step = 0
        self.prices: Prices | None = None
        # Tokens of the context window, and the maximum of an answer.
        self.window = (0, 0)
        self._lock = LoanedConnectionLock()
        self._block: Block | None = None
        self._renderer: StreamRenderer | None = None
        self._waiting = ""
        self._flushed = self._stored = self._opened = 0.0
        self._calls: dict[str, Block] = {}
        self._of_attempt: list[Block] = []
        # Blocks of a failed attempt; deleted as soon as the next attempt writes.
        self._stale: list[Block] = []
        # Notes about a retry; a later fault's note replaces them.
        self._retrying: list[Block] = []
        # Messages that the turn took and that are not published; and whether the turn is.
        self._taken: list[Message] = []
        self._newest_taken: Message | None = None
        self._is_told = True
        self._taken_at = 0.0

    # --- called by the loop -----------------------------------------------------------------

    def step_started(self, step: int) -> None:
        """Begin a request to the model, also a repeated one after a fault."""
        with self._lock:
            self.step = step
            self._of_attempt = []

    def text(self, delta: str) -> None:
        with self._lock:
            if self._block is None or self._renderer is None:
                # The first words are sent with the block.
                done = StreamRenderer(delta).done_count
                self._open(Block.Kind.TEXT, text=delta, data={"done": done})
                return
            self._waiting += delta
            if time.monotonic() - self._flushed >= FLUSH_SECONDS:
                self._flush()

    def thinking(self, delta: str) -> None:
        """Collect thinking, which is shown when it is complete."""
        with self._lock:
            block = self._block
            if block is None or block.kind != Block.Kind.THINKING:
                block = self._open(Block.Kind.THINKING)
            block.text += delta

    def tool_started(self, call: ToolUse) -> None:
        with self._lock:
            self._close()
            data = {"id": call.id, "name": call.name, "arguments": call.arguments}
            self._calls[call.id] = self._create(Block.Kind.TOOL, data=data)

    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        with self._lock:
            block = self._calls.pop(call.id)
            block.data |= {"ok": result.ok, "result": result.content, "seconds": round(seconds, 3)}
            if PROPOSED in result.data:
                block.data["asks"] = True
            block.is_open = False
            self._store(block)
            self._send(block, self._whole(block))
            if (change := result.data.get(PROPOSED)) is not None:
                self._ask(change)

    def step_finished(
        self,
        step: int,  # noqa: ARG002 - the loop's listener gets it
        parts: tuple[Part, ...],
        stop_reason: str,  # noqa: ARG002 - the same
        usage: Usage,  # noqa: ARG002 - the same
    ) -> None:
        with self._lock:
            self._retrying = []
            if self._block is not None and self._block.kind == Block.Kind.THINKING:
                signatures = [part.signature for part in parts if isinstance(part, Thinking)]
                self._block.data["signature"] = signatures[-1] if signatures else ""
            self._close()
            self._drop(self._stale)

    def step_failed(self, _step: int, message: str, retry_in: float | None) -> None:
        """Mark the failed attempt's blocks; they are deleted when the next attempt writes.

        At most one note says so: the next fault's note or the turn's ending replaces it.
        """
        with self._lock:
            self._close()
            self._drop(self._retrying)
            if retry_in is not None:
                self._stale += self._of_attempt
                self._of_attempt = []
                self._retrying = [self._note(f"{message} Jenny tries again.")]

    def note(self, message: str) -> None:
        """Add a note for the person, such as one about an omitted parameter."""
        with self._lock:
            self._close()
            self._note(message)

    # --- called by the worker ---------------------------------------------------------------

    def took(self, rows: Iterable[Message]) -> None:
        """Record messages that the turn took: it begins, or continues in another answer."""
        with self._lock:
            self._close()
            self._needs_answer = True
            self._taken += rows
            self._newest_taken = self._taken[-1] if self._taken else None
            self._is_told = False
            self._taken_at = time.monotonic()

    def end(self) -> None:
        with self._lock:
            self._close()
            self._tell()
            for block in self._calls.values():
                block.data |= {"ok": False, "result": "Not finished: the turn ended first."}
                block.is_open = False
                self._store(block)
                self._send(block, self._whole(block))
            self._calls = {}

    # --- called by the heartbeat ------------------------------------------------------------

    def flush_due(self) -> None:
        """Send the collected text, and store it at intervals."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            if self._waiting and now - self._flushed >= FLUSH_SECONDS:
                self._flush()
            if now - self._taken_at >= TELL_SECONDS:
                self._tell()
            if self._block is not None and now - self._stored >= STORE_SECONDS:
                self._stored = now
                self._store(self._block)
        finally:
            self._lock.release()

    def renew(self) -> None:
        """Renew the lease; without it, stop."""
        with transaction.atomic():
            is_held = self.turn.renew()
        if not is_held:
            self._watch.cancel("lost")
        elif Turn.objects.filter(pk=self.turn_id, cancel_requested=True).exists():
            self._watch.cancel("stop")

    def cancel(self, reason: CancelReason) -> None:
        self._watch.cancel(reason)

    # --- blocks -----------------------------------------------------------------------------

    def _open(self, kind: str, **fields: Any) -> Block:
        self._close()
        self._drop(self._stale)
        self._block = block = self._create(kind, **fields)
        self._renderer = renderer_of(block) if kind == Block.Kind.TEXT else None
        self._opened = self._stored = self._flushed = time.monotonic()
        return block

    def _tell(self, behind: Block | None = None) -> None:
        """Publish the turn's start and its messages, after the event of *behind* if given."""
        if self._is_told:
            return
        self._is_told = True
        rows, self._taken = self._taken, []
        parts = (self.publisher.state(), *map(self.publisher.item, rows))
        if behind is None:
            self.publisher.publish(*parts)
        else:
            self._publish_behind(behind, *parts)

    def _ask(self, change: Change) -> None:
        row = consent_requests.request_consent(self.turn, change)
        text = f"Jenny asks to change {row.path}."
        data = consent_requests.shown(row)
        row.block = self._create(Block.Kind.NOTE, text=text, data=data, is_open=False)
        row.save(update_fields=["block"])

    def _note(self, message: str) -> Block:
        return self._create(Block.Kind.NOTE, text=message, is_open=False)

    def _create(self, kind: str, **fields: Any) -> Block:
        if kind == Block.Kind.TOOL:
            self._drop(self._stale)
        block = self._insert(step=self.step, kind=kind, **fields)
        if kind != Block.Kind.NOTE:
            self._of_attempt.append(block)
        self._tell(block)
        return block

    def _flush(self) -> None:
        if self._block is None or self._renderer is None or not self._waiting:
            return
        self._flushed = time.monotonic()
        operations = self._renderer.feed(self._waiting)
        source, self._waiting = self._waiting, ""
        self._block.text += source
        self._block.data["done"] = self._renderer.done_count
        for operation in operations:
            # The first event also has the source text, for a reader that repairs the row.
            event = {**stream.text_op(f"b{self._block.pk}", operation), "source": source}
            if not self._send_piece(self._block, event):
                return
            source = ""

    def _close(self) -> None:
        """Close the open block; pages show its stored rendering from now on."""
        block, renderer = self._block, self._renderer
        if block is None:
            return
        self._flush()
        self._block = self._renderer = None
        block.is_open = False
        if block.kind == Block.Kind.THINKING:
            block.data["duration"] = f"{max(1, round(time.monotonic() - self._opened))} s"
        if renderer is not None:
            block.html = final_html(block, renderer)
            self._store(block)
            self._send(block, stream.final(f"b{block.pk}", block.html))
        else:
            self._store(block)
            self._send(block, self._whole(block))

    # --- the blocks and their events: each write is fenced ------------------------------------

    def _insert(self, **fields: Any) -> Block:
        """Store a new block, with the answer that it begins, and send it."""
        begins = self._needs_answer
        with transaction.atomic():
            # Send the previous answer again: it is no longer the turn's last.
            before = self.answers[-1:] if begins else []
            number = self.turn.conversation.next_event_number(1 + len(before))
            self._fence()
            answer = answer_at(self.turn, number) if begins else self.answers[-1]
            block = Block.objects.create(
                turn=self.turn, message=answer, event_number=number, **fields
            )
        if begins:
            self._needs_answer = False
            events = [self.publisher.item(row)() for row in before]
            html = render_newest(answer, [block], after=self._newest_taken)
            events.append(stream.item(f"m{answer.pk}", html))
            self.answers.append(answer)
        else:
            events = [self._whole(block)]
        first = Position(number - len(before))
        self.publisher.send(first, lambda: events, lambda: self._renumber(block, len(events)))
        return block

    def _drop(self, blocks: list[Block]) -> None:
        """Delete *blocks* from the answer and empty the list."""
        while blocks:
            block = blocks.pop(0)
            with transaction.atomic():
                number = self.turn.conversation.next_event_number()
                self._fence()
                Block.objects.filter(pk=block.pk).delete()
            self._tell_gone(block, number)

    def _tell_gone(self, block: Block, number: int) -> None:
        self.publisher.publish(lambda: stream.drop(f"b{block.pk}"), number=number)

    def _whole(self, block: Block) -> stream.Event:
        return stream.block(f"m{block.message_id}", f"b{block.pk}", render_block(block))

    def _send(self, block: Block, event: stream.Event) -> None:
        """Send an event that brings any page to the state of *block* that was just stored."""
        position = Position(block.event_number, block.event_count)
        self.publisher.send(position, lambda: [event], lambda: self._renumber(block))

    def _send_piece(self, block: Block, event: stream.Event) -> bool:
        """Send a change of *block* at its next position, before it is stored.

        ``False``: the block got a new number and was sent whole with it. A page that read the row
        before it received the number has this change already and would show it twice.
        """
        number = block.event_number
        block.event_count += 1

        def events() -> list[stream.Event]:
            return [event if block.event_number == number else self._whole(block)]

        position = Position(number, block.event_count)
        self.publisher.send(position, events, lambda: self._renumber(block))
        return block.event_number == number

    def _publish_behind(self, block: Block, *parts: MakeEvent) -> None:
        """Send other events at *block*'s next positions, so that later text needs no new number."""
        first = Position(block.event_number, block.event_count + 1)
        block.event_count += len(parts)
        self.publisher.publish(*parts, first=first)

    def _store(self, block: Block) -> None:
        """Store the row; a closed block takes one more position, for the event that closes it."""
        if not block.is_open:
            block.event_count += 1
        with transaction.atomic():
            self._fence()
            block.store()

    def _renumber(self, block: Block, count: int = 1) -> Position:
        """Give the block a new event number and store it whole.

        *count*: events to be sent; the last is the block's own.
        """
        with transaction.atomic():
            block.event_number = self.turn.conversation.next_event_number(count)
            block.event_count = 0
            self._fence()
            block.store()
        return Position(block.event_number - count + 1)

    def _fence(self) -> None:
        """Lock the turn's row inside a transaction; raise when the lease is lost."""
        if not self.turn.renew():
            self._watch.cancel("lost")
            self._watch.check()
