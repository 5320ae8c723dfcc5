"""Rank passages by BM25 over whole passages and over their lines.

The two orders are fused by reciprocal rank: a passage that says much about the question comes
first, and so does one with a line that says it exactly.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jenny.search.words import Query

_K1, _B = 1.2, 0.75
_RECIPROCAL = 60
_LINE_WEIGHT = 0.35


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage's number among those given, its score, and for each of its lines the score and
    how many of the query's words it has."""

    number: int
    score: float
    lines: tuple[float, ...]
    matches: tuple[int, ...]


def rank(
    query: Query, texts: Sequence[str], frequencies: Mapping[str, int], total: int, length: float
) -> list[Ranked]:
    """Return the passages with a word of the query, best first.

    *texts*: the words of each passage, a line of words for each of its lines. *frequencies*: the
    number of passages with each form, among *total*, whose mean *length* is in words.
    """
    weights = [
        term.weight * _rarity(max(frequencies.get(form, 0) for form in term.forms), total)
        for term in query.terms
    ]
    terms_of = {form: number for number, term in enumerate(query.terms) for form in term.forms}
    passages: list[tuple[float, int, list[dict[int, int]], list[int]]] = []
    for number, text in enumerate(texts):
        counts, lengths = _counted(text, terms_of)
        whole: dict[int, int] = {}
        for line in counts:
            for term, count in line.items():
                whole[term] = whole.get(term, 0) + count
        if whole:
            score = _bm25(whole, sum(lengths), length, weights)
            passages.append((score, number, counts, lengths))
    counted = [count for *_, counts, _ in passages for count in counts]
    found: Counter[int] = Counter(term for count in counted for term in count)
    in_lines = [
        term.weight * _rarity(found[number], len(counted))
        for number, term in enumerate(query.terms)
    ]
    sizes = [size for *_, lengths in passages for size in lengths if size]
    line_length = sum(sizes) / len(sizes) if sizes else 1.0
    lines = {
        number: tuple(
            _bm25(count, size, line_length, in_lines) if count else 0.0
            for count, size in zip(counts, lengths, strict=True)
        )
        for _, number, counts, lengths in passages
    }
    by_passage = _places((score, number) for score, number, *_ in passages)
    by_line = _places((max(scores), number) for number, scores in lines.items())
    fused = {
        number: 1 / (_RECIPROCAL + by_passage[number])
        + _LINE_WEIGHT / (_RECIPROCAL + by_line[number])
        for number in by_passage
    }
    best = sorted(fused, key=lambda number: (-fused[number], number))
    matches = {number: tuple(map(len, counts)) for _, number, counts, _ in passages}
    return [Ranked(number, fused[number], lines[number], matches[number]) for number in best]


def _rarity(found: int, total: int) -> float:
    return math.log(1 + (max(total - found, 0) + 0.5) / (found + 0.5))


def _counted(text: str, terms_of: Mapping[str, int]) -> tuple[list[dict[int, int]], list[int]]:
    """Count the query's terms in each line, and the line's words."""
    counts: list[dict[int, int]] = []
    lengths: list[int] = []
    for line in text.split("\n"):
        words = line.split(" ")
        count: dict[int, int] = {}
        for form in terms_of.keys() & set(words):
            term = terms_of[form]
            count[term] = count.get(term, 0) + words.count(form)
        counts.append(count)
        lengths.append(len(words))
    return counts, lengths


def _bm25(counts: Mapping[int, int], size: int, mean: float, weights: Sequence[float]) -> float:
    norm = _K1 * (1 - _B + _B * size / (mean or 1.0))
    return sum(weights[term] * count * (_K1 + 1) / (count + norm) for term, count in counts.items())


def _places(scored: Iterable[tuple[float, int]]) -> dict[int, int]:
    ordered = sorted(scored, key=lambda row: (-row[0], row[1]))
    return {number: place for place, (_, number) in enumerate(ordered, 1)}


def has_phrase(text: str, phrase: Sequence[frozenset[str]]) -> bool:
    """True when the words of the phrase stand one after the other in a line."""
    for line in text.split("\n"):
        words = line.split(" ")
        for at, word in enumerate(words):
            if word in phrase[0] and at + len(phrase) <= len(words):
                there = words[at : at + len(phrase)]
                if all(one in forms for one, forms in zip(there, phrase, strict=True)):
                    return True
    return False
