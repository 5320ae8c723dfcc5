"""Runs one turn: asks the model and runs its tools until it calls none or repeats itself."""

import contextlib
import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import (
    ENDINGS,
    OVERRUN,
    AgentError,
    Cancelled,
    CancelReason,
    Ending,
    ProviderFault,
)
from jenny.agent.limits import Limits
from jenny.agent.messages import NO_RESULT, Message, Part, Text, ToolResult, ToolUse
from jenny.agent.provider import Provider
from jenny.agent.reply import Counted, Note, StepEnd, TextDelta, ThinkingDelta
from jenny.agent.tokens import Usage, estimate, estimate_messages
from jenny.agent.tools import Toolbox, ToolOutcome

_HINT = (
    "\n\n[This same call was made {count} times in a row. "
    "Do something else, or say what you found.]"
)
# Loops of two and three calls are detected too; longer ones meet the step limit.
_LONGEST_CIRCLE = 3


class LoopDetector:
    """The calls of one run.

    The same call *limit* times in a row is a loop, whatever it returns; two or three alternating
    calls are one when their results repeat, too.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._calls: list[str] = []
        self._results: list[str] = []

    def add(self, call: ToolUse, outcome: ToolOutcome) -> ToolOutcome:
        """Record a call and its outcome; return the outcome for the model.

        Before a loop is complete, the outcome warns the model.
        """
        arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)
        self._calls.append(f"{call.name} {arguments}{call.problem}")
        self._results.append(hashlib.sha256(outcome.content.encode()).hexdigest())
        longest = self._limit * _LONGEST_CIRCLE
        del self._calls[:-longest], self._results[:-longest]
        if 1 < self._in_a_row == self._limit - 1:
            hint = _HINT.format(count=self._in_a_row)
            return replace(outcome, content=outcome.content + hint)
        return outcome

    @property
    def is_looping(self) -> bool:
        if self._in_a_row >= self._limit:
            return True
        pairs = list(zip(self._calls, self._results, strict=True))
        for length in range(2, _LONGEST_CIRCLE + 1):
            tail = pairs[-length * self._limit :]
            if len(tail) == length * self._limit and tail[length:] == tail[:-length]:
                return True
        return False

    @property
    def _in_a_row(self) -> int:
        count = 0
        for call in reversed(self._calls):
            if call != self._calls[-1]:
                break
            count += 1
        return count


class Listener(Protocol):
    """Receives everything as it happens, in the run's own thread.

    An exception of a listener ends the run and leaves ``run``.
    """

    def step_started(self, step: int) -> None:
        """A request is about to be sent; also called before each retry of a step."""

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None:
        """Receive more of the model's thinking."""

    def tool_started(self, call: ToolUse) -> None:
        """A call is about to run."""

    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        """A call ended, successful or not."""

    def step_finished(
        self, step: int, parts: tuple[Part, ...], stop_reason: str, usage: Usage
    ) -> None:
        """The reply is complete; its calls are about to run."""

    def step_failed(self, step: int, message: str, retry_in: float | None) -> None:
        """An attempt failed.

        With *retry_in* (seconds) another follows and this one's output is stale; without, the run
        ends and its output is kept.
        """

    def note(self, message: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    ending: Ending
    error: AgentError | None = None
    # Of all steps, failed attempts included as far as they were counted.
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    # Size of the conversation after the last step, as the provider counted it.
    context_tokens: int = 0
    # True when a tool's call ended it (``ToolOutcome.ends_run``), not an answer without a call.
    by_tool: bool = False

    @property
    def message(self) -> str:
        """Return the text for the person; empty when the run ended by itself."""
        return self.error.message if self.error else ENDINGS[self.ending].message

    @property
    def can_retry(self) -> bool:
        return self.error.can_retry if self.error else ENDINGS[self.ending].can_retry


@dataclass(frozen=True, slots=True)
class Room:
    """The replacement of a request that was too long: the run's own messages follow *history*.

    *message* says what left the context.
    """

    system: list[dict[str, Any]]
    history: Sequence[Message]
    message: str


type MakeRoom = Callable[[ProviderFault], Room | str]
"""Called once per run when a request is too long; a string says what to do, as nothing may
leave.
"""


def run(  # noqa: PLR0913 - a run needs each of them, by name
    *,
    provider: Provider,
    system: list[dict[str, Any]],
    history: Sequence[Message],
    toolbox: Toolbox,
    listener: Listener,
    inbox: Callable[[int], list[Message]],
    watch: CancellationToken,
    limits: Limits,
    make_room: MakeRoom | None = None,
) -> Outcome:
    """Run one turn to its end; only exceptions of the listener or the inbox leave it.

    *inbox* is called before each request, and again before a natural end, with the number of the
    next step; its messages are added as the user's. With *make_room*, a request that is too long is
    repeated once with the history that it returns.
    """
    watch.limit(limits.seconds)
    turn = _Turn(
        provider=provider,
        system=system,
        messages=list(history),
        toolbox=toolbox,
        listener=listener,
        inbox=inbox,
        watch=watch,
        limits=limits,
        make_room=make_room,
        history_size=len(history),
    )
    try:
        return turn.outcome(turn.run())
    except Cancelled as cancelled:
        return turn.outcome(_ENDINGS[cancelled.reason])
    except ProviderFault as fault:
        return turn.outcome("failed", fault)


_ENDINGS: dict[CancelReason, Ending] = {
    "stop": "stopped",
    "shutdown": "shutdown",
    "lost": "lost",
    "time": "time",
    "paused": "paused",
    "spent": "spent",
}
# Stop reasons that are faults: nothing of the person's is missing.
_WINDOW_FULL = "model_context_window_exceeded"
_FAULTS = {"refusal": "refused", _WINDOW_FULL: "context_overflow"}
_NOTHING_WRITTEN = "The model ended its turn without writing anything."


@dataclass(slots=True, kw_only=True)
class _Turn:
    provider: Provider
    system: list[dict[str, Any]]
    messages: list[Message]
    toolbox: Toolbox
    listener: Listener
    inbox: Callable[[int], list[Message]]
    watch: CancellationToken
    limits: Limits
    # Removed after its call.
    make_room: MakeRoom | None
    # The number of messages from before the run.
    history_size: int
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    has_text: bool = False
    by_tool: bool = False

    def outcome(self, ending: Ending, error: AgentError | None = None) -> Outcome:
        return Outcome(
            ending=ending,
            error=error,
            usage=self.usage,
            steps=self.step,
            context_tokens=self.context_tokens,
            by_tool=self.by_tool,
        )

    def run(self) -> Ending:
        """Run the steps to an end; raises ``Cancelled`` and ``ProviderFault``."""
        repeats = LoopDetector(self.limits.identical_calls)
        while not self.limits.steps_spent(self.step):
            if self.limits.tokens_spent(self.usage.total):
                return "tokens"
            self.watch.check()
            self.messages += self.inbox(self.step + 1)
            end = self._step()
            if end.stop_reason == "max_tokens":
                return "cut"
            if end.stop_reason in _FAULTS:
                raise self._fault(_FAULTS[end.stop_reason])
            calls = [part for part in end.parts if isinstance(part, ToolUse)]
            if calls:
                if ending := self._call(calls, repeats):
                    return ending
            # A paused reply is continued.
            elif end.stop_reason != "pause_turn":
                self.watch.check()
                more = self.inbox(self.step + 1)
                if not more:
                    if not self.has_text:
                        self.listener.note(_NOTHING_WRITTEN)
                    return "done"
                self.messages += more
        return "step_cap"

    def _step(self) -> StepEnd:
        """Get one reply, with as many attempts as needed and allowed."""
        self.step += 1
        attempt = 1
        while True:
            self.listener.step_started(self.step)
            try:
                end = self._attempt()
                if self.make_room is None or end.stop_reason != _WINDOW_FULL:
                    break
                raise self._new_fault(_FAULTS[_WINDOW_FULL])
            except ProviderFault as fault:
                if fault.kind in OVERRUN and self._has_room_after(fault):
                    continue
                silent = fault.kind == "silent"
                may = self.limits.may_retry(attempt, fault.retry_after, is_silent=silent)
                if not (fault.retryable and may):
                    self.listener.step_failed(self.step, fault.message, None)
                    raise
                delay = self.limits.retry_delay(attempt, fault.retry_after)
                # A random delay spreads retries, never sooner than the provider asks for.
                delay *= 1 + random.random() / 4  # noqa: S311 - nothing secret hangs on it
                self.listener.step_failed(self.step, fault.what, delay)
                self.watch.sleep(delay)
                attempt += 1
        self.messages.append(Message("assistant", end.parts))
        self.has_text = self.has_text or any(isinstance(part, Text) for part in end.parts)
        self.context_tokens = end.usage.total or self._estimate()
        self.listener.step_finished(self.step, end.parts, end.stop_reason, end.usage)
        return end

    def _has_room_after(self, fault: ProviderFault) -> bool:
        """Remove the oldest part of the history, once per run. True: repeat the request."""
        make_room, self.make_room = self.make_room, None
        room = make_room(fault) if make_room else ""
        if isinstance(room, str):
            if room:
                fault.advise(room)
            return False
        self.system = room.system
        self.messages[: self.history_size] = room.history
        self.history_size = len(room.history)
        self.listener.step_failed(self.step, fault.what, 0.0)
        self.listener.note(room.message)
        return True

    def _attempt(self) -> StepEnd:
        counted = Usage()
        events = self.provider.stream(
            system=self.system,
            messages=self.messages,
            tools=self.toolbox.schemas(),
            watch=self.watch,
            limits=self.limits,
        )
        with contextlib.closing(events):
            try:
                for event in events:
                    match event:
                        case TextDelta(text):
                            self.listener.text(text)
                        case ThinkingDelta(text):
                            self.listener.thinking(text)
                        case Note(message):
                            self.listener.note(message)
                        case Counted(usage):
                            counted = usage
                        case StepEnd():
                            end = event
            finally:
                # Counted tokens cost, also when the attempt failed.
                self.usage += counted
        return end

    def _call(self, calls: list[ToolUse], repeats: LoopDetector) -> Ending | None:
        """Run the calls in order, up to one that completes a loop or ends the run."""
        results: list[Part] = []
        for call in calls:
            self.watch.check()
            outcome = self._called(call, repeats)
            results.append(ToolResult(call.id, outcome.content, outcome.ok))
            self.by_tool = outcome.ends_run
            if self.by_tool or repeats.is_looping:
                break
        self.messages.append(Message("user", tuple(results)))
        if self.by_tool:
            return "done"
        return "repeat" if repeats.is_looping else None

    def _called(self, call: ToolUse, repeats: LoopDetector) -> ToolOutcome:
        self.listener.tool_started(call)
        since = time.monotonic()
        try:
            if call.problem:
                outcome = ToolOutcome(ok=False, content=call.problem)
            else:
                outcome = self.toolbox.call(call.name, call.arguments)
        except Cancelled:
            # Every stored call needs a result.
            cut = ToolOutcome(ok=False, content=NO_RESULT)
            self.listener.tool_finished(call, cut, time.monotonic() - since)
            raise
        outcome = repeats.add(call, outcome)
        self.listener.tool_finished(call, outcome, time.monotonic() - since)
        return outcome

    def _estimate(self) -> int:
        """Estimate the conversation's size, for servers that do not count."""
        return estimate(str(self.system)) + estimate_messages(self.messages)

    def _new_fault(self, kind: str) -> ProviderFault:
        return ProviderFault(kind, host=self.provider.host, model=self.provider.preset.model)

    def _fault(self, kind: str) -> ProviderFault:
        fault = self._new_fault(kind)
        self.listener.step_failed(self.step, fault.message, None)
        return fault
