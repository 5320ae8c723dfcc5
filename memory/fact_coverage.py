"""Decides whether lines of files state a fact of the history, in whatever words.

A fact is covered by a line that states the same (``memory.text_similarity``), or has all of
its words, its numbers and its negations. Of lines that were written for the fact itself, about half
of the words are enough: they say it in words of their own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory import facts, text_similarity
from memory.fact_units import date_parts, plain_number
from memory.fact_words import LIGHT_WEIGHT, Words, WordSet, share, word_sets, words_of
from memory.history import fact_tags

# Shares of a fact's words. A line that stands there anyway may be about another fact that sounds
# alike, so it needs all of them but for verbs that many facts share.
STANDING_SHARE = 0.6
OWN_SHARE = 0.5
QUOTED_SHARE = 0.4
CORRECTED_SHARE = 0.34
# Of the words that tell two facts of one batch apart.
_DISTINCT_SHARE = 0.5
_ALIKE_SHARE = 0.4
_REMOVED_SHARE = 0.5
# What a correction says of the value that is over.
_OLD_VALUE = re.compile(
    r"\b(?:no longer|not any ?more|instead of|rather than|formerly|previously|was|were|used to"
    r"|nicht mehr|statt|anstatt|anstelle|früher|vorher|bisher|en lugar de|au lieu de|plus)\b"
    r"[^,;.()。、]*"
    r"|\bfrom\s+[^,;.()]+?\s+(?=to\b)|\bvon\s+[^,;.()]+?\s+(?=(?:auf|nach|zu)\b)"
    r"|[^、。]*(?:ではなく|じゃなく|でなく)|(?:以前|前)は[^、。]*[、。]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtFact:
    """A fact of an entry. *siblings*: other facts of the same batch, with which a line may not be
    mixed up."""

    text: str
    tag: str = ""
    siblings: Sequence[str] = ()


class Coverage:
    """Lines of files, to look facts up in."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        stated = [
            fact
            for text in texts
            for fact in facts.facts(text or "")
            if fact.has_content and fact.kind != "comment"
        ]
        self._index = text_similarity.Index(
            unit for fact in stated for unit in dict.fromkeys((fact.text, *facts.units(fact)))
        )
        self._lines = [f"{fact.heading}: {fact.under} {fact.text}" for fact in stated]

    def covers(
        self, sought: SoughtFact, own: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> bool:
        """True when the lines state the fact. *own*: lines that were written for its entry and
        still stand; *removed*: lines that were taken out for it, which can settle a correction."""
        text = fact_tags.strip_tag(sought.text)
        if any(
            self._index.find(one) is not None for one in (text, without_old_value(text, sought))
        ):
            return True
        wanted = words_of(without_old_value(text, sought))
        is_correction = sought.tag == "correction"
        enough = CORRECTED_SHARE if is_correction else OWN_SHARE
        if own and _fits(wanted, [*own, "\n".join(own)], enough, sought):
            return True
        if is_correction and wanted.negated and _is_retracted(wanted, removed):
            return True
        return any(
            _says(wanted, line, STANDING_SHARE, sought) and _has_all(wanted, line)
            for line in self._lines
        )

    def quotes(self, sought: SoughtFact, quoted: str) -> bool:
        """True when a line that somebody names as saying the fact stands there word for word, and
        has its numbers, its negation and a good part of its words."""
        if not quoted.strip() or self._index.find(quoted) is None:
            return False
        text = without_old_value(fact_tags.strip_tag(sought.text), sought)
        return _says(words_of(text), quoted, QUOTED_SHARE, sought)


def brings(fact: str, line: str, removed: Iterable[str]) -> bool:
    """True when a line has a word or number of the fact that the lines taken out for it had not."""
    wanted, came, gone = words_of(fact), words_of(line), words_of("\n".join(removed))
    if wanted.numbers & came.numbers - gone.numbers:
        return True
    found, before = word_sets(line).all, WordSet(gone.all)
    return any(
        weight > LIGHT_WEIGHT and found.has(word) and not before.has(word)
        for word, weight in wanted.all.items()
    )


def without_old_value(text: str, sought: SoughtFact) -> str:
    """Return a correction without the value that is over; any other fact as it is."""
    if sought.tag != "correction":
        return text
    kept = " ".join(_OLD_VALUE.sub(" ", text).split())
    return kept if any(words_of(kept).positive.values()) else text


def _fits(wanted: Words, lines: Sequence[str], enough: float, sought: SoughtFact) -> bool:
    return any(_says(wanted, line, enough, sought) for line in lines)


def _says(wanted: Words, text: str, enough: float, sought: SoughtFact) -> bool:
    line, sets = words_of(text), word_sets(text)
    numbers = {plain_number(number) for number in (*line.numbers, *date_parts(line.dates))}
    if any(plain_number(number) not in numbers for number in wanted.numbers):
        return False
    plain, negated = sum(wanted.positive.values()), sum(wanted.negated.values())
    if not plain + negated:
        return bool(wanted.numbers)
    negated_share = share(wanted.negated, sets.negated)
    got = share(wanted.positive, sets.positive) * plain + negated_share * negated
    if got < enough * (plain + negated) or (negated and not negated_share):
        return False
    return not any(_is_sibling_only(wanted, sets.all, sibling) for sibling in sought.siblings)


def _has_all(wanted: Words, text: str) -> bool:
    found = word_sets(text).all
    return all(weight <= LIGHT_WEIGHT or found.has(word) for word, weight in wanted.all.items())


def _is_sibling_only(wanted: Words, line: WordSet, sibling: str) -> bool:
    """True when a line has what a fact shares with its sibling, and not what tells them apart."""
    same = word_sets(fact_tags.strip_tag(sibling)).all
    if share(wanted.all, same) < _ALIKE_SHARE:
        return False
    distinct = {w: weight for w, weight in wanted.all.items() if weight and not same.has(w)}
    return bool(distinct) and share(distinct, line) < _DISTINCT_SHARE


def _is_retracted(wanted: Words, removed: Sequence[str]) -> bool:
    said = WordSet(wanted.all)
    return any(
        share(words_of(line).all, said) >= _REMOVED_SHARE for line in removed if line.strip()
    )
