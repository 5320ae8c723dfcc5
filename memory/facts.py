"""Parses a memory file into facts: bullets, paragraphs, rows, code, each with its place.

Lines count from 1. A fact's text has no bullet, number or indentation; a text of several lines
keeps its line ends.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from jenny.markdown.comments import comment_lines
from jenny.text_normalisation import fold, tokens

type Kind = Literal[
    "bullet", "numbered", "paragraph", "code", "table", "comment", "heading", "rule", "header"
]

ID_DIGITS = 12
_LINES = frozenset({"code", "comment", "table", "header"})
_ITEMS = frozenset({"bullet", "numbered"})
# Kinds without content of their own; they may be removed without being archived.
STRUCTURE = frozenset({"heading", "rule"})

_HEADING = re.compile(r" {0,3}#{1,6}(?=\s|$)")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)(.*)")
_LINE_END = re.compile(r"[\r\n]")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_RULERS = frozenset("-*_=")
_COLUMNS = frozenset(" \t|:-")
_SENTENCE = re.compile(r"(?<=[.!?।॥؟۔])[ \t]+(?=\S)|(?<=[。！？])")
_WORD = re.compile(r"\w+")
_ABBREVIATED = re.compile(
    r"\b(?:St|Ste|Dr|Mr|Mrs|Ms|Mme|Prof|Nr|No|Sr|Sra|Jr|Mt|Str|ca|bzw|vs|z\. ?B|e\.g|i\.e)\.$"
)
# With fewer words than this beside it, a full stop ends no sentence: "Dr. Meyer", "z. B. ".
_SENTENCE_WORDS = 3
# The cache of parsed texts stays at a few megabytes.
_KEPT_CHARS = 16_000
_SHORT_CHARS = 500


@dataclass(frozen=True, slots=True)
class Fact:
    """A part of a file: its text, the heading above it, its first and last line, and the bullet
    above a nested one (``under``)."""

    text: str
    heading: str
    first: int
    last: int
    kind: Kind
    under: str = ""

    @property
    def has_content(self) -> bool:
        return self.kind not in STRUCTURE


def decoded(data: bytes | None) -> str:
    """Decode a file without byte order mark, with LF line ends.

    Bytes that are not UTF-8 become their hexadecimal numbers, so that nothing else is lost.
    """
    text = (data or b"").decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def facts(text: str) -> tuple[Fact, ...]:
    """Return everything that *text* states, in order."""
    return _kept(text) if len(text) <= _KEPT_CHARS else _scanned(text)


def _scanned(text: str) -> tuple[Fact, ...]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(_Scanner(text.split("\n"), comment_lines(text)).scan())


# Several rules parse the same text within one write.
_kept = lru_cache(maxsize=128)(_scanned)


def stated(data: bytes | None) -> list[Fact]:
    """Return the facts of a file that have content."""
    return [fact for fact in facts(decoded(data)) if fact.has_content]


def units(fact: Fact | str) -> tuple[str, ...]:
    """Return the sentences of a fact, or the lines of what is no prose. Line breaks within prose
    do not matter."""
    text = fact if isinstance(fact, str) else fact.text
    if not isinstance(fact, str) and fact.kind in _LINES:
        return tuple(line.strip() for line in text.split("\n") if line.strip())
    return tuple(_sentences(" ".join(text.split())))


def replaced_units(fact: Fact, new: Mapping[str, str]) -> str:
    """Return the text of a fact with other units in the place of some; an empty one is left out.
    Empty when no word is left."""
    if fact.kind in _LINES:
        rows = [(row, new.get(row.strip(), row)) for row in fact.text.split("\n")]
        text = "\n".join(left for row, left in rows if left or not row)
    else:
        text = " ".join(filter(None, (new.get(unit, unit) for unit in units(fact))))
    return text if any(map(str.isalnum, text)) else ""


def reworded(block: str, fact: Fact, text: str) -> str:
    """Return *block*, the lines of a fact as they stand in the file, with another text. The mark,
    the indentation and what follows the text stay."""
    mark = _ITEM.match(_LINE_END.split(block, maxsplit=1)[0]) if fact.kind in _ITEMS else None
    rows = fact.text.split("\n")
    start = block.index(rows[0], mark.start(3) if mark else 0)
    end = block.rindex(rows[-1]) + len(rows[-1])
    newline = "\r\n" if "\r\n" in block else "\n"
    return block[:start] + text.replace("\n", newline) + block[end:]


def sentences(text: str) -> tuple[str, ...]:
    """Return the texts between sentence ends, also where the end may be an abbreviation."""
    return tuple(piece for piece in _SENTENCE.split(text) if piece)


def normal(text: str) -> str:
    """Return the tokens of the text (``jenny.text_normalisation``), without case, white space and
    punctuation.

    Ids are made of it. A text without tokens is only folded.
    """
    return _kept_normal(text) if len(text) <= _SHORT_CHARS else _normal(text)


def _normal(text: str) -> str:
    return " ".join(tokens(text)) or " ".join(fold(text).split())


# The lines of a file are compared repeatedly.
_kept_normal = lru_cache(maxsize=10_000)(_normal)


def digest(text: str) -> str:
    """Return the SHA-256 of the normal form; an id is its beginning."""
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()


def digests(text: str) -> tuple[str, ...]:
    """Return the digest, and that of earlier versions when it differs: archive files and database
    rows may have it."""
    return tuple(dict.fromkeys((digest(text), earlier_digest(text))))


def short_sentences(line: str) -> tuple[str, ...]:
    """Return the sentences of a line, also those of two words, which ``units`` leaves with the
    next one."""
    return tuple(_sentences(" ".join(line.split()), least=2))


def _sentences(line: str, least: int = _SENTENCE_WORDS) -> Iterator[str]:
    """Split a line into sentences; an abbreviation's full stop ends none."""
    waiting = ""
    for piece in _SENTENCE.split(line):
        waiting = f"{waiting} {piece}" if waiting else piece
        is_long = len(_WORD.findall(piece)) >= least or not piece.isascii()
        if is_long and not _ABBREVIATED.search(piece):
            yield waiting
            waiting = ""
    if waiting:
        yield waiting


class _Scanner:
    def __init__(self, lines: list[str], comments: dict[int, int]) -> None:
        self.lines = lines
        self.comments = comments
        self.at = 0
        self.heading = ""
        self.items: list[tuple[int, str]] = []

    def scan(self) -> Iterator[Fact]:
        if self.lines and self.lines[0].rstrip() == "---":
            yield from self._header()
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip():
                yield from self._next(line)
            else:
                self.at += 1

    def _header(self) -> Iterator[Fact]:
        """Read the header of a skill; each of its lines is a fact."""
        for end in range(1, min(len(self.lines), 200)):
            if self.lines[end].rstrip() == "---":
                yield self._made("rule", 0, 0)
                for number in range(1, end):
                    if self.lines[number].strip():
                        yield self._made("header", number, number)
                yield self._made("rule", end, end)
                self.at = end + 1
                return

    def _next(self, line: str) -> Iterator[Fact]:
        start, stripped = self.at, line.strip()
        if line[0] not in " \t":
            self.items = []
        if fence := _FENCE.match(line):
            yield self._block("code", start, self._end_of_fence(fence[1]))
        elif start in self.comments:
            yield self._block("comment", start, self.comments[start])
        elif _HEADING.match(line):
            self.heading = stripped.strip("#").strip()
            self.items = []
            yield self._block("heading", start, start)
        elif _is_rule(stripped):
            yield self._block("rule", start, start)
        elif item := _ITEM.match(line):
            yield self._item(item)
        elif stripped.startswith("|"):
            is_line = "-" in stripped and set(stripped) <= _COLUMNS
            yield self._block("rule" if is_line else "table", start, start)
        else:
            while self.at + 1 < len(self.lines) and not self._begins(self.at + 1):
                self.at += 1
            yield self._block("paragraph", start, self.at)

    def _item(self, item: re.Match[str]) -> Fact:
        """Read a bullet or a number with the lines that continue it."""
        start = self.at
        indent = len(item[1].expandtabs(4))
        self.items = [row for row in self.items if row[0] < indent]
        while self.at + 1 < len(self.lines) and not self._begins(self.at + 1):
            self.at += 1
        rest = [line.strip() for line in self.lines[start + 1 : self.at + 1]]
        text = "\n".join([item[3].strip(), *rest]).strip("\n")
        kind: Kind = "bullet" if item[2] in "-*+" else "numbered"
        fact = Fact(text, self.heading, start + 1, self.at + 1, kind, self._under())
        if not text:
            fact = Fact(item[2], self.heading, start + 1, start + 1, "rule")
        self.items.append((indent, text))
        self.at += 1
        return fact

    def _begins(self, number: int) -> bool:
        line = self.lines[number]
        stripped = line.strip()
        return (
            not stripped
            or number in self.comments
            or stripped.startswith("|")
            or _is_rule(stripped)
            or any(pattern.match(line) for pattern in (_HEADING, _ITEM, _FENCE))
        )

    def _end_of_fence(self, fence: str) -> int:
        for number in range(self.at + 1, len(self.lines)):
            line = self.lines[number].strip()
            if line.startswith(fence) and not line.strip(fence[0]):
                return number
        return len(self.lines) - 1

    def _block(self, kind: Kind, start: int, end: int) -> Fact:
        self.at = end + 1
        return self._made(kind, start, end)

    def _made(self, kind: Kind, start: int, end: int) -> Fact:
        lines = self.lines[start : end + 1]
        text = "\n".join(lines if kind == "code" else [line.strip() for line in lines])
        return Fact(text.strip("\n"), self.heading, start + 1, end + 1, kind, self._under())

    def _under(self) -> str:
        return self.items[-1][1] if self.items else ""


def _is_rule(stripped: str) -> bool:
    """True for rules: ``---``, ``* * *``, ``===``."""
    signs = set(stripped) - {" ", "\t"}
    return len(signs) == 1 and signs <= _RULERS and sum(map(stripped.count, signs)) >= 3  # noqa: PLR2004 - Markdown's own


_NUMBER = r"(?<![\w.,])[-+\u2212]?\d+(?:[.,:/'\u2019-]\d+)*%?(?!\w)"
_WORDS = r"[^\W_]+(?:['\u2019][^\W_]+)*(?:[+#]+(?!\w))?"
_ASCII_TOKEN = re.compile(rf"{_NUMBER}|{_WORDS}|\$", re.ASCII)
_TOKEN = re.compile(rf"{_NUMBER}|{_WORDS}|[^\w\s]")


def earlier_digest(text: str) -> str:
    """Return the SHA-256 of the text in the normal form of earlier versions."""
    folded = _fold(text)
    if folded.isascii():
        kept = _ASCII_TOKEN.findall(folded)
    else:
        kept = [token for token in _TOKEN.findall(folded) if _counts(token)]
    normal = " ".join(kept) or " ".join(folded.split())
    return hashlib.sha256(normal.encode("utf-8", "replace")).hexdigest()


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if folded.isascii():
        return folded
    return "".join(char for char in folded if unicodedata.category(char) not in {"Cf", "Cs"})


def _counts(token: str) -> bool:
    if len(token) > 1 or token.isalnum():
        return True
    return unicodedata.category(token) in {"So", "Sc"}
