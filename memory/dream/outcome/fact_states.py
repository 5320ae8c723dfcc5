"""What became of each fact of a batch, by what the files say after the run.

The end state of a fact decides: it does not matter by which of several writes it came there. What
no line states, and what was not left out for one of the reasons in the list, is uncovered: the
model is asked about it once, then its entry is shown again.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from memory.dream.entry_facts import EntryFact, list_kept
from memory.dream.values import Attempt, Batch
from memory.fact_coverage import Coverage, SoughtFact, brings

REASONS: Final = (
    "superseded",
    "duplicate",
    "asked_to_forget",
    "not_about_the_person",
    "expired",
    "unsure",
)
REASONS_TEXT: Final = ", ".join(REASONS)


@dataclass(frozen=True, slots=True)
class FactStates:
    """*uncovered*: facts that no line states, by entry. *covered*: entries with facts to be kept of
    which none is uncovered. *landed*: entries of which the run itself wrote a fact."""

    uncovered: Mapping[int, tuple[EntryFact, ...]] = field(default_factory=dict)
    covered: frozenset[int] = frozenset()
    landed: frozenset[int] = frozenset()


def parse_reason(text: str) -> str:
    """The reason of the list that *text* begins with; empty: none."""
    plain = re.sub(r"[\s_-]+", "_", text.strip().strip("\"'*`[(").lower())
    return next((reason for reason in REASONS if plain.startswith(reason)), "")


def find_states(
    batch: Batch,
    attempts: Sequence[Attempt],
    texts: Iterable[str | None],
    *,
    left_out: Collection[str] = (),
    quoted: Mapping[str, str] = MappingProxyType({}),
) -> FactStates:
    """*texts*: the files after the run. *left_out*: names of facts that need not be there.
    *quoted*: by the name of a fact, the line of which the model says that it states it."""
    kept = list_kept(batch.entries)
    said = [text for text in texts if text]
    standing = {line.strip() for text in said for line in text.split("\n")}
    coverage = Coverage(said)
    uncovered: dict[int, tuple[EntryFact, ...]] = {}
    landed: set[int] = set()
    nothing = Coverage(())
    for fact in kept:
        own, removed = _written_for(fact.cursor, attempts, standing)
        # A line that was only moved or reworded was not written for this fact.
        own = [line for line in own if brings(fact.text, line, removed)]
        sought = sought_fact(fact, kept)
        if nothing.covers(sought, own, removed):
            landed.add(fact.cursor)
        elif not (
            fact.name in left_out
            or coverage.covers(sought, own, removed)
            or coverage.quotes(sought, quoted.get(fact.name, ""))
        ):
            uncovered[fact.cursor] = (*uncovered.get(fact.cursor, ()), fact)
    covered = frozenset(fact.cursor for fact in kept) - uncovered.keys()
    return FactStates(uncovered, covered, frozenset(landed))


def sought_fact(fact: EntryFact, others: Iterable[EntryFact]) -> SoughtFact:
    siblings = [other.text for other in others if other.text != fact.text]
    return SoughtFact(text=fact.text, tag=fact.tag, siblings=siblings)


def is_stated_by(fact: EntryFact, others: Iterable[EntryFact]) -> bool:
    """Whether another fact of the batch says the same."""
    texts = [f"- {other.text}" for other in others if other.name != fact.name]
    return Coverage(["\n".join(texts)]).covers(SoughtFact(text=fact.text))


def _written_for(
    cursor: int, attempts: Sequence[Attempt], standing: Collection[str]
) -> tuple[list[str], list[str]]:
    """The lines that writes naming the entry brought and that still stand or wait for approval,
    also in the wording that a later write gave them; and the lines that those writes took out."""
    added: list[str] = []
    removed: list[str] = []
    for row in attempts:
        if not row.ok or not (cursor in row.sources or set(row.removed) & set(added)):
            continue
        added += row.added
        if cursor in row.sources:
            removed += row.removed
    waiting = {line for row in attempts if row.waits for line in row.added}
    return [line for line in added if line in waiting or line.strip() in standing], removed
