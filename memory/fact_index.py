"""Finds facts of a history entry that the memory files state already."""

from collections.abc import Iterable

from memory import facts, text_similarity
from memory.history import fact_tags, summary_answer


class FactIndex:
    """An index of the facts of some files, for exact and near matches."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        said = [fact for text in texts for fact in facts.facts(text or "") if fact.has_content]
        self._index = text_similarity.Index(
            unit for fact in said for unit in dict.fromkeys((fact.text, *facts.units(fact)))
        )

    def has(self, fact: str) -> bool:
        """True when the files state the fact in these or nearly these words."""
        return self._index.find(fact_tags.strip_tag(fact)) is not None

    def unknown(self, entry: str) -> tuple[str, ...]:
        """Return an entry's facts to keep that the files do not state."""
        return tuple(fact for fact in tagged(entry) if not self.has(fact))


def tagged(entry: str) -> tuple[str, ...]:
    """Return an entry's facts that are to be kept beyond the moment, without their tags."""
    return tuple(
        fact_tags.strip_tag(line).strip()
        for line in entry.splitlines()
        if summary_answer.mark_of(line) in summary_answer.KEPT_MARKS
    )
