"""When two texts say the same: one function for all rules about memory files.

*Same*: equal but for case, white space, punctuation and the coding of characters. *Near*: the
same, or 85 % of the words of the longer one in common with the same numbers, dates, names and
negations. Words in another order count as in common; other words for the same thing do not.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from memory import dates
from memory.facts import fold, normal
from memory.words import CLITICS, CONTRACTED, ELIDED, NEGATIONS, NOT_NAMES, NUMBERS

SHARE = 0.85
_MARKER = re.compile(r"\s*(?:[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_TAG = re.compile(r"\[(?:permanent|durable|ephemeral|correction|skip)\]\s*")
_LINK = re.compile(r"\[([^\[\]\n]{0,500})\]\([^)\s]{0,2000}\)")
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_TOKEN = re.compile(
    rf"[{_CJK}]+|[^\W_](?:[^\W_{_CJK}]|['\u2019.,:/-](?=\d)|['\u2019](?=\w))*(?:[+#]+(?!\w))?%?"
    r"|[^\w\s]"
)
_IS_CJK = re.compile(f"[{_CJK}]")
_CJK_NEGATION = re.compile("[不没沒無无未非勿]|ない|ません|なく")
_CJK_NUMBER = re.compile("[〇零一二三四五六七八九十百千万億]")
_ENDS = frozenset(".!?:;\n•—")
# Texts that are seen again and again are taken apart once.
_KEPT_CHARS = 2_000
_FUZZY = 4
# Texts that are compared word by word share so many rare words at least, where there are as many.
_PROBES = 3
_LONG = 9


@dataclass(frozen=True, slots=True)
class Signature:
    """A text as far as nearness is concerned. *openers*: words that are capitalised where a
    sentence begins, and so may be names."""

    normal: str
    words: Counter[str]
    names: frozenset[str]
    openers: frozenset[str]
    key: tuple[tuple[str, ...], tuple[str, ...], int]
    size: int


def is_same(first: str, second: str) -> bool:
    """Whether two texts are equal but for case, white space, punctuation and coding."""
    return signature(first).normal == signature(second).normal


def is_near(first: str, second: str) -> bool:
    """Whether two texts say the same; symmetric, and true of a text and itself."""
    return _near(signature(first), signature(second))


def nearest(text: str, candidates: Sequence[str]) -> int | None:
    """The index of a candidate that says the same as *text*, the most similar; else ``None``."""
    return Index(candidates).find(text)


def is_typo_of(first: str, second: str) -> bool:
    """Whether two texts are the same but for slips of the pen: near, where also words count as in
    common that differ by a letter or two. For what a person corrects, not for what is refused."""
    a, b = signature(first), signature(second)
    if _near(a, b):
        return True
    if a.key != b.key or min(a.size, b.size) < SHARE * max(a.size, b.size):
        return False
    rest = list((b.words - a.words).elements())
    common = (a.words & b.words).total()
    for word in (a.words - b.words).elements():
        other = next((other for other in rest if _is_slip(word, other)), None)
        if other is not None:
            rest.remove(other)
            common += 1
        elif word in a.names | a.openers:
            return False
    capitals = b.names | b.openers
    return common >= SHARE * max(a.size, b.size) and not capitals.intersection(rest)


class Index:
    """Many texts, to find quickly one that is near."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._signatures = [signature(text) for text in texts]
        self._same: dict[str, int] = {}
        self._postings: defaultdict[tuple[object, str], list[int]] = defaultdict(list)
        for number, one in enumerate(self._signatures):
            self._same.setdefault(one.normal, number)
            for word in one.words or ("",):
                self._postings[one.key, word].append(number)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._signatures)

    def find(self, text: str) -> int | None:
        """The index of the text that is the same as *text* or else nearest to it."""
        if not self._signatures:
            return None
        sought = signature(text)
        same = self._same.get(sought.normal)
        if same is not None:
            return same
        near = [at for at in self._candidates(sought) if _near(sought, self._signatures[at])]
        return max(near, key=lambda at: _common(sought, self._signatures[at]), default=None)

    def alike(self, text: str, most: int) -> list[int]:
        """The indexes of at most *most* texts that share words with *text*, most of them first."""
        shared: Counter[int] = Counter()
        sought = signature(text)
        for word in sought.words or ("",):
            shared.update(self._postings.get((sought.key, word), ())[:1_000])
        return [at for at, _ in shared.most_common(most)]

    def _candidates(self, sought: Signature) -> set[int]:
        """Texts that may be near: those that have enough of the rarest words."""
        if not sought.words:
            return set(self._postings.get((sought.key, ""), ()))
        rows = sorted(
            (self._postings.get((sought.key, word), []) for word in sought.names or sought.words),
            key=len,
        )
        # So many words may be missing; of names, which the other text has all, none.
        missing = 0 if sought.names else int(sought.size * (1 - SHARE) + 1e-9)
        probes = rows[: missing + _PROBES]
        votes: Counter[int] = Counter()
        for row in probes:
            votes.update(row)
        enough = len(probes) - missing
        return {at for at, count in votes.items() if count >= enough}


def signature(text: str) -> Signature:
    """The text taken apart."""
    return _kept(text) if len(text) <= _KEPT_CHARS else _made(text)


def content_words(text: str) -> Counter[str]:
    """The words of a text, numbers and dates left out."""
    return signature(text).words


def _near(a: Signature, b: Signature) -> bool:
    if a.normal == b.normal:
        return True
    if a.key != b.key or _common(a, b) < SHARE * max(a.size, b.size):
        return False
    if not (a.names <= b.words.keys() and b.names <= a.words.keys()):
        return False
    # "Anna likes tea" and "Lena likes tea": what a sentence begins with may be a name.
    return not (_left(a, b) & a.openers and _left(b, a) & b.openers)


def _common(a: Signature, b: Signature) -> int:
    if a.size > b.size:
        a, b = b, a
    return sum(min(count, b.words[word]) for word, count in a.words.items() if word in b.words)


def _left(a: Signature, b: Signature) -> set[str]:
    return {word for word, count in a.words.items() if count > b.words[word]}


def _made(text: str) -> Signature:
    plain = _TAG.sub("", _MARKER.sub("", text, count=1), count=1)
    plain = _LINK.sub(r"\1", plain)
    found, rest = dates.take(plain)
    reading = _Reading()
    for match in _TOKEN.finditer(rest):
        reading.token(match[0], rest, match.start())
    key = (tuple(sorted(reading.numbers)), tuple(sorted(found)), reading.negations)
    words = Counter(reading.words)
    return Signature(
        normal(plain),
        words,
        frozenset(reading.names),
        frozenset(reading.openers - reading.names),
        key,
        words.total(),
    )


_kept = lru_cache(maxsize=20_000)(_made)


class _Reading:
    """The words of a text, one after the other."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.names: set[str] = set()
        self.openers: set[str] = set()
        self.numbers: list[str] = []
        self.negations = 0
        self._begins = True

    def token(self, token: str, text: str, start: int) -> None:
        """Take one in."""
        if not token[0].isalnum():
            if token in _ENDS:
                self._begins = True
            elif unicodedata.category(token)[0] == "S" and not token.isascii():
                self.words.append(token)
            return
        begins, self._begins = self._begins, False
        if _IS_CJK.match(token):
            self._cjk(token)
        elif token[0].isdigit():
            sign = "-" if start and text[start - 1] in "-\u2212" and _is_sign(text, start) else ""
            self.numbers.append(sign + _number(token))
        else:
            self._word(token, begins=begins)

    def _cjk(self, run: str) -> None:
        """Pairs of characters stand for words where none are parted."""
        self.negations += len(_CJK_NEGATION.findall(run))
        self.numbers += _CJK_NUMBER.findall(run)
        self.words += [a + b for a, b in pairwise(run)] or [run]

    def _word(self, token: str, *, begins: bool) -> None:
        is_name = token[0].isupper()
        has_capitals_within = token[1:] != token[1:].lower()
        word = fold(token).replace("\u2019", "'").rstrip("%")
        for part in _parts(word):
            if part in NUMBERS:
                self.numbers.append(NUMBERS[part])
                continue
            if part in NEGATIONS:
                self.negations += 1
            self.words.append(part)
            if not is_name or part in NOT_NAMES:
                continue
            if begins and not has_capitals_within:
                self.openers.add(part)
            else:
                self.names.add(part)


def _is_sign(text: str, start: int) -> bool:
    """Whether the dash before a number is its sign: nothing stands before it."""
    return start == 1 or text[start - 2].isspace()


def _parts(word: str) -> list[str]:
    """A word without what is contracted with it: ``doesn't`` is ``does not``, ``l'ami`` ``ami``."""
    if word in CONTRACTED:
        return CONTRACTED[word].split()
    head, mark, tail = word.partition("'")
    if not mark:
        return [word]
    if word.endswith("n't"):
        return [word[:-3], "not"]
    if tail in CLITICS:
        return [head]
    return [tail] if head in ELIDED else [word]


def _number(token: str) -> str:
    """A number in one form: without parted thousands, with a point before decimals."""
    plain = token.replace("\u2019", "'")
    if re.fullmatch(r"\d{1,3}(?:([.,'])\d{3})(?:\1\d{3})*%?", plain):
        return re.sub(r"[.,']", "", plain)
    if re.fullmatch(r"\d+,\d+%?", plain):
        return plain.replace(",", ".")
    return plain.lstrip("0") or "0" if plain.isdigit() else plain


def _is_slip(a: str, b: str) -> bool:
    """Whether two words differ by a slip: two neighbours turned round, a letter or (in a long
    word) two added, left out or replaced."""
    if min(len(a), len(b)) < _FUZZY or abs(len(a) - len(b)) > 2:  # noqa: PLR2004 - as the docstring says
        return False
    if len(a) == len(b) and sorted(a) == sorted(b):
        return sum(x != y for x, y in zip(a, b, strict=True)) == 2  # noqa: PLR2004 - as the docstring says
    allowed = 2 if min(len(a), len(b)) >= _LONG else 1
    if min(len(a), len(b)) == _FUZZY and len(a) == len(b):
        return False
    return _distance(a, b, allowed) <= allowed


def _distance(a: str, b: str, most: int) -> int:
    """How many letters must be added, left out or replaced; beyond *most*, any number above it."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
        if min(row) > most:
            return most + 1
    return row[-1]
