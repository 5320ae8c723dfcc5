"""Entries whose messages were edited away: Dream passes them over, and no prompt shows them.

Which messages those are is known above this floor; whoever knows registers here.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from memory.history.entries import Entry

type Gone = frozenset[tuple[str, int]]
"""Messages that stand in no conversation's thread any more: conversation and message."""

_ASKED: list[Callable[[Path], Gone]] = []


def register(asked: Callable[[Path], Gone]) -> None:
    """Let *asked* say which messages of the workspace at a path were edited away."""
    if asked not in _ASKED:
        _ASKED.append(asked)


def messages(root: Path) -> Gone:
    """The messages of the workspace at *root* that were edited away."""
    return frozenset().union(*(asked(root) for asked in _ASKED)) if _ASKED else frozenset()


def is_about(entry: Entry, gone: Gone) -> bool:
    """Whether the entry is about messages of which some were edited away.

    An edit takes away everything behind it, so the last message of an entry tells.
    """
    return entry.messages is not None and (entry.conversation, entry.messages[1]) in gone


def cursors(root: Path, entries: Iterable[Entry]) -> frozenset[int]:
    """Those of the *entries* that are to be passed over, by number."""
    gone = messages(root)
    return frozenset(entry.cursor for entry in entries if gone and is_about(entry, gone))
