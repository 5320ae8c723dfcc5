"""Compares facts: same, near, close or contradicting. All rules about memory files use these
definitions.

*Same*: equal tokens (``jenny.text_normalisation``), so that case, white space, punctuation,
quotes and normal form do not matter, nor does the order of ``key: value`` parts.

*Near*: the same fact in other words. Two texts are near when their meaningful words are equal and
in the same order. These differences do not count: articles, "is", "and", "also" and the like; the
common subject ("The user plays", "Plays", "I play", in many languages); forms of numbers and
dates; contractions; the order in a plain list. Every other word counts: names, numbers,
prepositions, negations, opposites. Doubtful cases are not near.

*Close*: not near, but with most words in common. Close facts are both kept and shown together.

*Contradicts*: close, and the difference is an order, a number, a date, a negation or an opposite.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from memory.fact_signature import Signature, signature
from memory.similarity_words import OPPOSITES, SMALL_WORDS

# Share of common words from which texts are close, and typos are searched.
CLOSE_SHARE = 0.6
SHARE = 0.85
_FUZZY = 4
_LONG = 9
_MOST_POSTINGS = 1_000


def is_same(first: str, second: str) -> bool:
    return signature(first).same == signature(second).same


def is_near(first: str, second: str) -> bool:
    """True when two texts state one fact; symmetric and reflexive."""
    return _near(signature(first), signature(second))


def is_close(first: str, second: str) -> bool:
    """True when two texts that are not near have most words in common."""
    return _close(signature(first), signature(second))


def contradicts(first: str, second: str) -> bool:
    """True when two close texts differ only in an order, a number, a date, a negation or an
    opposite."""
    a, b = signature(first), signature(second)
    if not _close(a, b):
        return False
    left, right = a.content - b.content, b.content - a.content
    if a.key != b.key or not (left or right):
        return True
    return left.total() == right.total() == _opposed(left, right)


def nearest(text: str, candidates: Sequence[str]) -> int | None:
    """Return the index of a candidate that states the same fact as *text*, or ``None``."""
    return Index(candidates).find(text)


def is_typo_of(first: str, second: str) -> bool:
    """True when two texts differ only by typos: near, or most words in common and in order, where
    words that differ by a letter or two count as common.

    It is for corrections by a person, not for refusals.
    """
    a, b = signature(first), signature(second)
    if _near(a, b):
        return True
    if a.key != b.key or min(a.size, b.size) < SHARE * max(a.size, b.size):
        return False
    shared = a.words & b.words
    if _in_common(a.sequence, shared) != _in_common(b.sequence, shared):
        return False
    rest = list((b.words - a.words).elements())
    common = shared.total()
    missing = False
    for word in (a.words - b.words).elements():
        other = next((other for other in rest if _is_slip(word, other)), None)
        if other is not None:
            rest.remove(other)
            common += 1
        elif word in a.names | a.openers:
            return False
        else:
            missing = missing or word not in SMALL_WORDS
    capitals = b.names | b.openers
    if common < SHARE * max(a.size, b.size) or capitals.intersection(rest):
        return False
    # Another word in the same place makes another fact.
    return not (missing and any(word not in SMALL_WORDS for word in rest))


class Index:
    """An index of many texts for same, near and close ones.

    Building it and `find` take time linear in the texts; what `alike` and `close` need is built
    at the first call of one of them.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._signatures = [signature(text) for text in texts]
        self._same: dict[str, int] = {}
        self._near: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, one in enumerate(self._signatures):
            self._same.setdefault(one.same, number)
            if one.sequence:
                self._near[one.sequence, one.key[1]].append(number)

    def __len__(self) -> int:
        return len(self._signatures)

    def find(self, text: str) -> int | None:
        """Return the index of the first text that is the same as *text*, or else near."""
        if not self._signatures:
            return None
        sought = signature(text)
        same = self._same.get(sought.same)
        if same is not None or not sought.sequence:
            return same
        near = self._near.get((sought.sequence, sought.key[1]), ())
        return next((at for at in near if _near(sought, self._signatures[at])), None)

    def alike(self, text: str, most: int) -> list[int]:
        """Return the indexes of at most *most* texts that share words with *text* and have the
        same numbers, dates and negations, most shared words first."""
        shared: Counter[int] = Counter()
        sought = signature(text)
        for word in sought.words or ("",):
            shared.update(self._postings.get((sought.key, word), ())[:_MOST_POSTINGS])
        return [at for at, _ in shared.most_common(most)]

    def close(self, text: str, most: int) -> list[int]:
        """Return the indexes of at most *most* texts that are close to *text*, most shared words
        first."""
        shared: Counter[int] = Counter()
        sought = signature(text)
        for word in sought.content:
            shared.update(self._words.get(word, ())[:_MOST_POSTINGS])
        found = (at for at, _ in shared.most_common(_MOST_POSTINGS))
        close = (at for at in found if _close(sought, self._signatures[at]))
        return [at for at, _ in zip(close, range(most), strict=False)]

    @cached_property
    def _postings(self) -> dict[tuple[object, str], list[int]]:
        found: defaultdict[tuple[object, str], list[int]] = defaultdict(list)
        for number, one in enumerate(self._signatures):
            for word in one.words or ("",):
                found[one.key, word].append(number)
        return found

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._signatures):
            for word in one.content:
                found[word].append(number)
        return found


def _near(a: Signature, b: Signature) -> bool:
    if a.same == b.same:
        return True
    if not a.sequence or a.sequence != b.sequence or a.key[1] != b.key[1]:
        return False
    return not a.pronouns or not b.pronouns or a.pronouns == b.pronouns


def _close(a: Signature, b: Signature) -> bool:
    if _near(a, b) or not a.content or not b.content:
        return False
    common = (a.content & b.content).total()
    common += _opposed(a.content - b.content, b.content - a.content)
    return common >= CLOSE_SHARE * max(a.content.total(), b.content.total())


def _opposed(left: Counter[str], right: Counter[str]) -> int:
    """Count the words of one text that have an opposite in the other."""
    return sum(any(_are_opposed(word, other) for other in right) for word in left)


def _in_common(sequence: tuple[str, ...], shared: Counter[str]) -> list[str]:
    return [word for word in sequence if word in shared]


def _are_opposed(one: str, other: str) -> bool:
    if other in OPPOSITES.get(one, ()):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _FUZZY and long in {
        f"dis{short}",
        f"un{short}",
        f"in{short}",
        f"im{short}",
    }


def _is_slip(a: str, b: str) -> bool:
    """True when two words differ by a typo: swapped neighbours, or a letter (two in a long word)
    added, missing or replaced."""
    if min(len(a), len(b)) < _FUZZY or abs(len(a) - len(b)) > 2 or _are_opposed(a, b):  # noqa: PLR2004 - as the docstring says
        return False
    if len(a) == len(b) and sorted(a) == sorted(b):
        return sum(x != y for x, y in zip(a, b, strict=True)) == 2  # noqa: PLR2004 - as the docstring says
    allowed = 2 if min(len(a), len(b)) >= _LONG else 1
    if min(len(a), len(b)) == _FUZZY and len(a) == len(b):
        return False
    return _distance(a, b, allowed) <= allowed


def _distance(a: str, b: str, most: int) -> int:
    """Return the edit distance; beyond *most*, any larger number."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
        if min(row) > most:
            return most + 1
    return row[-1]
