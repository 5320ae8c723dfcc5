"""What a memory file says, taken apart: bullets, paragraphs, rows, code, each with its place.

Lines count from 1. The text of a fact is without its bullet or number, and of a paragraph without
the indentation; what stands on several lines keeps its line ends.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

type Kind = Literal[
    "bullet", "numbered", "paragraph", "code", "table", "comment", "heading", "rule", "header"
]

ID_DIGITS = 12
_LINES = frozenset({"code", "comment", "table", "header"})
# What has no content of its own: it may go without being kept.
STRUCTURE = frozenset({"heading", "rule"})

_HEADING = re.compile(r" {0,3}#{1,6}(?=\s|$)")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)(.*)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_RULERS = frozenset("-*_=")
_COLUMNS = frozenset(" \t|:-")
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=\S)|(?<=[。！？])")
_WORD = re.compile(r"\w+")
# Less than so many words beside it, and a full stop ends no sentence: "Dr. Meyer", "z. B. ".
_SENTENCE_WORDS = 3
# What is remembered of texts taken apart stays at a few megabytes.
_KEPT_CHARS = 16_000
_SHORT_CHARS = 500


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of a file: its text, the heading above it, its first and last line, and the bullet
    that it belongs to (``under``), if one."""

    text: str
    heading: str
    first: int
    last: int
    kind: Kind
    under: str = ""

    @property
    def has_content(self) -> bool:
        """Whether it says something; headings and rules do not."""
        return self.kind not in STRUCTURE


def decoded(data: bytes | None) -> str:
    """A file's bytes as text without byte order mark, lines ending in LF. Bytes that are no
    UTF-8 are written as their hexadecimal numbers; nothing else of the file is lost for them."""
    text = (data or b"").decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def facts(text: str) -> tuple[Fact, ...]:
    """Everything that *text* says, in order."""
    return _kept(text) if len(text) <= _KEPT_CHARS else _scanned(text)


def _scanned(text: str) -> tuple[Fact, ...]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(_Scanner(text.split("\n")).scan())


# Several rules take the same text of a file apart within one write.
_kept = lru_cache(maxsize=128)(_scanned)


def stated(data: bytes | None) -> list[Fact]:
    """The facts of a file's bytes that have content."""
    return [fact for fact in facts(decoded(data)) if fact.has_content]


def units(fact: Fact | str) -> tuple[str, ...]:
    """The sentences of a fact, or the lines of what is no prose: what each says something by
    itself. How a text is broken into lines does not matter."""
    text = fact if isinstance(fact, str) else fact.text
    if not isinstance(fact, str) and fact.kind in _LINES:
        return tuple(line.strip() for line in text.split("\n") if line.strip())
    return tuple(_sentences(" ".join(text.split())))


def normal(text: str) -> str:
    """The text without case, white space, punctuation and coding of characters: what ids are
    made of. A text of nothing else stays, folded."""
    return _kept_normal(text) if len(text) <= _SHORT_CHARS else _normal(text)


def _normal(text: str) -> str:
    folded = fold(text)
    if not folded.isascii():
        words = _TOKEN.findall(folded)
        kept = [word for word in words if _counts(word)]
    else:
        kept = _ASCII_TOKEN.findall(folded)
    return " ".join(kept) or " ".join(folded.split())


# The lines of a file are compared again and again.
_kept_normal = lru_cache(maxsize=10_000)(_normal)


def digest(text: str) -> str:
    """SHA-256 of the text in its normal form; an id is the beginning of it."""
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()


def fold(text: str) -> str:
    """Case and the coding of characters levelled, invisible characters left out."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if folded.isprintable():
        return folded
    return "".join(char for char in folded if unicodedata.category(char) not in {"Cf", "Cs"})


_NUMBER = r"(?<![\w.,])[-+\u2212]?\d+(?:[.,:/'\u2019-]\d+)*%?(?!\w)"
_WORDS = r"[^\W_]+(?:['\u2019][^\W_]+)*(?:[+#]+(?!\w))?"
_ASCII_TOKEN = re.compile(rf"{_NUMBER}|{_WORDS}|\$", re.ASCII)
_TOKEN = re.compile(rf"{_NUMBER}|{_WORDS}|[^\w\s]")


def _counts(token: str) -> bool:
    """Whether a token is more than punctuation: a word, a number, a sign such as an emoji."""
    if len(token) > 1 or token.isalnum():
        return True
    return unicodedata.category(token) in {"So", "Sc"}


def _sentences(line: str) -> Iterator[str]:
    """The sentences of a line; what ends in an abbreviation is taken with what follows."""
    waiting = ""
    for piece in _SENTENCE.split(line):
        waiting = f"{waiting} {piece}" if waiting else piece
        if len(_WORD.findall(piece)) >= _SENTENCE_WORDS or not piece.isascii():
            yield waiting
            waiting = ""
    if waiting:
        yield waiting


class _Scanner:
    """One pass over the lines of a file."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
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
        """The header of a skill: each line of it is a fact of its own."""
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
        elif stripped.startswith("<!--"):
            yield self._block("comment", start, self._end_of_comment())
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
        """A bullet or a number, with the lines that continue it."""
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
        """Whether something new begins at a line, or nothing stands there."""
        line = self.lines[number]
        stripped = line.strip()
        return (
            not stripped
            or stripped.startswith(("<!--", "|"))
            or _is_rule(stripped)
            or any(pattern.match(line) for pattern in (_HEADING, _ITEM, _FENCE))
        )

    def _end_of_fence(self, fence: str) -> int:
        for number in range(self.at + 1, len(self.lines)):
            line = self.lines[number].strip()
            if line.startswith(fence) and not line.strip(fence[0]):
                return number
        return len(self.lines) - 1

    def _end_of_comment(self) -> int:
        for number in range(self.at, len(self.lines)):
            if "-->" in self.lines[number]:
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
    """Whether a line is only a line: ``---``, ``* * *``, ``===``."""
    signs = set(stripped) - {" ", "\t"}
    return len(signs) == 1 and signs <= _RULERS and sum(map(stripped.count, signs)) >= 3  # noqa: PLR2004 - Markdown's own
