"""What a run of Dream is given, and what is known of it at its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.agent.cancellation import CancellationToken
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.workspace.config import Config
from memory.approvals.values import ProposalStore
from memory.dream.batching.selection import RunStore
from memory.dream.model_turn import TurnResult
from memory.dream.outcome.counters import Alarm
from memory.dream.review.result import ReviewResult
from memory.dream.values import Attempt, Batch, Decision, Trigger

BROKE = "Something in Jenny itself broke; the log has the details."


class LeaseLost(Exception):
    """The run was taken over: whoever did so sees to the rest, and nothing more is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What a run is given.

    *run*: its name in the write log. *snapshot* takes one and says what came of it (id, sentence).
    *model* says which one is asked, or raises ``AgentError``. *used_today*: tokens of the
    workspace's runs of the day so far. *shelf*: where writes wait for a person's approval.
    *rests_on*: the entries that lines rest on, by the lines' digests.
    """

    root: Path
    run: str
    trigger: Trigger
    store: RunStore
    config: Config
    watch: CancellationToken
    snapshot: Callable[[], tuple[str, str]]
    model: Callable[[], Provider]
    used_today: int = 0
    zone: str = ""
    shelf: ProposalStore | None = None
    rests_on: Callable[[Sequence[str]], tuple[int, ...]] = lambda _: ()


@dataclass(slots=True, kw_only=True)
class RunResult:
    """What is known of a run at its end; it grows as the run goes on."""

    decision: Decision = field(default_factory=lambda: Decision(status="failed", why=BROKE))
    batch: Batch = field(default_factory=Batch)
    attempts: tuple[Attempt, ...] = ()
    cursor_from: int | None = None
    cursor_to: int | None = None
    snapshot: str = ""
    commits: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    said: TurnResult | None = None
    review: ReviewResult | None = None
    alarms: tuple[Alarm, ...] = ()
    standing: tuple[Alarm, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    seconds: float = 0.0
    is_capped: bool = False
    report: dict[str, Any] = field(default_factory=dict)
