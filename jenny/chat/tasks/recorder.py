"""Keeps what a turn does: blocks and results to the database, events to the page.

Text goes to the page first and to the database twice a second: the stream holds what the
row does not yet (``reap`` reads it back after a crash). Everything else is stored first. That
the turn runs and has taken its messages is told once the model was asked, or said something.
Each write is fenced: a worker whose lease was taken writes nothing.
"""

import time
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from jenny.agent.errors import CancelReason
from jenny.agent.messages import Part, Thinking, ToolUse
from jenny.agent.pricing import Prices
from jenny.agent.tokens import Usage
from jenny.agent.tools import PROPOSED, ToolOutcome
from jenny.agent.watch import Watch
from jenny.chat import events
from jenny.chat.models import Block, Message, Turn
from jenny.chat.tasks import consent
from jenny.chat.tasks.blocks import Blocks
from jenny.chat.tasks.lending import Lending
from jenny.chat.thread import renderer_of
from jenny.markdown.streaming import StreamRenderer
from jenny.workspace.rules import Change

# A page gets text at most this often; the first words go at once.
FLUSH_SECONDS = 0.04
STORE_SECONDS = 0.5
# A turn that is just being set up is not kept from its request by telling of it.
TELL_SECONDS = 0.05


class Recorder(Blocks):
    """The listener of one turn (``jenny.agent.loop.Listener``)."""

    def __init__(self, turn: Turn, watch: Watch) -> None:
        super().__init__(turn, watch)
        self.turn_id = turn.pk
        self.step = 0
        self.prices: Prices | None = None
        # Tokens of the context window, and of an answer at most.
        self.window = (0, 0)
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
        # Messages that the turn took and no page knows of yet; and whether it knows of the turn.
        self._taken: list[Message] = []
        self._is_told = True
        self._taken_at = 0.0

    # --- what the loop tells ----------------------------------------------------------------

    def step_started(self, step: int) -> None:
        """A request to the model begins (again, after a fault)."""
        with self._lock:
            self.step = step
            self._of_attempt = []

    def text(self, delta: str) -> None:
        """Words of the answer."""
        with self._lock:
            if self._block is None or self._renderer is None:
                # The first words go with the block itself.
                done = StreamRenderer(delta).done_count
                self._open(Block.Kind.TEXT, text=delta, data={"done": done})
                return
            self._waiting += delta
            if time.monotonic() - self._flushed >= FLUSH_SECONDS:
                self._flush()

    def thinking(self, delta: str) -> None:
        """Words of the model to itself; shown when they are complete."""
        with self._lock:
            block = self._block
            if block is None or block.kind != Block.Kind.THINKING:
                block = self._open(Block.Kind.THINKING)
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

    def took(self, rows: Iterable[Message]) -> None:
        """The turn took these messages: it begins, or goes on in another answer."""
        with self._lock:
            self._close()
            self._needs_answer = True
            self._taken += rows
            self._is_told = False
            self._taken_at = time.monotonic()

    def end(self) -> None:
        """Nothing more comes: close what is open."""
        with self._lock:
            self._close()
            self._tell()
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
        """Ask the loop to end."""
        self._watch.cancel(reason)

    # --- blocks -----------------------------------------------------------------------------

    def _open(self, kind: str, **fields: Any) -> Block:
        """Begin a block that the next words go into."""
        self._close()
        self._drop(self._stale)
        self._block = block = self._create(kind, **fields)
        self._renderer = renderer_of(block) if kind == Block.Kind.TEXT else None
        self._opened = self._stored = self._flushed = time.monotonic()
        return block

    def _tell(self, behind: Block | None = None) -> None:
        """Let the page know that the turn runs, and what it took; *behind* a block that was just
        told of, or by itself."""
        if self._is_told:
            return
        self._is_told = True
        rows, self._taken = self._taken, []
        parts = (self.publisher.state(), *map(self.publisher.item, rows))
        if behind is None:
            self.publisher.tell(*parts)
        else:
            self._tell_behind(behind, *parts)

    def _ask(self, change: Change) -> None:
        """Put a change before the person that only they can allow."""
        row = consent.propose(self.turn, change)
        text = f"Jenny asks to change {row.path}."
        data = consent.shown(row)
        row.block = self._create(Block.Kind.NOTE, text=text, data=data, is_open=False)
        row.save(update_fields=["block"])

    def _note(self, sentence: str) -> Block:
        return self._create(Block.Kind.NOTE, text=sentence, is_open=False)

    def _create(self, kind: str, **fields: Any) -> Block:
        """A new block, stored and shown."""
        if kind == Block.Kind.TOOL:
            self._drop(self._stale)
        block = self._insert(step=self.step, kind=kind, **fields)
        if kind != Block.Kind.NOTE:
            self._of_attempt.append(block)
        self._tell(block)
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
            if not self._send_piece(self._block, event):
                return
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
