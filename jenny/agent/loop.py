"""One turn: the model speaks, its tools run, until it has nothing more to call."""

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from jenny.agent.errors import (
    ENDINGS,
    AgentError,
    Cancelled,
    CancelReason,
    Ending,
    ProviderFault,
)
from jenny.agent.events import Counted, Note, StepEnd, TextDelta, ThinkingDelta
from jenny.agent.limits import Limits
from jenny.agent.messages import NO_RESULT, Message, Part, Text, ToolResult, ToolUse
from jenny.agent.provider import Provider
from jenny.agent.repeats import Repeats
from jenny.agent.tokens import Usage, estimate, estimate_messages
from jenny.agent.tools import Toolbox, ToolOutcome
from jenny.agent.watch import Watch


class Listener(Protocol):
    """Told of everything as it happens, from the run's own thread.

    What a listener raises ends the run and comes out of ``run``.
    """

    def step_started(self, step: int) -> None:
        """A request is about to be sent; also told before each retry of a step."""

    def text(self, delta: str) -> None:
        """More of the reply's text."""

    def thinking(self, delta: str) -> None:
        """More of what the model thinks."""

    def tool_started(self, call: ToolUse) -> None:
        """A call is about to run."""

    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        """A call ended, well or not."""

    def step_finished(
        self, step: int, parts: tuple[Part, ...], stop_reason: str, usage: Usage
    ) -> None:
        """The reply is whole; its calls are about to run."""

    def step_failed(self, step: int, sentence: str, retry_in: float | None) -> None:
        """An attempt failed. With *retry_in* (seconds) another follows and what this one
        told is stale; without, the run ends and what it told is kept.
        """

    def note(self, sentence: str) -> None:
        """Something the person should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    ending: Ending
    error: AgentError | None = None
    # Of all steps, failed attempts included as far as they were counted.
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    # Size of the conversation after the last step, as the provider counted it.
    context_tokens: int = 0

    @property
    def sentence(self) -> str:
        """What the person is told; empty when the run ended by itself."""
        return self.error.sentence if self.error else ENDINGS[self.ending].sentence

    @property
    def can_retry(self) -> bool:
        """Whether to offer doing it again."""
        return self.error.can_retry if self.error else ENDINGS[self.ending].can_retry


def run(
    *,
    provider: Provider,
    system: list[dict[str, Any]],
    history: Sequence[Message],
    toolbox: Toolbox,
    listener: Listener,
    inbox: Callable[[int], list[Message]],
    watch: Watch,
    limits: Limits,
) -> Outcome:
    """Run one turn to its end; only what the listener or the inbox raises comes out.

    *inbox* is asked before each request, and again before a natural end, with the number of
    the step to come; the messages it gives are folded in as the user's.
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
# Reasons to stop that are faults: nothing that the person could have written is missing.
_FAULTS = {"refusal": "refused", "model_context_window_exceeded": "context_overflow"}
_NOTHING_WRITTEN = "The model ended its turn without writing anything."


@dataclass(slots=True, kw_only=True)
class _Turn:
    """The state of a turn: what was said so far, and what it took."""

    provider: Provider
    system: list[dict[str, Any]]
    messages: list[Message]
    toolbox: Toolbox
    listener: Listener
    inbox: Callable[[int], list[Message]]
    watch: Watch
    limits: Limits
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    has_text: bool = False

    def outcome(self, ending: Ending, error: AgentError | None = None) -> Outcome:
        """How it ended, with what it took."""
        return Outcome(
            ending=ending,
            error=error,
            usage=self.usage,
            steps=self.step,
            context_tokens=self.context_tokens,
        )

    def run(self) -> Ending:
        """Step by step to an end; raises ``Cancelled`` and ``ProviderFault``."""
        repeats = Repeats(self.limits.identical_calls)
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
                self._call(calls, repeats)
                if repeats.is_circle:
                    return "repeat"
            # A paused reply goes on from where it stands.
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
        """One reply, with as many attempts as it takes and the limits allow."""
        self.step += 1
        attempt = 1
        while True:
            self.listener.step_started(self.step)
            try:
                end = self._attempt()
                break
            except ProviderFault as fault:
                silent = fault.kind == "silent"
                may = self.limits.may_retry(attempt, fault.retry_after, is_silent=silent)
                if not (fault.retryable and may):
                    self.listener.step_failed(self.step, fault.sentence, None)
                    raise
                delay = self.limits.retry_delay(attempt, fault.retry_after)
                # Not all at the same moment, and never sooner than the provider asks for.
                delay *= 1 + random.random() / 4  # noqa: S311 - nothing secret hangs on it
                self.listener.step_failed(self.step, fault.what, delay)
                self.watch.sleep(delay)
                attempt += 1
        self.messages.append(Message("assistant", end.parts))
        self.has_text = self.has_text or any(isinstance(part, Text) for part in end.parts)
        self.context_tokens = end.usage.total or self._estimate()
        self.listener.step_finished(self.step, end.parts, end.stop_reason, end.usage)
        return end

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
                        case Note(sentence):
                            self.listener.note(sentence)
                        case Counted(usage):
                            counted = usage
                        case StepEnd():
                            end = event
            finally:
                # What was counted costs, also when the attempt came to nothing.
                self.usage += counted
        return end

    def _call(self, calls: list[ToolUse], repeats: Repeats) -> None:
        """Run the calls one after another, up to one that closes a circle."""
        results: list[Part] = []
        for call in calls:
            self.watch.check()
            outcome = self._called(call, repeats)
            results.append(ToolResult(call.id, outcome.content, outcome.ok))
            if repeats.is_circle:
                break
        self.messages.append(Message("user", tuple(results)))

    def _called(self, call: ToolUse, repeats: Repeats) -> ToolOutcome:
        self.listener.tool_started(call)
        since = time.monotonic()
        try:
            if call.problem:
                outcome = ToolOutcome(ok=False, content=call.problem)
            else:
                outcome = self.toolbox.call(call.name, call.arguments)
        except Cancelled:
            # Closed, so that whoever keeps the calls has a result for each.
            cut = ToolOutcome(ok=False, content=NO_RESULT)
            self.listener.tool_finished(call, cut, time.monotonic() - since)
            raise
        outcome = repeats.add(call, outcome)
        self.listener.tool_finished(call, outcome, time.monotonic() - since)
        return outcome

    def _estimate(self) -> int:
        """The conversation's size, for servers that do not count."""
        return estimate(str(self.system)) + estimate_messages(self.messages)

    def _fault(self, kind: str) -> ProviderFault:
        fault = ProviderFault(kind, host=self.provider.host, model=self.provider.preset.model)
        self.listener.step_failed(self.step, fault.sentence, None)
        return fault
