"""One turn of the model in a run: its limits, the size of the request, and what came of it.

Without limits a model that turns in circles could use up its owner's money, or hold the
workspace's only run for ever. A request that is too long is found before it is sent.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from jenny.agent import loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import OVERRUN, AgentError, ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Part, Text, ToolUse
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage, estimate, estimate_messages
from jenny.agent.tools import Toolbox, ToolOutcome
from jenny.workspace.config import Config
from memory import budgets
from memory.history.digest import OF_THE_REQUEST
from memory.history.summary_answer import NATURAL_STOPS

# Tokens that a reply must have room for.
_LEAST_REPLY = 512
# Characters of a text that is summarised at once, for each token of the window.
_CHARS_A_TOKEN = 2
_LEAST_CHARS = 2_000
# A file with fewer characters makes no request too long.
_WORTH_NAMING = 4_000


def window_of(config: Config, provider: Provider | None = None) -> int:
    """Return the model's context window in tokens: the setting, or what its server said lately."""
    window: int = config.agents.defaults.context_window_tokens
    known = provider.window if provider else None
    return min(window, known) if known else window


def chunk_chars(config: Config, most: int) -> int:
    """Characters of a raw text that the model is asked about at once; *most* at most."""
    return max(_LEAST_CHARS, min(most, window_of(config) * _CHARS_A_TOKEN))


def estimate_tokens(system: SystemPrompt, first: Message, schemas: Sequence[dict[str, Any]]) -> int:
    """About how many tokens a request takes."""
    schemas_text = json.dumps(list(schemas))
    return estimate(system.text) + estimate(schemas_text) + estimate_messages([first])


def why_too_long(root: Path, config: Config, provider: Provider, needs: int) -> str:
    """Explain why a request of so many tokens cannot be sent, with the file that is too big and
    what to do; empty when it fits."""
    window = window_of(config, provider)
    if needs + _LEAST_REPLY <= window:
        return ""
    file = describe_largest_file(root)
    return (
        f"A request takes about {needs:,} tokens, and this model reads {window:,} at once. {file} "
        "Nothing was asked, nothing is lost, and no note has used up a try."
    )


def describe_largest_file(root: Path) -> str:
    """Name the largest memory file and what to do about it."""
    row = max(budgets.gauge(root), key=lambda row: row.chars or 0)
    cure = "choose a model that reads more in Settings → Memory updates"
    if (row.chars or 0) < _WORTH_NAMING:
        return f"To go on, {cure}."
    return (
        f"{row.file.path} has {row.chars:,} characters: shorten it in the file browser, or {cure}."
    )


# Kept free at the end of a run's time for what follows the model's turn.
GRACE_SECONDS = 120.0
SETTINGS_PAGE = "Settings → Memory updates"


def run_limits(
    config: Config, *, used_today: int, used: int = 0, steps: int = 0, result_chars: int = 16_000
) -> Limits:
    """A run's limits. *used_today*: tokens that the day's runs of the workspace used before it;
    *used* and *steps*: what itself has taken so far."""
    return Limits(
        max_steps=max(config.agents.defaults.dream.max_steps_per_run - steps, 1),
        max_run_tokens=_tokens(config, used_today, used),
        seconds=float(config.agents.defaults.dream.max_seconds_per_run),
        max_result_chars=result_chars,
    )


def review_limits(config: Config, *, used_today: int) -> Limits:
    """A review pass's limits: at most half of what its run may take, so that the batch has its
    share."""
    whole = run_limits(config, used_today=used_today)
    tokens = whole.max_run_tokens
    return replace(
        whole,
        max_steps=max(whole.max_steps // 2, 1),
        max_run_tokens=None if tokens is None else max(tokens // 2, 1),
        seconds=whole.seconds / 2,
    )


def deadline_seconds(config: Config) -> float:
    """After how long a run is over whatever it does, and its claim ends."""
    return float(config.agents.defaults.dream.max_seconds_per_run) + GRACE_SECONDS


def day_is_spent(config: Config, used_today: int) -> str:
    """Explain why no further run begins today; empty when one may."""
    most = config.agents.defaults.dream.max_tokens_per_day
    if not most or used_today < most:
        return ""
    return (
        f"Dream's tokens of today are used up ({used_today:,} of {most:,}). "
        f"It goes on tomorrow; the limit is in {SETTINGS_PAGE}."
    )


def describe_cap(ending: str, limits_: Limits) -> str:
    """Describe the limit that ended a run; empty for another ending."""
    match ending:
        case "step_cap":
            return f"It took as many steps as a run may ({limits_.max_steps:,})."
        case "tokens":
            return f"It used as many tokens as a run may ({limits_.max_run_tokens:,})."
        case "time":
            return f"It took as long as a run may ({limits_.seconds:,.0f} seconds)."
        case "repeat":
            return "The model made the same call again and again."
        case "cut":
            return "A reply of the model reached its length limit."
    return ""


def _tokens(config: Config, used_today: int, used: int) -> int | None:
    """Return the rest of the run's own limit, or of the day's; ``None``: there is none."""
    run: int = config.agents.defaults.dream.max_tokens_per_run
    day: int = config.agents.defaults.dream.max_tokens_per_day
    left = [run - used] if run else []
    left += [day - used_today - used] if day else []
    return max(min(left), 1) if left else None


class TurnObserver(Protocol):
    """Observes every reply, and may send messages before the next one."""

    def step_finished(self, parts: tuple[Part, ...]) -> None: ...

    def inbox(self, step: int) -> list[Message]:
        """Return the messages to add before the step with that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """The end of the model's turn.

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
    listener = _TurnListener(reminder, spent)
    outcome = loop.run(
        provider=provider,
        system=system.wire(),
        history=[first],
        toolbox=toolbox,
        listener=listener,
        inbox=reminder.inbox,
        watch=watch,
        limits=limits,
    )
    ending, why = _ending(outcome, listener, limits)
    kind = outcome.error.kind if outcome.error else ""
    is_answer = kind in OF_THE_REQUEST
    return TurnResult(
        ending=ending,
        why=why,
        was_seen=listener.steps > 0 or is_answer,
        is_outage=outcome.ending == "failed" and not is_answer,
        is_too_long=kind in OVERRUN and not listener.steps,
        usage=outcome.usage,
        steps=outcome.steps,
        notes=tuple(dict.fromkeys(listener.notes)),
    )


def failed_turn(error: AgentError) -> TurnResult:
    """The turn that did not come about, since the model cannot be asked."""
    is_answer = error.kind in OF_THE_REQUEST
    return TurnResult(
        ending="failed", why=error_advice(error), was_seen=is_answer, is_outage=not is_answer
    )


def error_advice(error: AgentError) -> str:
    """Explain an error and what to do, where no message of a chat was at stake."""
    return error.advice if isinstance(error, ProviderFault) else error.message


def _ending(outcome: loop.Outcome, listener: "_TurnListener", limits: Limits) -> tuple[str, str]:
    """Return the ending, and why it is no natural end."""
    if outcome.ending != "done":
        if outcome.error is not None:
            return outcome.ending, error_advice(outcome.error)
        return outcome.ending, describe_cap(outcome.ending, limits) or outcome.message
    if outcome.by_tool:
        return "done", ""
    if listener.stop_reason not in NATURAL_STOPS:
        reason = listener.stop_reason[:40] or "nothing"
        return "unnatural", f"The model's answer ended with “{reason}”."
    if not listener.has_said and not listener.has_called:
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
        """Do nothing: the write session has it on record."""

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
