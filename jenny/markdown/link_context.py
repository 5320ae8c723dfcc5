"""Define what a text needs to know of its surroundings: link targets and heading ids.

A message has no surroundings; a page of a wiki does.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
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


def frame_name(source: str) -> str:
    """Return the name of the frame that shows a block of code."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


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


def find_heading(headings: Sequence[Heading], written: str) -> Heading | None:
    """Find the heading that ``#written`` names.

    That is its id, or its words, or a path of headings (``FAQ#Sub One``), each below the one before
    it.
    """
    parts = [part.strip() for part in written.split("#") if part.strip()]
    return _below(headings, parts) if parts else None


def _below(headings: Sequence[Heading], parts: list[str]) -> Heading | None:
    for index in _named(headings, parts[0]):
        if len(parts) == 1:
            return headings[index]
        section = _section(headings, index)
        if (found := _below(section, parts[1:])) is not None:
            return found
    return None


def _section(headings: Sequence[Heading], index: int) -> list[Heading]:
    level = headings[index].level
    return list(takewhile(lambda one: one.level > level, headings[index + 1 :]))


def _named(headings: Sequence[Heading], name: str) -> Iterator[int]:
    """Yield the indexes of the headings that *name* may mean, the most likely first."""
    wanted = anchor(name)
    folded = " ".join(fold(name).split())
    tests: tuple[Callable[[Heading], bool], ...] = (
        lambda one: one.id in (name, HEADING_PREFIX + name),
        lambda one: fold(one.text) == folded,
        lambda one: anchor(one.text) == wanted,
    )
    for test in tests:
        yield from (index for index, one in enumerate(headings) if test(one))


def _words(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wiki_link":
            yield token.meta["text"]
        elif token.children:
            yield from _words(token.children)
        elif token.type != "footnote_ref":
            yield token.content
