"""What a text may ask of the place it stands in: where its links lead, its headings' names.

A message stands nowhere and asks nothing; a page of a wiki has neighbours.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Protocol

from markdown_it.token import Token

AROUND = "around"
"""The key in the parser's environment under which the surroundings stand."""

HEADING_PREFIX = "h-"
MOST_HEADINGS = 1_000
_APART = re.compile(r"[^\w]+")
_ID_CHARS = 80


@dataclass(frozen=True, slots=True)
class Led:
    """Where a link leads. ``kind``: to something that is there, to something that could be made, or
    to several that it might mean. ``text``: its words; ``hint``: its title."""

    kind: Literal["there", "missing", "unclear"]
    address: str
    text: str
    hint: str = ""


class Around(Protocol):
    """The place that a text stands in. Every address is one of this site, beginning with / or #."""

    def wiki_link(self, inner: str) -> Led:
        """Where ``[[inner]]`` leads."""

    def near(self, address: str) -> str | None:
        """Where a relative address leads; ``None``: nowhere."""

    def picture(self, address: str) -> str | None:
        """The address of a picture that lies near; ``None``: there is none."""

    def diagram(self, source: str) -> str | None:
        """The address of a frame that draws a diagram; ``None``: it is shown as it was written."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a text. ``level`` from 1; ``id``: its anchor."""

    level: int
    text: str
    id: str


@dataclass
class Outline:
    """The headings of a text, each under a name of its own."""

    headings: list[Heading] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)

    def name(self, tokens: list[Token]) -> None:
        """Give every heading among *tokens* an id, in ``meta``."""
        for token, inline in pairwise(tokens):
            if token.type != "heading_open" or len(self.headings) >= MOST_HEADINGS:
                continue
            text = " ".join("".join(_words(inline.children or [])).split())
            if text:
                heading = Heading(int(token.tag[1]), text, self._free(text))
                token.meta["id"] = heading.id
                self.headings.append(heading)

    def _free(self, text: str) -> str:
        start = anchor(text)
        found, number = start, 1
        while found in self._taken:
            number += 1
            found = f"{start}-{number}"
        self._taken.add(found)
        return found


def anchor(text: str) -> str:
    """The id of the first heading with these words."""
    plain = unicodedata.normalize("NFC", text).casefold()
    return HEADING_PREFIX + (_APART.sub("-", plain).strip("-")[:_ID_CHARS] or "section")


def _words(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wiki_link":
            yield token.meta["text"]
        elif token.children:
            yield from _words(token.children)
        elif token.type != "footnote_ref":
            yield token.content
