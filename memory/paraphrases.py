"""Recognises a forgotten fact in other words: all of its words that matter, in any order and
inflection, in one sentence.

Words are those of ``memory.fact_words``; the fact's numbers, dates and names must be there, too,
and what it negates must be negated. A fact about somebody's relative is another one, unless the
forgotten text names that relative. Where it is doubtful whether two sentences are about the same,
they are.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jenny.text_normalisation import fold, fold_accents, is_unspaced, level, pieces
from memory.fact_signature import Signature, signature
from memory.fact_words import (
    LIGHT_WEIGHT,
    Words,
    WordSet,
    WordSets,
    beginnings,
    spelled_beginnings,
    word_sets,
    words_of,
)
from memory.facts import normal, units
from memory.similarity_words import RELATIVES, SUBJECT, UNSPACED_RELATIVES

_NO_STATEMENT = re.compile(
    r"\?\s*[\"')\]]*$|\b(?:forg[eo]t\w*|delete|erase|remove|vergiss|vergessen|l[öo]sche?n?|olvid\w*|"
    r"borra\w*|oubli\w*|supprim\w*|not true|stimmt nicht)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|^[ \t]*>.*?$")
# Verbs that many facts share may be missing, as long as this share of the words is there.
_SHARE = 0.8
_THINGS = 2
_NAME_WORDS = 3
# A sentence that says more beside a single word is about something else.
_MORE_WORDS = 3
# One word in so many may be another one.
_LONG = 8
# A number of fewer digits is in many facts.
_DIGITS = 3
# A text of at most so many words that is forgotten alone is a value or a name.
VALUE_WORDS = 2
# Words between two things that make their order count: "tea over coffee".
_ORDER_WORDS = """
    over than to from before after instead als vor nach von zu statt avant après antes después чем
    до после
"""
_ORDERED = frozenset(_ORDER_WORDS.split())
_DETERMINERS = "her his my their our user's users the a 's s older eldest younger"
_BEFORE_SON = frozenset(_DETERMINERS.split())
_KANA = re.compile("[\u3041-\u30ff]")
# Words of Japanese: characters of one script.
_KINDS = (re.compile("[\u3400-\u9fff]"), re.compile("[\u30a1-\u30ff]"))
_PART = re.compile("[\u3400-\u9fff]+|[\u30a1-\u30ff]+")
_TIMES = frozenset("年月日時分週朝昼晩夜今在回度")
_MORE_THAN = re.compile(r"(\w{2})(?:より|比)")


@dataclass(frozen=True, slots=True)
class Sought:
    """A forgotten text. *about*: the subject of the line that it was cut out of. *is_value*: it
    was forgotten alone, so that no sentence may have it, whatever it says of it."""

    text: str
    about: str = ""
    is_value: bool = False


def is_statement(line: str) -> bool:
    """False for questions, quotations and requests to forget."""
    plain = line.strip()
    return bool(plain) and not plain.startswith(">") and not _NO_STATEMENT.search(plain)


def is_value(text: str) -> bool:
    """True for a value or a name ("oat milk"), false for what is said of somebody ("I am
    vegan")."""
    return len(normal(text).split()) <= VALUE_WORDS and not SUBJECT.match(level(text))


def names_people(text: str) -> bool:
    """True when the beginning of a line says that the line is about somebody beside the user."""
    if _people(text, names=False):
        return True
    words = text.split()
    return (
        ":" not in text and len(words) <= _NAME_WORDS and all(word[0].isupper() for word in words)
    )


class ParaphraseMatcher:
    def __init__(self, facts: Iterable[str | Sought]) -> None:
        self._wanted = [_Wanted(Sought(one) if isinstance(one, str) else one) for one in facts]
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        often = Counter(key for one in self._wanted for key in one.every_key)
        for number, one in enumerate(self._wanted):
            for key in one.keys(often):
                self._postings[key].append(number)

    def matches(self, sentence: str, context: str = "") -> list[int]:
        """Return the facts that the *sentence* states, whoever speaks, in their order. *context* is
        what stands above it."""
        if not self._postings:
            return []
        said = _Said(sentence, context)
        found = {at for key in said.keys for at in self._postings.get(key, ())}
        return [at for at in sorted(found) if self._wanted[at].is_in(said)]

    def named(self, text: str) -> list[int]:
        """Return the facts whose words the *text* has, whomever it is about."""
        said = _Said(text, "")
        return [at for at, one in enumerate(self._wanted) if one.is_named_in(said)]

    def may_be_in(self, text: str) -> bool:
        """Judge by the letters alone, for long texts: ``False`` when none of the facts is stated.
        A fact of dates alone may be anywhere."""
        plain = fold_accents(level(text))
        digits = "".join(filter(str.isdigit, plain))
        return any(one.may_be_in(plain, digits) for one in self._wanted)

    def stated(self, text: str) -> set[int]:
        found: set[int] = set()
        for paragraph in _QUOTED.sub("\n", text).split("\n"):
            for sentence in units(paragraph):
                if not _NO_STATEMENT.search(sentence):
                    found.update(self.matches(sentence))
        return found


class _Said:
    """A sentence in which facts are looked for."""

    def __init__(self, text: str, context: str) -> None:
        self.text, self.context = text, context
        self.words: Words = words_of(text)
        self.sets: WordSets = word_sets(text)

    @cached_property
    def signature(self) -> Signature:
        return signature(self.text)

    @cached_property
    def plain(self) -> str:
        return fold(level(self.text))

    @cached_property
    def order(self) -> list[str]:
        return _order(self.text)

    @property
    def keys(self) -> set[str]:
        found = {key for word in self.words.all for key in beginnings(word)}
        return found | _figures(self.words)


class _Wanted:
    """A forgotten text, prepared for look-ups."""

    def __init__(self, sought: Sought) -> None:
        self.sought = sought
        words = words_of(sought.text)
        self._words = words
        sides = (words.positive, words.negated)
        self._heavy = [
            {word for word, weight in side.items() if weight > LIGHT_WEIGHT} for side in sides
        ]
        self._light = [
            {word for word, weight in side.items() if weight == LIGHT_WEIGHT} for side in sides
        ]
        self._total = sum(sum(side.values()) for side in sides)
        self._figures = _figures(words)
        self._all = {word for side in (*self._heavy, *self._light) for word in side}
        own = signature(sought.text)
        self._own_names = own.names | own.openers
        self._names = frozenset() if sought.is_value else signature(sought.text).names
        self._runs = _unspaced(fold(level(sought.text)))
        self._subject = _people(sought.about)
        is_japanese = any(map(_KANA.search, self._runs))
        self._parts = [
            part
            for run in self._runs
            if is_japanese
            for part in _PART.findall(run)
            if len(part) > 1
        ]
        unspaced = {word for word in self._all if is_unspaced(word[0])}
        inner = {
            word for word in unspaced if any(word != one and one[-1] == word[0] for one in unspaced)
        }
        self._things = len((self._heavy[0] | self._heavy[1]) - inner)
        # Text without spaces is cut into far more pieces than it has words; all must be there.
        spaced = sum(not is_unspaced(word[0]) for side in self._heavy for word in side)
        self._least = sum(map(len, self._heavy)) - spaced // _LONG

    @property
    def every_key(self) -> set[str]:
        return {key for side in self._heavy for word in side for key in beginnings(word)} | {
            *self._figures
        }

    def keys(self, often: Mapping[str, int]) -> set[str]:
        """Return the words to find it by: of those that must be there, the rarest ones."""
        if self._figures and (self._total or self._counts_alone):
            return {min(self._figures, key=lambda key: (often[key], key))}
        heavy = [word for side in self._heavy for word in side]
        if not heavy:
            light = sorted(word for side in self._light for word in side)
            return {*beginnings(light[0])} if light else set()

        def rarity(word: str) -> tuple[int, str]:
            return sum(often[key] for key in beginnings(word)), word

        some = sorted(heavy, key=rarity)[: len(heavy) - self._least + 1]
        return {key for word in some for key in beginnings(word)}

    @property
    def _counts_alone(self) -> bool:
        """True when a text of figures alone is distinctive."""
        digits = sum(char.isdigit() for key in self._figures for char in key)
        return digits >= _DIGITS

    def may_be_in(self, plain: str, digits: str) -> bool:
        heavy = [word for side in self._heavy for word in side]
        if heavy:
            # One of them may be a unit or a number that is written otherwise.
            count = sum(any(one in plain for one in self._spelled[word]) for word in heavy)
            return count >= max(1, self._least - 1)
        numbers = (key[1:] for key in self._figures if key[0] == "#")
        return all("".join(filter(str.isdigit, one)) in digits for one in numbers)

    @cached_property
    def _spelled(self) -> Mapping[str, frozenset[str]]:
        return {word: spelled_beginnings(word) for side in self._heavy for word in side}

    def is_in(self, said: _Said) -> bool:
        if not self._figures <= _figures(said.words):
            return False
        if not self._total:
            return bool(self._figures) and self._counts_alone
        return self._has_words(said) and self._is_about_the_same(said)

    def is_named_in(self, said: _Said) -> bool:
        if not self._figures <= _figures(said.words) or not (self._total or self._figures):
            return False
        return self._has_words(said) and not _is_swapped(self.sought.text, said)

    def _has_words(self, said: _Said) -> bool:
        sets = (said.sets.positive, said.sets.negated)
        missing = {
            word
            for side, found in zip(self._heavy, sets, strict=True)
            for word in side
            if not found.has(word)
        }
        count = sum(map(len, self._heavy))
        if count - len(missing) < self._least or any(
            is_unspaced(word[0]) or word in self._names or any(map(str.isdigit, word))
            for word in missing
        ):
            return False
        light = sum(
            not found.has(word)
            for side, found in zip(self._light, sets, strict=True)
            for word in side
        )
        if light and (self._things < _THINGS or self._total - light < _SHARE * self._total):
            return False
        if any(_is_within_a_word(run, said.plain) for run in self._parts):
            return False
        words = said.signature.words
        return all(
            name in words or f"{name}s" in words or name.removesuffix("s") in words
            for name in self._names
        )

    def _is_about_the_same(self, said: _Said) -> bool:
        if self._subject:
            people = _people(f"{said.context} {said.text}")
            return bool(self._subject & people)
        if self.sought.is_value:
            return self._stands_together(said)
        if len(self._all) == 1 and not self._figures:
            if self._all & self._own_names & {*said.signature.names, *said.signature.openers}:
                return True
            if self._count_more(said) > _MORE_WORDS:
                return False
        return not self._is_of_a_relative(said) and not _is_swapped(self.sought.text, said)

    def _stands_together(self, said: _Said) -> bool:
        """True when the words of a value are neighbours."""
        if self._runs:
            return all(run in said.plain for run in self._runs)
        if len(self._all) == 1:
            return True
        order = [word for word in said.order if word in said.words.spelled]
        places = [at for at, word in enumerate(order) if self._has_form(word)]
        return any(b - a == 1 for a, b in itertools.pairwise(places))

    def _count_more(self, said: _Said) -> int:
        """Count the words that the sentence says beside the one that was forgotten."""
        return sum(
            weight > LIGHT_WEIGHT and not self._has_form(word)
            for word, weight in said.words.all.items()
        )

    def _has_form(self, word: str) -> bool:
        return any(
            word == own or (word[:2] == own[:2] and WordSet([own]).has(word)) for own in self._all
        )

    def _is_of_a_relative(self, said: _Said) -> bool:
        """True when a relative whom the forgotten text does not name stands before its words."""
        own = _people(self.sought.text, names=False)
        first = next((at for at, word in enumerate(said.order) if self._has_form(word)), None)
        if _relatives(said.order[:first]) - own:
            return True
        found = UNSPACED_RELATIVES.search(said.plain)
        places = [at for word in self._all if (at := said.plain.find(word)) >= 0]
        return found is not None and found[0] not in own and found.start() < min(places, default=0)


def _people(text: str, *, names: bool = True) -> set[str]:
    """Return the relatives that a text names, and the other names in it."""
    found = _relatives(_order(text))
    if names:
        one = signature(text)
        found |= {fold(name) for name in one.names | one.openers}
    return found | {*UNSPACED_RELATIVES.findall(fold(level(text)))}


def _unspaced(text: str) -> list[str]:
    """Return the runs of characters that no spaces part."""
    groups = itertools.groupby(pieces(text), key=is_unspaced)
    return ["".join(run) for is_run, run in groups if is_run]


def _order(text: str) -> list[str]:
    return [fold_accents(piece) for piece in pieces(level(text)) if piece[0].isalnum()]


def _relatives(order: Sequence[str]) -> set[str]:
    # "son" is also French for "his".
    before = dict(zip(order[1:], order, strict=False))
    return {
        word
        for word in order
        if word in RELATIVES and (word != "son" or before.get(word) in _BEFORE_SON)
    }


def _is_within_a_word(run: str, plain: str) -> bool:
    """True when Japanese characters are only the end of a longer word: 京都 in 東京都."""
    places = [match.start() for match in re.finditer(re.escape(run), plain)]
    kind = next(kind for kind in _KINDS if kind.match(run))
    return bool(places) and all(
        at and kind.match(plain[at - 1]) and plain[at - 1] not in _TIMES for at in places
    )


def _figures(words: Words) -> frozenset[str]:
    return frozenset({*(f"#{one}" for one in words.numbers), *(f"@{one}" for one in words.dates)})


def _is_swapped(text: str, said: _Said) -> bool:
    """True when two things changed places: "Ana lent Ben", "Ben lent Ana"; "tea over coffee",
    "coffee over tea"."""
    one, other = signature(text), said.signature
    here = {word: at for at, word in enumerate(one.sequence)}
    there = {word: at for at, word in enumerate(other.sequence)}
    shared = [word for word in one.sequence if word in there]
    named = (one.names | one.openers) & (other.names | other.openers)
    # A place or a time may stand anywhere with its preposition.
    before = {*zip(one.sequence[1:], one.sequence, strict=False)}
    before &= {*zip(other.sequence[1:], other.sequence, strict=False)}
    named -= {word for word, _ in before}
    for first, second in itertools.combinations(shared, 2):
        if there[first] < there[second]:
            continue
        between = {word for word in shared if here[first] < here[word] < here[second]}
        between &= {word for word in shared if there[second] < there[word] < there[first]}
        between -= RELATIVES
        if between & _ORDERED or (between and first in named and second in named):
            return True
    mine, theirs = (_MORE_THAN.search(fold(level(row))) for row in (text, said.text))
    return mine is not None and theirs is not None and mine[1] != theirs[1]
