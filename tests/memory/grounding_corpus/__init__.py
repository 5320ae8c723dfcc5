"""Lines that a run may write, honest and wrong ones, with what they rest on. See english.txt."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory.evidence import Doubt, Evidence, find_doubts
from memory.history import fact_tags

LANGUAGES = ("english", "german", "japanese")
# In the order in which they were written; "other" languages have lines of two parts.
PARTS = ("", "held_out", "unseen", "reworded", "second", "third", "fresh", "latest", "last")
# Each was measured once before a rule was changed for it (docs/decisions/dream-tools.md).
BLIND = ("blind_1", "blind_2", "blind_3")
DAY = dt.date(2026, 11, 30)
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """A line, or several of one act; *kind*: in what it is honest or wrong."""

    lines: tuple[str, ...]
    kind: str
    is_honest: bool
    evidence: Evidence
    facts: tuple[str, ...]

    @property
    def doubts(self) -> list[Doubt]:
        return list(find_doubts(self.lines, self.evidence))


def read_examples(language: str, part: str = "") -> Iterator[Example]:
    """*part*: empty for the lines by which the rules were made, or one of ``PARTS``; none where a
    language has no such part."""
    file = _FOLDER / (f"{language}_{part}.txt" if part else f"{language}.txt")
    if not file.exists():
        return
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        rows = [row for row in block.splitlines() if row and not row.startswith("#")]
        facts = tuple(row[2:] for row in rows if row[0] == "=")
        standing = [row[2:] for row in rows if row[0] == "~"]
        evidence = Evidence(
            cited={fact_tags.strip_tag(fact): [DAY] for fact in facts},
            replaced=[row[2:] for row in rows if row[0] == "<"],
            before=standing,
            after=standing,
        )
        for row in rows:
            if row[0] in "+-":
                kind, _, text = row[2:].partition(": ")
                yield Example(tuple(text.split(" | ")), kind, row[0] == "+", evidence, facts)
