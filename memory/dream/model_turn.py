"""The model's turn of a run: it is asked, its tools run, and what came of it is taken down."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from jenny.agent import loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import OVERRUN, AgentError, ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Part, Text, ToolUse
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.agent.tools import Toolbox, ToolOutcome
from memory.dream.limits import capped
from memory.history.summary_answer import NATURAL_STOPS

# Faults that are an answer to just this request: whoever sends it again gets them again. All
# others are the provider's or the network's, and say nothing about an entry.
OF_THE_REQUEST = frozenset(
    {"refused", "context_overflow", "too_large", "bad_request", "malformed", "too_long"}
)


class TurnObserver(Protocol):
    """What is told of every reply, and may have something to say before the next one."""

    def step_finished(self, parts: tuple[Part, ...]) -> None: ...

    def inbox(self, step: int) -> list[Message]:
        """What is folded in before the step with that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How the model's turn ended.

    *ending*: ``done`` only after a natural end with something said or done; *why*: the reason, in
    a sentence, when it is another. *was_seen*, *is_outage*: as in ``RunFacts``.
    """

    ending: str
    why: str = ""
    was_seen: bool = False
    is_outage: bool = False
    # The first request was longer than the model can read.
    is_too_long: bool = False
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    notes: tuple[str, ...] = ()


def ask_model(
    *,
    provider: Provider,
    system: SystemPrompt,
    first: Message,
    toolbox: Toolbox,
    reminder: TurnObserver,
    watch: CancellationToken,
    limits: Limits,
    spent: Callable[[Usage], None] = lambda _: None,
) -> TurnResult:
    """Ask the model, and let its tools run to the end. *spent* is told what each reply used."""
    ear = _TurnListener(reminder, spent)
    outcome = loop.run(
        provider=provider,
        system=system.wire(),
        history=[first],
        toolbox=toolbox,
        listener=ear,
        inbox=reminder.inbox,
        watch=watch,
        limits=limits,
    )
    ending, why = _ending(outcome, ear, limits)
    kind = outcome.error.kind if outcome.error else ""
    is_answer = kind in OF_THE_REQUEST
    return TurnResult(
        ending=ending,
        why=why,
        was_seen=ear.steps > 0 or is_answer,
        is_outage=outcome.ending == "failed" and not is_answer,
        is_too_long=kind in OVERRUN and not ear.steps,
        usage=outcome.usage,
        steps=outcome.steps,
        notes=tuple(dict.fromkeys(ear.notes)),
    )


def failed_turn(error: AgentError) -> TurnResult:
    """The turn that did not come about, since the model cannot be asked."""
    is_answer = error.kind in OF_THE_REQUEST
    return TurnResult(
        ending="failed", why=error_advice(error), was_seen=is_answer, is_outage=not is_answer
    )


def error_advice(error: AgentError) -> str:
    """What happened and what to do, where no message of a chat was at stake."""
    return error.advice if isinstance(error, ProviderFault) else error.message


def _ending(outcome: loop.Outcome, ear: "_TurnListener", limits: Limits) -> tuple[str, str]:
    """How it ended, and why it is no natural end."""
    if outcome.ending != "done":
        if outcome.error is not None:
            return outcome.ending, error_advice(outcome.error)
        return outcome.ending, capped(outcome.ending, limits) or outcome.message
    if outcome.by_tool:
        return "done", ""
    if ear.stop_reason not in NATURAL_STOPS:
        return "unnatural", f"The model's answer ended with “{ear.stop_reason[:40] or 'nothing'}”."
    if not ear.has_said and not ear.has_called:
        return "empty", "The model answered nothing at all."
    return "done", ""


class _TurnListener:
    """The loop's listener: takes down what the ending is judged by."""

    def __init__(self, reminder: TurnObserver, spent: Callable[[Usage], None]) -> None:
        self._reminder = reminder
        self._spent = spent
        self.steps = 0
        self.stop_reason = ""
        self.has_said = False
        self.has_called = False
        self.notes: list[str] = []

    def step_started(self, step: int) -> None: ...

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None: ...

    def tool_started(self, call: ToolUse) -> None:
        """It is on record when it has ended."""
        del call
        self.has_called = True

    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        """What it did is on record with the hand that did it."""

    def step_finished(
        self, step: int, parts: tuple[Part, ...], stop_reason: str, usage: Any
    ) -> None:
        del step
        self._spent(usage)
        self.steps += 1
        self.stop_reason = stop_reason
        self.has_said = self.has_said or any(
            isinstance(part, Text) and part.text.strip() for part in parts
        )
        self._reminder.step_finished(parts)

    def step_failed(self, step: int, message: str, retry_in: float | None) -> None: ...

    def note(self, message: str) -> None:
        self.notes.append(message)
