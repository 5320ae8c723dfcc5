import re
from dataclasses import dataclass
from typing import Literal

from memory.history.fact_tags import strip_tag

_NAME = re.compile(r"(?:dream|review):(\d{1,18})(?::.*)?")


def run_number(name: str) -> int | None:
    """Parse a Dream run's number from the run name of a write; ``None`` for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


# Characters of a note that are shown where there is little room.
_EXCERPT = 300
type Tone = Literal["good", "plain", "warn", "bad", "alive"]


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    tone: Tone = "plain"


# By ``memory.dream.values.Status``, and by the state of a run that has not ended.
STATUS: dict[str, Word] = {
    "queued": Word("Starts soon", "alive"),
    "running": Word("Under way", "alive"),
    "completed": Word("Done", "good"),
    "nothing_new": Word("Nothing new"),
    "nothing_pending": Word("Nothing to do"),
    "waiting": Word("To review", "warn"),
    "held": Word("Memory nearly full", "warn"),
    "partly_written": Word("Partly saved", "warn"),
    "wrote_nothing": Word("Nothing saved", "warn"),
    "gave_up": Word("Could not be processed", "bad"),
    "interrupted": Word("Interrupted", "bad"),
    "failed": Word("Not finished", "bad"),
    "paused": Word("Paused"),
    "estimated": Word("Estimated"),
}

# By ``memory.approvals.values.State`` of a change that was decided.
HUNK = {
    "accepted": "Accepted",
    "rejected": "Wording rejected",
    "never": "Forgotten",
    "settled": "No longer needed",
    "superseded": "Replaced by a later update",
    "void": "Dropped by a restore",
}

VERDICT: dict[str, Word] = {
    "saved": Word("Saved", "good"),
    "already_known": Word("Known already"),
    "not_kept": Word("Not kept"),
    "unaccounted": Word("Not done yet, will be tried again", "warn"),
    "waiting": Word("To review", "warn"),
    "passed_over": Word("Left out"),
}

TRIGGER: dict[str, str] = {
    "manual": "by hand",
    "scheduled": "by itself",
    "command": "by a command",
}

# By the name of the rule that refused a write (``WriteRefused.rule``).
RULE: dict[str, str] = {
    "budget": "no room in the file",
    "pinned": "pinned by you",
    "forgotten": "forgotten by you",
    "protected": "not Dream’s to write",
    "epoch": "another update had taken over",
    "edit": "did not fit the file",
}


def status(name: str, *, still_waits: bool = True) -> Word:
    if name == "waiting" and not still_waits:
        return Word("Decided by you")
    return STATUS.get(name) or Word(name.replace("_", " ").capitalize() or "Ended")


def verdict(name: str) -> Word:
    return VERDICT.get(name) or Word(name.replace("_", " ").capitalize())


def rule(name: str) -> str:
    return RULE.get(name, name.replace("_", " "))


def excerpt(text: str) -> str:
    """Return the beginning of a note: one fact a line, without fact tags and repeated spaces."""
    rows = (" ".join(strip_tag(row).split()) for row in text.splitlines())
    shown = "\n".join(row for row in rows if row)
    return shown if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT]}…"
