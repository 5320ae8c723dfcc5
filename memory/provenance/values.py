"""Values of a line's origin, and the registered look-up of messages."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jenny.workspace.versions.messages import Version
from memory.history.entries import HistoryEntry
from memory.provenance.lines import Relation


@dataclass(frozen=True, slots=True)
class Writing:
    """A write that added the line or one of its predecessors: author, run, entries on which it
    rests (*missing*: those that the history lacked), and what it replaced. *is_own*: it added
    the line itself."""

    path: str
    relation: Relation
    actor: str
    run: str
    account: int | None
    sources: tuple[int, ...]
    missing: tuple[int, ...]
    reason: str
    at: datetime
    was_path: str = ""
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """A message: its id, ``user`` or ``answer``, time, the beginning of its text, its page."""

    id: int
    who: str
    at: datetime
    excerpt: str
    url: str


@dataclass(frozen=True, slots=True)
class Speech:
    """Messages of one conversation, oldest first; *more* counts those left out."""

    conversation: str
    title: str
    said: tuple[Said, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class WhyEntry:
    """A history entry on which a write rests; ``None``: the history no longer has it."""

    cursor: int
    entry: HistoryEntry | None
    speech: Speech | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation of a line. *writes* are newest first. *version* added the line when no
    write is recorded. *speech* are the messages of the chat turns that wrote it."""

    path: str
    line: int
    text: str
    writes: tuple[Writing, ...] = ()
    entries: tuple[WhyEntry, ...] = ()
    speech: tuple[Speech, ...] = ()
    version: Version | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The messages to look up: those of a chat run, or from first to last, said before *until*."""

    root: Path
    run: str = ""
    conversation: str = ""
    messages: tuple[int, int] | None = None
    until: datetime | None = None


_SPEECH: list[Callable[[Anchor], Speech | None]] = []


def register_speech(asked: Callable[[Anchor], Speech | None]) -> None:
    """Register the look-up of messages, which a higher layer stores."""
    if asked not in _SPEECH:
        _SPEECH.append(asked)


def speech(anchor: Anchor) -> Speech | None:
    """Return the messages; ``None`` when they are deleted or unknown."""
    return next((found for asked in _SPEECH if (found := asked(anchor))), None)
