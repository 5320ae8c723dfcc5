"""What a run of Dream is given, and what is known of it at its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.agent.watch import Watch
from jenny.workspace.config import Config
from memory.approval.values import Shelf
from memory.dream.judging.counters import Alarm
from memory.dream.offer.offering import Book
from memory.dream.reviewing.reviewed import Reviewed
from memory.dream.turn import Said
from memory.dream.values import Attempt, Batch, Decision, Trigger

BROKE = "Something in Jenny itself broke; the log has the details."


class Lost(Exception):
    """The run was taken over: whoever did so sees to the rest, and nothing more is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a run is given.

    *run*: its name in the write log. *snapshot* takes one and says what came of it (id, sentence).
    *model* says which one is asked, or raises ``AgentError``. *used_today*: tokens of the
    workspace's runs of the day so far. *shelf*: where writes wait for a person's approval.
    *rests_on*: the entries that lines rest on, by the lines' digests.
    """

    root: Path
    run: str
    trigger: Trigger
    book: Book
    config: Config
    watch: Watch
    snapshot: Callable[[], tuple[str, str]]
    model: Callable[[], Provider]
    used_today: int = 0
    zone: str = ""
    shelf: Shelf | None = None
    rests_on: Callable[[Sequence[str]], tuple[int, ...]] = lambda _: ()


@dataclass(slots=True, kw_only=True)
class Done:
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
    said: Said | None = None
    review: Reviewed | None = None
    alarms: tuple[Alarm, ...] = ()
    standing: tuple[Alarm, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    seconds: float = 0.0
    is_capped: bool = False
    report: dict[str, Any] = field(default_factory=dict)
