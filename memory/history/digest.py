"""What was kept word for word becomes facts when Dream reaches it; the file is not rewritten.

The parts of a group are one text, which was cut where an entry was full: they are digested
together, so that no fact is lost at a border, and its facts stand in for all of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.errors import AgentError
from memory.history import consolidator, lookup, marks
from memory.history.consolidator import CHUNK_CHARS, Ask
from memory.history.entries import Entry

# So often is a text asked about before its entries are shown as they are.
TRIES = 4
_MESSAGE = re.compile(
    r"^\[(?:\d{4}-\d{2}-\d{2} \d{2}:\d{2}|no time)\] (?:USER|ASSISTANT): ", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Digested:
    """The facts, a bullet a line, each with its mark; empty: nothing in it is worth keeping."""

    text: str


@dataclass(frozen=True, slots=True)
class NotDigested:
    """No answer came, *tries* times: why the last one was none, in a few words. The entries are
    shown as they are."""

    reason: str
    tries: int


def of_group(root: Path, entry: Entry) -> tuple[Entry, ...]:
    """All parts of the entry's group, in order; the entry alone when it is of none, or when parts
    are missing.

    Raises:
        PathRefused: the history cannot be read.
    """
    if entry.part is None:
        return (entry,)
    number, count = entry.part
    first = entry.cursor - number + 1
    found = lookup.by_cursor(root, range(first, first + count))
    parts = [found[cursor] for cursor in sorted(found) if found[cursor].group == entry.group]
    whole = [part.part for part in parts] == [(at, count) for at in range(1, count + 1)]
    # An act may hold summaries beside raw texts: only what is raw is digested.
    return tuple(part for part in parts if part.kind == "raw") if whole else (entry,)


def digest(
    entries: Sequence[Entry],
    ask: Ask,
    *,
    recorded: str = "",
    is_answer: Callable[[AgentError], bool] = lambda _: False,
    chunk_chars: int = CHUNK_CHARS,
) -> Digested | NotDigested:
    """Summarise raw entries that are one text; in parts when they are too long for a model.

    *is_answer* says of which faults of the provider the request itself is to blame, so that they
    use up a try.

    Raises:
        AgentError: the provider cannot be asked; no try was used up.
        Cancelled: the process is to end.
    """
    facts = []
    for text in _chunks(entries, chunk_chars):
        found = _once(text, ask, recorded, is_answer)
        if isinstance(found, NotDigested):
            return found
        facts.append(found.text)
    return Digested("\n".join(filter(None, facts)))


def _once(
    text: str, ask: Ask, recorded: str, is_answer: Callable[[AgentError], bool]
) -> Digested | NotDigested:
    reason = ""
    for _ in range(TRIES):
        try:
            found = consolidator.digest(text, ask, recorded=recorded)
        except AgentError as error:
            if not is_answer(error):
                raise
            reason = error.kind
            continue
        if isinstance(found, marks.Answer):
            return Digested(found.text)
        reason = found.reason
    return NotDigested(reason, TRIES)


def _chunks(entries: Sequence[Entry], chars: int) -> Iterator[str]:
    """The text in parts, cut before messages where it can be. Each says when it was recorded:
    what has no time of its own was said by then, at the latest."""
    text = "".join(entry.content for entry in entries)
    stamp = entries[0].timestamp
    head = f"(recorded {stamp})\n" if stamp else ""
    at = 0
    while at < len(text):
        end = min(at + chars, len(text))
        if end < len(text):
            borders = [match.start() for match in _MESSAGE.finditer(text, at + 1, end)]
            end = borders[-1] if borders and borders[-1] > at else end
        yield head + text[at:end]
        at = end
