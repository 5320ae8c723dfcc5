"""The facts of an entry, each with a number by which the model names it: 7.2 is the second fact of
entry 7."""

from collections.abc import Iterable
from dataclasses import dataclass

from memory.dream.values import BatchEntry
from memory.history import fact_tags, summary_answer


@dataclass(frozen=True, slots=True)
class EntryFact:
    cursor: int
    number: int
    tag: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.cursor}.{self.number}"

    @property
    def is_kept(self) -> bool:
        """Whether it is to be kept beyond the moment. A fact that only has a day is not: it is
        shown to every chat by itself until its day is over."""
        return self.tag in summary_answer.KEPT_MARKS


def list_facts(row: BatchEntry) -> tuple[EntryFact, ...]:
    """The tagged facts of an entry, each with the lines that belong to it."""
    found: list[EntryFact] = []
    for line in row.text.split("\n"):
        fact = fact_tags.parse_strict(line)
        if fact is not None:
            found.append(EntryFact(row.cursor, len(found) + 1, fact.tag, fact.text.strip()))
        elif found and line[:1].isspace() and line.strip():
            last = found[-1]
            text = f"{last.text} {line.strip()}"
            found[-1] = EntryFact(last.cursor, last.number, last.tag, text)
    return tuple(found)


def list_kept(rows: Iterable[BatchEntry]) -> tuple[EntryFact, ...]:
    """The facts of all these entries that are to be kept."""
    return tuple(fact for row in rows for fact in list_facts(row) if fact.is_kept)
