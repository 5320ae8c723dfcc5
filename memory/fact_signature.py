"""Splits a fact into comparable parts; see ``memory.text_similarity``."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from jenny.text_normalisation import fold, is_token, is_unspaced, level, pieces
from memory import dates
from memory.facts import normal
from memory.similarity_words import (
    CONTRACTED,
    ELIDED,
    LIST_WORDS,
    NEGATIONS,
    NOT_NAMES,
    NUMBERS,
    OPPOSITES,
    POSSESSIVES,
    SMALL_WORDS,
    SUBJECT,
    SUBJECT_CLITICS,
)

_MARKER = re.compile(r"\s*(?:[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_TAG = re.compile(r"\[(?:permanent|durable|dated[^\]\n]{0,60}|ephemeral|correction|skip)\]\s*")
_LINK = re.compile(r"\[([^\[\]\n]{0,500})\]\([^)\s]{0,2000}\)")
_CJK_NEGATION = re.compile("[不没沒無无未非勿]|ない|ません|なく")
_CJK_NUMBERS = frozenset("〇零一二三四五六七八九十百千万億")
_ENDS = frozenset(".!?:;•—。！？：；।॥؟؛")
_LISTED = frozenset(",、，،&")
_APART = re.compile(r"[;；|\n]")
# A ``key: value`` part: "city: Bonn", '"city": 3'. Times and addresses are none.
_KEYED = re.compile(r"[\s{\"'*_]*[^:\n]{0,60}(?:[^\W\d][\"'*_]*:\s|[\"']\s*:)\s*\S")
# Placeholders in a text: a date, and the subject that was left out.
_DATE = "\x02"
_LEFT_OUT = "\x03"
_NO_MARKS = str.maketrans({_DATE: " ", _LEFT_OUT: " "})
_ORDINARY_DATE = frozenset(["on", "am", "le", "el", "em", "il", "на", "at", "in", "dem"])
# Texts that occur repeatedly are parsed once.
_KEPT_CHARS = 2_000
# A longer text is no fact that somebody says in other words: it is the same as its like only.
_MOST_CHARS = 100_000
_BEFORE_VERBS = frozenset({"always", "often", "usually", "sometimes", "rarely"})
_SHORT_VERB = 3


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of a text that similarity compares.

    *sequence*: the meaningful words, in order. *pronouns*: pronouns that were left out of it; the
    other text may lack them but not differ in them. *openers*: words capitalised at a sentence's
    beginning, which may be names. *content*: the words of the sequence in any order, without
    negations and numbers. *key*: numbers, dates, and the count of negations.
    """

    same: str
    sequence: tuple[str, ...]
    pronouns: tuple[str, ...]
    content: Counter[str]
    words: Counter[str]
    names: frozenset[str]
    openers: frozenset[str]
    key: tuple[tuple[str, ...], tuple[str, ...], int]
    size: int


def signature(text: str) -> Signature:
    return _kept(text) if len(text) <= _KEPT_CHARS else _made(text)


def _is_figure(word: str) -> bool:
    return word[:1].isdigit() or word[1:2].isdigit() or word[:1] == _DATE


def _made(text: str) -> Signature:
    if len(text) > _MOST_CHARS:
        same = normal(text)
        empty: Counter[str] = Counter()
        return Signature(same, (), (), empty, empty, frozenset(), frozenset(), ((same,), (), 0), 0)
    plain = _TAG.sub("", _MARKER.sub("", text, count=1), count=1)
    plain = _LINK.sub(r"\1", plain)
    parts = _keyed_parts(plain)
    same = " ; ".join(sorted(map(normal, parts))) if len(parts) > 1 else normal(plain)
    readings = [_Reading(part) for part in parts]
    found = sorted(date for one in readings for date in one.dates)
    sequences = sorted(one.sequence() for one in readings)
    words = Counter(word for one in readings for word in one.words)
    content = Counter(word for one in readings for word in one.content())
    names = frozenset(word for one in readings for word in one.names)
    openers = frozenset(word for one in readings for word in one.openers)
    numbers = tuple(sorted(number for one in readings for number in one.numbers))
    negations = sum(one.negations for one in readings)
    return Signature(
        same,
        tuple(word for sequence in sequences for word in sequence),
        tuple(word for one in readings for word in one.pronouns),
        content,
        words,
        names,
        openers - names,
        (numbers, tuple(found), negations),
        words.total(),
    )


_kept = lru_cache(maxsize=20_000)(_made)


def _keyed_parts(text: str) -> list[str]:
    """Return the ``key: value`` parts of a text, or the text itself without any."""
    if ":" not in text and "：" not in text:
        return [text]
    for apart in (_APART, re.compile(r"[;；|\n,，]")):
        parts = [part for part in apart.split(text) if part.strip(" {}.")]
        if len(parts) > 1 and all(_KEYED.match(part.replace("：", ": ")) for part in parts):
            return parts
    return [text]


class _Reading:
    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.names: set[str] = set()
        self.openers: set[str] = set()
        self.numbers: list[str] = []
        self.dates: list[str] = []
        self.pronouns: list[str] = []
        self.negations = 0
        # Words in order; "" separates items of a list, "." sentences.
        self._order: list[str] = []
        self._runs: set[str] = set()
        self._begins = True
        self._verb = False
        plain = SUBJECT.sub(self._subject, level(text.translate(_NO_MARKS)))
        self._pieces = pieces(dates.marked(plain, _DATE))
        self._read()

    def sequence(self) -> tuple[str, ...]:
        """Return the meaningful words, in order."""
        order = self._order
        if len(self.dates) == 1:
            # One date may be anywhere in the text, with its preposition.
            at = order.index(_DATE + self.dates[0])
            start = at - 1 if at and order[at - 1] in _ORDINARY_DATE else at
            order = order[:start] + order[at + 1 :]
        return tuple(word for word in _in_list_order(order) if word not in {"", "."})

    def content(self) -> list[str]:
        """Return the meaningful words without negations and numbers."""
        return [
            part
            for word in self._order
            if word not in {"", "."} and word not in NEGATIONS and not _is_figure(word)
            for part in (_pairs(word) if word in self._runs else (word,))
        ]

    def _subject(self, match: re.Match[str]) -> str:
        if match["pronoun"]:
            self.pronouns.append(fold(match["pronoun"]))
        return f"{match['lead']}{_LEFT_OUT}"

    def _read(self) -> None:
        run = ""
        number, last = 0, len(self._pieces)
        while number < last:
            piece = self._pieces[number]
            number += 1
            if is_unspaced(piece):
                run += piece
                continue
            if run:
                self._unspaced(run)
                run = ""
            if piece == _DATE:
                self.dates.append(self._pieces[number])
                self._order.append(_DATE + self._pieces[number])
                number += 2
            elif piece == _LEFT_OUT:
                self._verb = True
            else:
                self._piece(piece, self._pieces[number] if number < last else "")
        if run:
            self._unspaced(run)

    def _piece(self, piece: str, following: str) -> None:
        if not piece[0].isalnum() and piece[-1:].isdigit():
            self._number(piece)
        elif not piece[0].isalnum():
            self._sign(piece)
        elif piece[0].isdigit():
            self._number(piece)
        else:
            self._word(piece, following)

    def _number(self, piece: str) -> None:
        self._begins = self._verb = False
        number = _number(piece)
        self.numbers.append(number)
        self._order.append(number)

    def _sign(self, piece: str) -> None:
        if piece in _ENDS:
            self._begins, self._verb = True, False
            self._order.append(".")
        elif piece in _LISTED:
            self._order.append("")
        elif is_token(piece) and not piece.isascii():
            self.words.append(piece)
            self._order.append(piece)
        elif piece in "<>":
            self._order.append(piece)

    def _unspaced(self, run: str) -> None:
        """Add a run of characters without spaces; pairs of characters count as words."""
        self._begins = self._verb = False
        plain = fold(run)
        self.negations += len(_CJK_NEGATION.findall(plain))
        self.numbers += [sign for sign in plain if sign in _CJK_NUMBERS]
        self.words += _pairs(plain)
        self._runs.add(plain)
        self._order.append(plain)

    def _word(self, piece: str, following: str) -> None:
        begins, self._begins = self._begins, False
        is_name = piece[0].isupper()
        has_capitals_within = piece[1:] != piece[1:].lower()
        word = fold(piece)
        if word in POSSESSIVES and following[:1].isalpha():
            self.pronouns.append(word)
            self.words.append(word)
            return
        for part in _parts(word):
            if part in NUMBERS:
                self.numbers.append(NUMBERS[part])
                self._order.append(NUMBERS[part])
                continue
            if part in NEGATIONS:
                self.negations += 1
            bare = part.removesuffix("'s")
            self.words.append(bare)
            self._ordered(part, piece, following, begins=begins)
            if is_name and bare not in NOT_NAMES:
                (self.openers if begins and not has_capitals_within else self.names).add(bare)

    def _ordered(self, word: str, piece: str, following: str, *, begins: bool) -> None:
        """Add a word to the ordered words."""
        if word in LIST_WORDS:
            self._order.append("")
        elif not _is_small(word, piece, following, begins=begins):
            if (self._verb or (begins and following != ":")) and word not in NEGATIONS:
                word = _plain_verb(word)
                self._verb = word in _BEFORE_VERBS
            self._order.append(word)
        elif begins and word in {"is", "are", "does", "do"}:
            self._verb = True


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in pairwise(run)] or [run]


def _is_small(word: str, piece: str, following: str, *, begins: bool) -> bool:
    if word not in SMALL_WORDS:
        return False
    if word in {"die", "den", "des"}:
        # German articles precede a noun; the English "die" is a verb.
        return begins or (piece.islower() and following[:1].isupper())
    return not (word in {"a", "an"} and following in {"few", "little"})


def _in_list_order(order: list[str]) -> list[str]:
    """Sort the words of plain lists ("tea, milk and sugar").

    A plain list has single words as items and begins or ends a sentence.
    """
    if "" not in order:
        return order
    found: list[str] = []
    message: list[str] = []
    for word in [*order, "."]:
        if word == ".":
            found += _with_list_sorted(message)
            message = []
        else:
            message.append(word)
    return found


def _with_list_sorted(message: list[str]) -> list[str]:
    items: list[list[str]] = [[]]
    for word in message:
        if word:
            items[-1].append(word)
        elif items[-1]:
            items.append([])
    items = [item for item in items if item]
    words = [word for item in items for word in item]
    if len(items) < 2 or any(len(item) != 1 for item in items[1:-1]):  # noqa: PLR2004 - a list
        return words
    head, tail = items[0], items[-1]
    listed = [head[-1], *(item[0] for item in items[1:-1]), tail[0]]
    is_plain = not any(word in NEGATIONS or "'" in word or _is_figure(word) for word in words)
    if not is_plain or (len(head) > 1 and len(tail) > 1):
        return words
    return [*head[:-1], *sorted(listed), *tail[1:]]


def _plain_verb(word: str) -> str:
    """Return an English verb without the third person's ending."""
    if not word.isascii() or len(word) < _SHORT_VERB or not word.endswith("s") or word in OPPOSITES:
        return word
    if word == "has":
        return "have"
    if word.endswith("ies") and len(word) > _SHORT_VERB + 1:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "oes", "sses", "zzes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _parts(word: str) -> list[str]:
    """Expand contractions: ``doesn't`` to ``does not``, ``l'ami`` to ``ami``."""
    if word in CONTRACTED:
        return CONTRACTED[word].split()
    head, mark, tail = word.partition("'")
    if not mark:
        return [word]
    if word.endswith("n't"):
        return [word[:-3], "not"]
    if tail in SUBJECT_CLITICS.get(head, ()) or tail in {"re", "ve", "ll", "m"}:
        return [head]
    return [tail] if head in ELIDED else [word]


def _number(token: str) -> str:
    """Normalise a number: no thousands separators, a decimal point."""
    if re.fullmatch(r"[-+]?\d{1,3}(?:([.,'])\d{3})(?:\1\d{3})*%?", token):
        return re.sub(r"[.,']", "", token)
    if re.fullmatch(r"[-+]?\d+,\d+%?", token):
        return token.replace(",", ".")
    return token.lstrip("0") or "0" if token.isdigit() else token
