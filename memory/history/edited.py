"""Entries whose messages were edited away: Dream passes them over, and no prompt shows them.

Which messages those are is known above this floor; whoever knows registers here.

A database that came back from an older state gives the numbers of messages out again. So what an
entry is about must have been said when it was written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.history.entries import STAMP, Entry

# The zone in which it is earliest.
_WESTERNMOST = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Gone:
    """Messages that stand in no conversation's thread any more: when each was said, by conversation
    and number."""

    said: Mapping[tuple[str, int], datetime] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.said)


NONE = Gone()

_ASKED: list[Callable[[Path], Gone]] = []


def register(asked: Callable[[Path], Gone]) -> None:
    """Let *asked* say which messages of the workspace at a path were edited away; it knows of none
    where it does not know the workspace."""
    if asked not in _ASKED:
        _ASKED.append(asked)


def messages(root: Path) -> Gone:
    """The messages of the workspace at *root* that were edited away."""
    return next((gone for asked in _ASKED if (gone := asked(root))), NONE)


def written(entry: Entry) -> datetime | None:
    """The latest moment at which the entry can have been written; ``None``: it has no stamp that
    tells. A stamp names no zone, and the settings may have named another one then."""
    try:
        minute = datetime.strptime(entry.timestamp, STAMP).replace(tzinfo=UTC)
        return minute + _WESTERNMOST + timedelta(minutes=1)
    except (ValueError, OverflowError):  # a hand may have written any year
        return None


def is_about(entry: Entry, gone: Gone) -> bool:
    """Whether the entry is about messages of which some were edited away.

    An edit takes away everything behind it, so the last message of an entry tells.
    """
    if entry.messages is None:
        return False
    said = gone.said.get((entry.conversation, entry.messages[1]))
    end = said and written(entry)
    return said is not None and (end is None or said < end)


def cursors(root: Path, entries: Iterable[Entry]) -> frozenset[int]:
    """Those of the *entries* that are to be passed over, by number."""
    gone = messages(root)
    return frozenset(entry.cursor for entry in entries if gone and is_about(entry, gone))
