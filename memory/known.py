"""Whether what an entry of the history says stands in the memory files already."""

import re
from collections.abc import Iterable

from memory import facts, near
from memory.history import marks

_MARK = re.compile(r"^\s*(?:[-*+•–]|\d{1,3}[.)])?\s*[*_`]{0,3}\[\w+\][*_`:]{0,4}\s*")


class Texts:
    """What some files say, to look facts up in, exact or near."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        said = [fact for text in texts for fact in facts.facts(text or "") if fact.has_content]
        self._index = near.Index(
            unit for fact in said for unit in dict.fromkeys((fact.text, *facts.units(fact)))
        )

    def has(self, fact: str) -> bool:
        """Whether a fact stands there, in these or nearly these words."""
        return self._index.find(_MARK.sub("", fact)) is not None

    def unknown(self, entry: str) -> tuple[str, ...]:
        """Of an entry's facts that are to be kept, those that do not stand there."""
        return tuple(fact for fact in tagged(entry) if not self.has(fact))


def tagged(entry: str) -> tuple[str, ...]:
    """An entry's facts that are to be kept beyond the moment, without their marks."""
    return tuple(
        _MARK.sub("", line).strip()
        for line in entry.splitlines()
        if marks.mark_of(line) in marks.KEPT_MARKS
    )
