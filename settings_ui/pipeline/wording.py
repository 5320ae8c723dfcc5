"""How runs, verdicts and writes are called on the pages: one table for each."""

from dataclasses import dataclass
from typing import Literal

type Tone = Literal["good", "plain", "warn", "bad", "alive"]


@dataclass(frozen=True, slots=True)
class Word:
    """A name, and how much it matters."""

    text: str
    tone: Tone = "plain"


# By ``memory.dream.values.Status``, and by the state of a run that has not ended.
STATUS: dict[str, Word] = {
    "queued": Word("Waits for a worker", "alive"),
    "running": Word("Under way", "alive"),
    "completed": Word("Completed", "good"),
    "nothing_new": Word("Nothing new"),
    "nothing_pending": Word("Nothing to process"),
    "waiting": Word("Waits for you", "warn"),
    "held": Word("Held", "warn"),
    "partly_written": Word("Partly written", "warn"),
    "wrote_nothing": Word("Wrote nothing", "warn"),
    "gave_up": Word("Gave up", "bad"),
    "interrupted": Word("Interrupted", "bad"),
    "failed": Word("Failed", "bad"),
    "paused": Word("Paused"),
    "estimated": Word("Estimated"),
}

# By ``memory.approval.values.State``, of a change that was decided.
HUNK = {
    "accepted": "Accepted",
    "rejected": "Wording rejected",
    "never": "Never to be stored",
    "settled": "Settled by itself",
    "superseded": "Replaced by a later run",
    "void": "Void since a restore",
}

VERDICT: dict[str, Word] = {
    "saved": Word("Saved", "good"),
    "already_known": Word("Known already"),
    "not_kept": Word("Not kept"),
    "unaccounted": Word("Not accounted for", "warn"),
    "waiting": Word("Waits for you", "warn"),
    "passed_over": Word("Passed over"),
}

TRIGGER: dict[str, str] = {
    "manual": "by hand",
    "scheduled": "by the clock",
    "command": "by a command",
}

# What refused a write, by the rule's name (``WriteRefused.rule``).
RULE: dict[str, str] = {
    "budget": "over its budget",
    "pinned": "pinned by you",
    "forgotten": "forgotten by you",
    "protected": "not Dream’s to write",
    "epoch": "the run had been taken over",
    "edit": "did not fit the file",
}


def status(name: str, *, still_waits: bool = True) -> Word:
    """What an outcome is called; one that this table does not know, by its own name.
    *still_waits*: of a run whose changes waited for a person, whether some still do."""
    if name == "waiting" and not still_waits:
        return Word("Decided by you")
    return STATUS.get(name) or Word(name.replace("_", " ").capitalize() or "Ended")


def verdict(name: str) -> Word:
    """What became of an entry."""
    return VERDICT.get(name) or Word(name.replace("_", " ").capitalize())


def rule(name: str) -> str:
    """Why a write was refused, in a few words."""
    return RULE.get(name, name.replace("_", " "))


def lines(text: str) -> str:
    """A text without blank lines and runs of spaces: one fact a line, as it was written."""
    rows = (" ".join(row.split()) for row in text.splitlines())
    return "\n".join(row for row in rows if row)
