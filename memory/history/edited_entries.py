"""Entries about messages that were edited away: Dream skips them and no prompt shows them.

The chat, a higher layer, registers the look-up of these messages.

A restored database may give message ids out again, so an entry counts only when its messages were
said before it was written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.history.entries import STAMP, HistoryEntry

# The zone in which the local time is earliest.
_WESTERNMOST = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class EditedMessages:
    """Messages that are in no conversation any more: when each was said, by conversation and id."""

    said: Mapping[tuple[str, int], datetime] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.said)


NONE = EditedMessages()

_ASKED: list[Callable[[Path], EditedMessages]] = []


def register(asked: Callable[[Path], EditedMessages]) -> None:
    """Register the look-up of messages that were edited away, by workspace folder. It returns
    none for an unknown workspace."""
    if asked not in _ASKED:
        _ASKED.append(asked)


def messages(root: Path) -> EditedMessages:
    """Return the workspace's messages that were edited away."""
    return next((gone for asked in _ASKED if (gone := asked(root))), NONE)


def written_at(entry: HistoryEntry) -> datetime | None:
    """Return the latest time at which the entry can have been written; ``None`` without a
    timestamp.

    Timestamps name no zone, and the settings may have named another one then.
    """
    try:
        minute = datetime.strptime(entry.timestamp, STAMP).replace(tzinfo=UTC)
        return minute + _WESTERNMOST + timedelta(minutes=1)
    except (ValueError, OverflowError):  # a hand may have written any year
        return None


def is_about(entry: HistoryEntry, gone: EditedMessages) -> bool:
    """True when some of the entry's messages were edited away.

    An edit removes everything after it, so the entry's last message decides.
    """
    if entry.messages is None:
        return False
    said = gone.said.get((entry.conversation, entry.messages[1]))
    end = said and written_at(entry)
    return said is not None and (end is None or said < end)


def cursors(root: Path, entries: Iterable[HistoryEntry]) -> frozenset[int]:
    """Return the numbers of the *entries* to skip."""
    gone = messages(root)
    return frozenset(entry.cursor for entry in entries if gone and is_about(entry, gone))
