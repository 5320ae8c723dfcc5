"""One turn: the model speaks, its tools run, until it has nothing more to call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from jenny.agent.errors import ENDINGS, AgentError, Ending
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Part, ToolUse
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
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
        told is stale; without, the run ends and what it told is kept."""

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
    raise NotImplementedError
