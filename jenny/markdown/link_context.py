"""Define what a text needs to know of its surroundings: link targets and heading ids.

A message has no surroundings; a page of a wiki does.
"""

import hashlib
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal, Protocol

from markdown_it.token import Token

from jenny.text_normalisation import fold

AROUND = "around"
"""The key of the surroundings in the parser's environment."""

WRITTEN = "written"
"""The key, there and in a link's ``meta``, of the position of its destination in the source."""

NOT_THERE = "there is no such file"
"""The note beside a link or a picture whose file is missing."""

HEADING_PREFIX = "h-"
MOST_HEADINGS = 1_000
HEADING_LEVELS = 6
_ID_CHARS = 80


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """The result of resolving a link.

    ``kind``: the target exists, it could be created, or the name is ambiguous. ``text``: the link's
    text; ``hint``: its title.
    """

    kind: Literal["there", "missing", "unclear"]
    address: str
    text: str
    hint: str = ""


class LinkContext(Protocol):
    """The surroundings of a text. Every address is one of this site, beginning with / or #."""

    def wiki_link(self, inner: str) -> ResolvedLink: ...

    def near(self, address: str) -> str | None: ...

    def picture(self, address: str) -> str | None:
        """Return the address of a picture of this site; ``None``: there is none."""

    def missing(self, address: str) -> bool:
        """True when the address names a file of this place that is not there."""

    def frame(self, language: str, source: str) -> str | None:
        """Return the address of a frame that shows a diagram or a document of HTML or SVG;
        ``None``: only its source is shown."""

    def tag(self, name: str) -> str:
        """Return the address where pages with a tag are found. Asked in pages only."""

    def embed(self, inner: str) -> str | None:
        """Return the HTML of the page or part of one that ``![[inner]]`` shows, which was rendered
        and sanitised; ``None``: it becomes a link. Asked in pages only."""


def frame_name(language: str, source: str) -> str:
    """Return the name of the frame that shows a block of code in *language*."""
    return hashlib.sha256(f"{language}\n{source}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a text. ``level`` from 1; ``id``: its anchor."""

    level: int
    text: str
    id: str


@dataclass
class Outline:
    """The headings of a text, each with a unique id."""

    headings: list[Heading] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)

    def name(self, tokens: list[Token]) -> None:
        """Set an id for every heading among *tokens*, in ``meta``."""
        for token, inline in pairwise(tokens):
            if token.type != "heading_open" or len(self.headings) >= MOST_HEADINGS:
                continue
            text = " ".join("".join(_words(inline.children or [])).split())
            if text:
                heading = Heading(int(token.tag[1]), text, self._free(text))
                token.meta["id"] = heading.id
                self.headings.append(heading)

    def _free(self, text: str) -> str:
        """Return the id of the next heading with these words; repeated ones are numbered from 1."""
        start = anchor(text)
        found, number = start, 0
        while found in self._taken:
            number += 1
            found = f"{start}-{number}"
        self._taken.add(found)
        return found


def anchor(text: str) -> str:
    """Return the id of the first heading with these words.

    Texts that are equal when folded (``jenny.text_normalisation``) have the same id. Combining
    marks are part of a word (as vowels of Indic scripts); joiners are dropped.
    """
    kept = []
    for char in fold(text):
        kind = unicodedata.category(char)
        if kind != "Cf":
            kept.append(char if char == "_" or kind[0] in "LNM" else " ")
    return HEADING_PREFIX + ("-".join("".join(kept).split())[:_ID_CHARS].strip("-") or "section")


type _Tables = tuple[list[int], ...]
"""Sorted indexes of headings, by kind of match."""


class HeadingIndex:
    """The headings of a text, by every form in which a link may name them."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._headings = headings
        self._ends = _section_ends(headings)
        # Indexes by id, by folded words, and by the id that the words would have.
        self._named: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for index, one in enumerate(headings):
            for table, key in zip(self._named, (one.id, *_forms(one.text)), strict=True):
                table.setdefault(key, []).append(index)
        self._found: dict[str, Heading | None] = {}

    def find(self, written: str) -> Heading | None:
        """Find the heading that ``#written`` names.

        That is its id, or its words, or a path of headings (``FAQ#Sub One``), each below the one
        before it.
        """
        if written not in self._found:
            self._found[written] = self._find(written)
        return self._found[written]

    def _find(self, written: str) -> Heading | None:
        parts = [part.strip() for part in written.split("#") if part.strip()]
        if not 0 < len(parts) <= HEADING_LEVELS:
            return None
        named = [self._indexes(part) for part in parts]
        if not all(map(any, named)):
            return None
        index = self._below(named, 0, len(self._headings), set())
        return None if index is None else self._headings[index]

    def _below(
        self, named: list[_Tables], start: int, end: int, failed: set[tuple[int, int]]
    ) -> int | None:
        """Find the path *named* among the headings from *start* to *end*. *failed*: headings
        without the rest of the path below them, each with the length of that rest."""
        inside = (table[bisect_left(table, start) : bisect_left(table, end)] for table in named[0])
        for index in chain.from_iterable(inside):
            if len(named) == 1:
                return index
            if (index, len(named)) in failed:
                continue
            found = self._below(named[1:], index + 1, self._ends[index], failed)
            if found is not None:
                return found
            failed.add((index, len(named)))
        return None

    def _indexes(self, name: str) -> _Tables:
        """Return the indexes of the headings that *name* may mean, the most likely first."""
        by_id, by_words, by_anchor = self._named
        folded, wanted = _forms(name)
        ids = sorted((*by_id.get(name, ()), *by_id.get(HEADING_PREFIX + name, ())))
        return ids, by_words.get(folded, []), by_anchor.get(wanted, [])


def _forms(text: str) -> tuple[str, str]:
    return " ".join(fold(text).split()), anchor(text)


def _section_ends(headings: Sequence[Heading]) -> list[int]:
    """Return for each heading the index of the first one that is not below it."""
    ends = [len(headings)] * len(headings)
    open_: list[int] = []
    for index, one in enumerate(headings):
        while open_ and headings[open_[-1]].level >= one.level:
            ends[open_.pop()] = index
        open_.append(index)
    return ends


def _words(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wiki_link":
            yield token.meta["text"]
        elif token.children:
            yield from _words(token.children)
        elif token.type != "footnote_ref":
            yield token.content
