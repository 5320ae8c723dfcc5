"""Entries of the history as pages show them. Plain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.history.entries import Entry
from memory.history.marks import mark_of

# Characters of a text that was kept word for word which stand where there is little room.
_EXCERPT = 400


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a summary: its mark in words, and what it says."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry: its facts, or its *text* where it is not made of facts."""

    cursor: int
    kind: str
    timestamp: str = ""
    facts: tuple[Fact, ...] = ()
    text: str = ""
    part: tuple[int, int] | None = None
    is_missing: bool = False

    @property
    def is_raw(self) -> bool:
        """Whether it is what was said, word for word."""
        return self.kind == "raw"

    @property
    def excerpt(self) -> str:
        """The text in short, on one line."""
        line = " ".join(self.text.split())
        return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def view(entry: Entry) -> EntryView:
    """An entry as it is shown."""
    facts = [] if entry.kind == "raw" else list(_facts(entry.content))
    return EntryView(
        cursor=entry.cursor,
        kind=entry.kind,
        timestamp=entry.timestamp,
        facts=tuple(facts),
        text="" if facts else entry.content,
        part=entry.part,
    )


def views(cursors: Iterable[int], found: Mapping[int, Entry]) -> tuple[EntryView, ...]:
    """The entries of these numbers; those that are gone say so."""
    return tuple(
        view(found[cursor]) if cursor in found else EntryView(cursor, "", is_missing=True)
        for cursor in cursors
    )


def facts_of(text: str) -> tuple[Fact, ...]:
    """The facts in a summary."""
    return tuple(_facts(text))


def _facts(content: str) -> Iterable[Fact]:
    """Each fact, with the lines below it; nothing when there is none."""
    mark, lines = "", list[str]()
    for line in content.splitlines():
        if found := mark_of(line):
            if lines:
                yield Fact(mark, " ".join(lines))
            mark, lines = found, [line.partition("]")[2].strip()]
        elif lines:
            lines.append(line.strip())
    if lines:
        yield Fact(mark, " ".join(lines))
