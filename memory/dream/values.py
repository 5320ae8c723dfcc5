"""Values that the parts of a Dream run exchange.

The batch is what the model is shown, attempts and verdicts are what it did with it, and a decision
is what follows for Dream's place in the history. Entries are named by their cursors throughout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from jenny.agent.tokens import Usage
from memory.history.entries import HistoryEntry

type Status = Literal[
    "nothing_pending",
    "failed",
    "wrote_nothing",
    "partly_written",
    "completed",
    "nothing_new",
    "held",
    "gave_up",
    "waiting",
    "interrupted",
    "paused",
]
"""How a run ended. ``waiting``: for a person's approval; ``interrupted``: its holder died;
``paused``: somebody paused all calls to models, and nothing counts against it."""

type VerdictKind = Literal["saved", "waiting", "already_known", "not_kept", "unaccounted"]
"""``waiting``: written, and a person decides on it."""
type RunKind = Literal["dream", "review"]
type Trigger = Literal["manual", "scheduled", "command"]
type Due = Literal["", "due", "forced"]
"""True when a review pass is due, and whether by its turn or because Dream is stuck."""

# Subjects of the versions that a run makes.
RUN_SUBJECTS: dict[Trigger, str] = {
    "manual": "dream: manual run",
    "command": "dream: manual run",
    "scheduled": "dream: scheduled run",
}
INTERRUPTED_SUBJECT = "dream: interrupted run"


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """An entry as the model is shown it.

    *pieces* put together again are the text that is shown: the entry's own, or its *digest* (what
    a summariser made of a raw text). *tags* are the marks of the facts in it (``permanent`` …).
    *tries*: from how many runs it has come back so far. *is_reoffered*: Dream's cursor is past it,
    and it is shown again all the same.
    """

    entry: HistoryEntry
    pieces: tuple[str, ...]
    tags: frozenset[str] = frozenset()
    digest: str | None = None
    tries: int = 0
    is_reoffered: bool = False

    @property
    def cursor(self) -> int:
        return self.entry.cursor

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class PassedOver:
    """An entry that the model is not shown, and why (words for a sentence)."""

    cursor: int
    why: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The entries that one run works on, in the order shown.

    *fenced_text* is the whole section in a fence that nothing in it can close, ready for the
    prompt. *passed*: entries between the shown ones, or before them, that are left out for good.
    *waiting*: how many entries wait behind the batch.
    """

    entries: tuple[BatchEntry, ...] = ()
    fenced_text: str = ""
    passed: tuple[PassedOver, ...] = ()
    waiting: int = 0

    @property
    def cursors(self) -> frozenset[int]:
        """The entries' numbers: what a write may name as its sources."""
        return frozenset(row.cursor for row in self.entries)

    @property
    def newest(self) -> int:
        """The highest cursor that the batch takes in, shown or passed over; 0: none."""
        shown = (row.cursor for row in self.entries if not row.is_reoffered)
        return max((*shown, *(row.cursor for row in self.passed)), default=0)

    def __bool__(self) -> bool:
        return bool(self.entries)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempted change of one file.

    *rule* is the refusing rule's name (``WriteRefused.rule``), ``"edit"`` where the edit itself
    did not fit the file, and empty when it landed. *message* is what the model was told. *added*
    and *removed* are the lines, by what the file really became; of a refused attempt, what they
    would have been. *grew* is by how many characters the file grew (negative: shrank), 0 when
    nothing landed. *waits*: it changed no file yet, but waits for a person's approval.
    """

    tool: str
    path: str
    sources: tuple[int, ...]
    ok: bool
    rule: str = ""
    message: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    grew: int = 0
    waits: bool = False


@dataclass(frozen=True, slots=True)
class EntryVerdict:
    """The model's verdict on an entry, and the reason where it must give one."""

    cursor: int
    kind: VerdictKind
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """All that the cursor rule looks at.

    *cursor*: where Dream's cursor stands. *ending*: how the model's turn ended, as the loop says
    (``done`` is the only natural end), and *why* in a sentence when it is another. *was_seen*:
    whether the model saw the batch, that is, sent any answer to it. *is_outage*: the fault is the
    provider's or the network's, and no entry's. *open_refusals*: attempts refused and never made
    good.
    *near_mark*: the memory files that stood at 90 % of their budget or more when the run began.
    *known_in_files*: entries of which every tagged fact is found in a file, exactly or nearly.
    *staged*: changes that wait for a person's approval.
    *uncovered*: by entry, the names and texts of facts to be kept that no file states after the run
    and that were not left out for a reason; ``None``: nobody has looked. *landed_facts*: entries of
    which the run itself wrote a fact.
    """

    batch: Batch
    cursor: int
    ending: str = "done"
    why: str = ""
    was_seen: bool = True
    is_outage: bool = False
    attempts: tuple[Attempt, ...] = ()
    open_refusals: tuple[Attempt, ...] = ()
    verdicts: tuple[EntryVerdict, ...] = ()
    near_mark: tuple[str, ...] = ()
    known_in_files: frozenset[int] = frozenset()
    staged: int = 0
    uncovered: Mapping[int, tuple[tuple[str, str], ...]] | None = None
    landed_facts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The consequences of a run.

    *advance_to*: Dream's new cursor; ``None``: it stays. *why*: the reason in a sentence, empty
    where there is none to give. *tried*: entries of which this run used up a try. *reoffer*:
    entries that go (or stay) on the list of those shown again. *done_with*: entries that leave
    that list. *set_aside*: entries given up. *verdicts*: what became of each entry, as far as the
    run's own writes bear it out.
    """

    status: Status
    advance_to: int | None = None
    why: str = ""
    tried: frozenset[int] = frozenset()
    reoffer: frozenset[int] = frozenset()
    done_with: frozenset[int] = frozenset()
    set_aside: frozenset[int] = frozenset()
    verdicts: tuple[EntryVerdict, ...] = ()
    is_held: bool = False
    counts_as_stuck: bool = False
    held_count: int = field(default=0)


type ReviewOutcome = Literal["completed", "no_change", "waiting", "failed", "paused"]

ARCHIVED_NAMED = 10
_SETTINGS = "[Settings → Memory updates](/settings/memory/)"


@dataclass(slots=True, kw_only=True)
class ReviewResult:
    """It grows as the pass goes on.

    *freed*: characters, over the files that have a budget; negative: they grew. *is_fault*: the
    model could not be asked, or something broke. *is_enough*: it was ended, having done enough.
    """

    due: Due
    status: ReviewOutcome = "failed"
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
        """True unless the pass was put off together with its run."""
        return self.status != "paused"

    @property
    def message(self) -> str:
        """Describe the pass to the person, by its own writes."""
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
    def full_message(self) -> str:
        """The sentence, and what it did."""
        return "\n\n".join(part for part in (self.message, self.report.get("markdown")) if part)

    @property
    def json(self) -> dict[str, Any]:
        return {
            "due": self.due,
            "status": self.status,
            "why": self.why,
            "message": self.message,
            "full_message": self.full_message,
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


_OUTCOMES: dict[ReviewOutcome, str] = {
    "completed": "Review:",
    "no_change": "Review: nothing had to be made smaller.",
    "waiting": "Review: what it would change waits for your approval.",
    "failed": "Review: it was not clean, and comes back in two runs. {why}",
    "paused": "Review: put off. {why}",
}
REVIEW_INTERRUPTED = "Its process ended in the middle."


def _freed(chars: int) -> str:
    if chars > 0:
        return f"{chars:,} {'character' if chars == 1 else 'characters'} freed."
    if chars < 0:
        return f"Nothing was freed; the files have {-chars:,} characters more."
    return "Nothing was freed."


def _archived(ids: Sequence[str]) -> str:
    named = ", ".join(f"`{one}`" for one in ids[:ARCHIVED_NAMED])
    more = f" and {len(ids) - ARCHIVED_NAMED} more" if len(ids) > ARCHIVED_NAMED else ""
    what = "fact" if len(ids) == 1 else "facts"
    return f"{len(ids)} {what} moved to the archive: {named}{more}."
