"""What is known of a line, as values; and the way to what was said, which is known above."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jenny.workspace.versions.messages import Version
from memory.history.entries import Entry
from memory.provenance.lines import Relation


@dataclass(frozen=True, slots=True)
class Writing:
    """A write in which the line, or one that it goes back to, came: by whom, in which run, on
    which entries it rests (*missing*: those that the history did not have), and what it stood
    for. *is_own*: it is about the line as it stands, not about one it goes back to."""

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
    """A message: its id, ``user`` or ``answer``, when, the beginning of its text, its page."""

    id: int
    who: str
    at: datetime
    excerpt: str
    url: str


@dataclass(frozen=True, slots=True)
class Speech:
    """Messages of one conversation, oldest first; *more*: how many are not among them."""

    conversation: str
    title: str
    said: tuple[Said, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class WhyEntry:
    """An entry of the history that a write rests on; ``None`` where it is there no more."""

    cursor: int
    entry: Entry | None
    speech: Speech | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """Why a line stands where it stands. *writes*: newest first. *version*: the version that
    brought it, where the ledger knows no write. *speech*: what was said in the turns of chats
    that wrote it themselves."""

    path: str
    line: int
    text: str
    writes: tuple[Writing, ...] = ()
    entries: tuple[WhyEntry, ...] = ()
    speech: tuple[Speech, ...] = ()
    version: Version | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Whose messages are asked for: those of a run of the chat, or from first to last, as far as
    they were said before *until*."""

    root: Path
    run: str = ""
    conversation: str = ""
    messages: tuple[int, int] | None = None
    until: datetime | None = None


_SPEECH: list[Callable[[Anchor], Speech | None]] = []


def register_speech(asked: Callable[[Anchor], Speech | None]) -> None:
    """Let *asked* look up messages: they are kept above this floor."""
    if asked not in _SPEECH:
        _SPEECH.append(asked)


def speech(anchor: Anchor) -> Speech | None:
    """The messages that are meant; ``None``: they are gone, or nobody knows them."""
    return next((found for asked in _SPEECH if (found := asked(anchor))), None)
