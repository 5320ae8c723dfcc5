"""History entries as pages show them. Plain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.history.entries import HistoryEntry
from memory.history.fact_tags import parse_strict

# Characters of a raw entry that are shown where there is little room.
_EXCERPT = 400


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a summary: the label of its fact tag, and its text."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry as facts, or as *text* when it has none."""

    cursor: int
    kind: str
    timestamp: str = ""
    facts: tuple[Fact, ...] = ()
    text: str = ""
    part: tuple[int, int] | None = None
    is_missing: bool = False

    @property
    def is_raw(self) -> bool:
        return self.kind == "raw"

    @property
    def excerpt(self) -> str:
        line = " ".join(self.text.split())
        return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def view(entry: HistoryEntry) -> EntryView:
    facts = [] if entry.kind == "raw" else list(_facts(entry.content))
    return EntryView(
        cursor=entry.cursor,
        kind=entry.kind,
        timestamp=entry.timestamp,
        facts=tuple(facts),
        text="" if facts else entry.content,
        part=entry.part,
    )


def views(cursors: Iterable[int], found: Mapping[int, HistoryEntry]) -> tuple[EntryView, ...]:
    """Return the entries of these numbers; a missing entry is shown as missing."""
    return tuple(
        view(found[cursor]) if cursor in found else EntryView(cursor, "", is_missing=True)
        for cursor in cursors
    )


def facts_of(text: str) -> tuple[Fact, ...]:
    return tuple(_facts(text))


def _facts(content: str) -> Iterable[Fact]:
    """Yield each fact with its continuation lines; nothing when there are none."""
    mark, lines = "", list[str]()
    for line in content.splitlines():
        if found := parse_strict(line):
            if lines:
                yield Fact(mark, " ".join(lines))
            day = f"dated {found.when}" if found.when else ""
            mark = day if found.tag == "dated" else ", ".join(filter(None, (found.tag, day)))
            lines = [found.text.strip()]
        elif lines:
            lines.append(line.strip())
    if lines:
        yield Fact(mark, " ".join(lines))
