"""Turns raw entries into facts when Dream reads them; the history file is not rewritten.

The parts of a group are one text and are digested together, so that no fact is lost at a border.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.agent import clock
from jenny.agent.errors import OVERRUN, AgentError
from memory.history import consolidator, reader, summary_answer
from memory.history.consolidator import CHUNK_CHARS, Ask
from memory.history.entries import HistoryEntry

# After so many tries the entries are shown as they are.
TRIES = 4
_MESSAGE = re.compile(
    r"^\[(?:\d{4}-\d{2}-\d{2} \d{2}:\d{2}|no time)\] (?:USER|ASSISTANT): ", re.MULTILINE
)
_STAMP = re.compile(r"^\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})(?=\] (?:USER|ASSISTANT): )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Digested:
    """The facts, one tagged bullet a line; empty: nothing is worth keeping. *forget* are the facts
    that the person asked to have forgotten."""

    text: str
    forget: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotDigested:
    """No answer came after *tries* tries, with the last reason. The entries are shown as they
    are."""

    reason: str
    tries: int


def of_group(root: Path, entry: HistoryEntry) -> tuple[HistoryEntry, ...]:
    """Return all parts of the entry's group in order; the entry alone when it has no group or
    parts are missing.

    Raises:
        PathRefused: the history cannot be read.
    """
    if entry.part is None:
        return (entry,)
    number, count = entry.part
    first = entry.cursor - number + 1
    found = reader.find_by_cursor(root, range(first, first + count))
    parts = [found[cursor] for cursor in sorted(found) if found[cursor].group == entry.group]
    whole = [part.part for part in parts] == [(at, count) for at in range(1, count + 1)]
    # A write may hold summaries beside raw texts; only raw texts are digested.
    return tuple(part for part in parts if part.kind == "raw") if whole else (entry,)


def digest(
    entries: Sequence[HistoryEntry],
    ask: Ask,
    *,
    recorded: str = "",
    is_answer: Callable[[AgentError], bool] = lambda _: False,
    chunk_chars: int = CHUNK_CHARS,
) -> Digested | NotDigested:
    """Summarise raw entries that are one text, in parts when they are too long for a model.

    *is_answer* is true for provider errors that the request itself causes; these use up a try.

    Raises:
        AgentError: the provider cannot be asked; no try was used up.
        Cancelled: the process is ending.
    """
    facts: list[str] = []
    wishes: list[str] = []
    for text in _chunks(entries, chunk_chars):
        found = [_once(text, ask, recorded, is_answer)]
        if isinstance(found[0], NotDigested) and found[0].reason in OVERRUN:
            found = [_once(half, ask, recorded, is_answer) for half in consolidator.halves(text)]
        for part in found:
            if isinstance(part, NotDigested):
                return part
            facts.append(part.text)
            wishes += part.forget
    return Digested("\n".join(filter(None, facts)), tuple(wishes))


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
            if reason in OVERRUN:
                break  # the same text would be too long again
            continue
        if isinstance(found, summary_answer.Answer):
            return Digested(found.text, found.forget)
        reason = found.reason
    return NotDigested(reason, TRIES)


def _with_weekday(stamp: re.Match[str]) -> str:
    return f"[{clock.with_weekday(stamp[1])}"


def _chunks(entries: Sequence[HistoryEntry], chars: int) -> Iterator[str]:
    """Split the text before messages where possible. Each part names the time of recording, the
    latest time at which its undated contents were said."""
    text = "".join(entry.content for entry in entries)
    stamp = entries[0].timestamp
    head = f"(recorded {clock.with_weekday(stamp)})\n" if stamp else ""
    at = 0
    while at < len(text):
        end = min(at + chars, len(text))
        if end < len(text):
            borders = [match.start() for match in _MESSAGE.finditer(text, at + 1, end)]
            end = borders[-1] if borders and borders[-1] > at else end
        yield head + _STAMP.sub(_with_weekday, text[at:end])
        at = end
