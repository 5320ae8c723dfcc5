"""What a dry run found, in plain values."""

from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

SNAPSHOT = "A snapshot of the workspace is taken before each run, so all of it can be undone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An entry of the batch: its number, time and text, how much of it is shown, how often it came
    back, and what became of it in the dry run (a verdict's kind; empty: no model was asked)."""

    cursor: int
    when: str
    text: str
    chars: int
    tries: int = 0
    is_reoffered: bool = False
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run is likely to take. *prompt_tokens*: of its first request. *is_counted*: by the
    provider, and not by the characters. *tokens*: of the whole run; *cost* in US dollars; ``None``:
    the model has no prices. *sentences*: the same in words, with what it rests on."""

    prompt_tokens: int = 0
    is_counted: bool = False
    tokens: int = 0
    cost: Decimal | None = None
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """A dry run. *status* and *message*: how the run would end (a run's status; ``estimated``: no
    model was asked). *review*: the review pass's own sentence, empty when none is due. *diffs*:
    unified differences by path. *refusals*: what would be refused and never made good, in
    sentences. *archived*: texts that would move to the archive. *tokens*: what the dry run itself
    used."""

    status: str
    message: str
    review: str = ""
    entries: tuple[Row, ...] = ()
    waiting: int = 0
    passed_over: int = 0
    estimate: Estimate = field(default_factory=Estimate)
    diffs: dict[str, str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    model: str = ""
    is_demo: bool = False

    @property
    def json(self) -> dict[str, Any]:
        """All of it as plain values; the cost as text."""
        found = asdict(self)
        cost = self.estimate.cost
        found["estimate"]["cost"] = None if cost is None else str(cost)
        return found
