"""What is known of a review pass, and what a person is told of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from jenny.agent.tokens import Usage
from memory.dream.outcome.counters import Due
from memory.dream.values import Attempt

type Outcome = Literal["completed", "no_change", "waiting", "failed", "paused"]

NAMED = 10
_SETTINGS = "[Settings → Memory updates](/settings/memory/)"


@dataclass(slots=True, kw_only=True)
class ReviewResult:
    """It grows as the pass goes on.

    *freed*: characters, over the files that have a budget; negative: they grew. *is_fault*: the
    model could not be asked, or something broke. *is_enough*: it was ended, having done enough.
    """

    due: Due
    status: Outcome = "failed"
    why: str = ""
    freed: int = 0
    is_fault: bool = True
    is_enough: bool = False
    attempts: tuple[Attempt, ...] = ()
    archived: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    seconds: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether it counts at all: one that was put off together with its run does not."""
        return self.status != "paused"

    @property
    def message(self) -> str:
        """What a person is told, by what its own writes did."""
        parts = [_OUTCOMES[self.status].format(why=self.why or "The reason is not known.")]
        if self.status in ("completed", "failed") and (self.freed or self.status == "completed"):
            parts.append(_freed(self.freed))
        if self.is_enough:
            parts.append("It was ended, since that was enough for one pass.")
        if self.archived:
            parts.append(_archived(self.archived))
        if count := self.refused_by_budget:
            them = "write was" if count == 1 else "writes were"
            parts.append(f"{count} {them} refused by a budget and never landed ({_SETTINGS}).")
        return " ".join(parts)

    @property
    def refused_by_budget(self) -> int:
        return sum(row["rule"] == "budget" for row in self.report.get("refused", ()))

    @property
    def told(self) -> str:
        """The sentence, and what it did."""
        return "\n\n".join(part for part in (self.message, self.report.get("markdown")) if part)

    @property
    def json(self) -> dict[str, Any]:
        return {
            "due": self.due,
            "status": self.status,
            "why": self.why,
            "message": self.message,
            "told": self.told,
            "freed": self.freed,
            "ended_early": self.is_enough,
            "moved": self.report.get("moved", []),
            "archived": list(self.archived),
            "refused": self.report.get("refused", []),
            "writes": [asdict(row) for row in self.attempts],
            "commits": list(self.commits),
            "report": self.report,
            "tokens": asdict(self.usage),
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
        }


_OUTCOMES: dict[Outcome, str] = {
    "completed": "Review:",
    "no_change": "Review: nothing had to be made smaller.",
    "waiting": "Review: what it would change waits for your approval.",
    "failed": "Review: it was not clean, and comes back in two runs. {why}",
    "paused": "Review: put off. {why}",
}
INTERRUPTED = "Its process ended in the middle."


def _freed(chars: int) -> str:
    if chars > 0:
        return f"{chars:,} {'character' if chars == 1 else 'characters'} freed."
    if chars < 0:
        return f"Nothing was freed; the files have {-chars:,} characters more."
    return "Nothing was freed."


def _archived(ids: Sequence[str]) -> str:
    named = ", ".join(f"`{one}`" for one in ids[:NAMED])
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    what = "fact" if len(ids) == 1 else "facts"
    return f"{len(ids)} {what} moved to the archive: {named}{more}."
