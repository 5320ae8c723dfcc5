"""The messages of conversations, which a higher layer stores and registers here.

The memory asks for the messages behind a line, and for those that were edited away: Dream skips
entries about them and no prompt shows them. A restored database may give message ids out again, so
an entry counts only when its messages were said before it was written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.history.entries import STAMP, HistoryEntry

# The zone in which the local time is earliest.
_WESTERNMOST = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message: its id, ``user`` or ``answer``, time, the beginning of its text, its page."""

    id: int
    who: str
    at: datetime
    excerpt: str
    url: str


@dataclass(frozen=True, slots=True)
class SourceConversation:
    """Messages of one conversation, oldest first; *more* counts those left out."""

    conversation: str
    title: str
    said: tuple[SourceMessage, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """The messages to look up: those of a chat run, or from first to last, said before *until*.

    *about* is the text that is explained: of many messages, those that say it are given.
    """

    root: Path
    run: str = ""
    conversation: str = ""
    messages: tuple[int, int] | None = None
    until: datetime | None = None
    about: str = ""


@dataclass(frozen=True, slots=True)
class EditedMessages:
    """Messages that are in no conversation any more: when each was said, by conversation and id."""

    said: Mapping[tuple[str, int], datetime] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.said)


NO_EDITED_MESSAGES = EditedMessages()


@dataclass(frozen=True, slots=True)
class MessageSource:
    """Look-ups of messages. *find*: the messages of a query, ``None`` when they are deleted or
    unknown. *edited*: those edited away, by workspace folder; none for an unknown workspace."""

    find: Callable[[MessageQuery], SourceConversation | None]
    edited: Callable[[Path], EditedMessages]


_SOURCES: list[MessageSource] = []


def register_message_source(source: MessageSource) -> None:
    if source not in _SOURCES:
        _SOURCES.append(source)


def find_source_messages(query: MessageQuery) -> SourceConversation | None:
    """Return the messages; ``None`` when they are deleted or unknown."""
    return next((found for source in _SOURCES if (found := source.find(query))), None)


def find_edited_messages(root: Path) -> EditedMessages:
    """Return the workspace's messages that were edited away."""
    return next((gone for source in _SOURCES if (gone := source.edited(root))), NO_EDITED_MESSAGES)


def written_at(entry: HistoryEntry) -> datetime | None:
    """Return the latest time at which the entry can have been written; ``None`` without a
    timestamp.

    Timestamps name no zone, and the settings may have named another one then.
    """
    try:
        minute = datetime.strptime(entry.timestamp, STAMP).replace(tzinfo=UTC)
        return minute + _WESTERNMOST + timedelta(minutes=1)
    except (ValueError, OverflowError):  # a person may have written any year
        return None


def is_about_edited(entry: HistoryEntry, gone: EditedMessages) -> bool:
    """True when some of the entry's messages were edited away.

    An edit removes everything after it, so the entry's last message decides.
    """
    if entry.messages is None:
        return False
    said = gone.said.get((entry.conversation, entry.messages[1]))
    end = said and written_at(entry)
    return said is not None and (end is None or said < end)


def edited_cursors(root: Path, entries: Iterable[HistoryEntry]) -> frozenset[int]:
    """Return the numbers of the *entries* to skip."""
    gone = find_edited_messages(root)
    return frozenset(entry.cursor for entry in entries if gone and is_about_edited(entry, gone))
