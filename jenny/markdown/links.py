"""Find the links of a text with the parser that renders it, and their positions in the source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from jenny.markdown.blocks import (
    PARSER,
    Environment,
    footnotes_at_end,
    formatted_length,
    line_starts,
    parse_inline,
    split,
)
from jenny.markdown.link_context import AROUND, WRITTEN, Heading, Outline, ResolvedLink
from jenny.markdown.rules import Written

_DESTINATION = re.compile(r"\]:[ \t]*(?:\n[ \t>]*)?(<[^<>\n]*>|[^\s<]\S*)")


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link of a text.

    ``start`` and ``end``: the position of its destination, in characters of the text. ``inner``:
    everything in the brackets of a wiki link; ``address``: the destination of any other link, as
    the page has it.
    """

    start: int
    end: int
    inner: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The links of a text in order, and its headings."""

    links: tuple[FoundLink, ...]
    headings: tuple[Heading, ...]


class Anywhere:
    """A link context in which every link resolves."""

    def wiki_link(self, inner: str) -> ResolvedLink:
        _, bar, label = inner.replace("\\|", "|").partition("|")
        return ResolvedLink("there", "", label.strip() if bar else inner.strip())

    def near(self, address: str) -> str | None:
        return address

    def picture(self, _address: str) -> str | None:
        return None

    def missing(self, _address: str) -> bool:
        return False

    def frame(self, _language: str, _source: str) -> str | None:
        return None

    def tag(self, _name: str) -> str:
        return ""

    def embed(self, _inner: str) -> str | None:
        return None


def scan(text: str) -> Scan:
    """Return the links and headings of *text*, whose line ends are LF.

    A definition that several links share is one link.
    """
    text = text[: formatted_length(text)]
    environment: Environment = {AROUND: Anywhere(), WRITTEN: True}
    starts = line_starts(text)
    tokens: list[Token] = []
    for block in split(text, environment):
        own = text[starts[block.first] : starts[block.end]]
        tokens += parse_inline(block, own, environment, only_links=True)
    tokens = footnotes_at_end(tokens, environment)
    outline = Outline()
    outline.name(tokens)
    finder = _Finder(text, starts, environment)
    found = {link.start: link for link in finder.links(tokens)}
    return Scan(tuple(found[start] for start in sorted(found)), tuple(outline.headings))


class _Finder:
    def __init__(self, text: str, starts: list[int], environment: Environment) -> None:
        self._text, self._starts = text, starts
        self._references = environment.get("references", {})
        self._row, self._cell_end = -1, 0

    def links(self, tokens: list[Token]) -> Iterator[FoundLink]:
        before = ""
        for token in tokens:
            if token.type == "inline":
                is_cell = before in {"td_open", "th_open"}
                places = self._cell(token) if is_cell else self._lines(token)
                for child in token.children or ():
                    yield from self._link(child, places)
            before = token.type

    def _link(self, token: Token, places: list[int] | None) -> Iterator[FoundLink]:
        written: Written | None = token.meta.get(WRITTEN)
        if written is None:
            return
        address = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if written.label:
            yield from self._definition(written.label, address)
        elif places is not None and written.end > written.start:
            start, end = places[written.start], places[written.end - 1] + 1
            yield FoundLink(start, end, written.inner, address)

    def _lines(self, token: Token) -> list[int] | None:
        """Return the offset in the text of each character of a paragraph or heading.

        The marks of quotes and lists, and white space at the ends of lines, are left out.
        """
        places: list[int] = []
        first = token.map[0] if token.map else 0
        for number, line in enumerate(token.content.split("\n"), first):
            source = self._text[self._starts[number] : self._starts[number + 1]].rstrip()
            words = line.strip()
            if not source.endswith(words):
                source = source.rstrip("#").rstrip()
                if not source.endswith(words):
                    return None
            indent = len(line) - len(line.lstrip())
            start = self._starts[number] + len(source) - len(words)
            places += [start + at - indent for at in range(len(line) + 1)]
        return places

    def _cell(self, token: Token) -> list[int] | None:
        """Return the same for a table cell, in which every bar was escaped."""
        number = token.map[0] if token.map else 0
        if number != self._row:
            self._row, self._cell_end = number, self._starts[number]
        written = token.content.replace("|", "\\|")
        start = self._text.find(written, self._cell_end, self._starts[number + 1])
        if start < 0:
            return None
        self._cell_end = start + len(written)
        places, at = [], start
        for char in token.content:
            at += char == "|"
            places.append(at)
            at += 1
        return [*places, at]

    def _definition(self, label: str, address: str) -> Iterator[FoundLink]:
        first, end = self._references[label]["map"]
        for found in _DESTINATION.finditer(self._text, self._starts[first], self._starts[end]):
            destination = found[1].removeprefix("<").removesuffix(">")
            if PARSER.normalizeLink(unescapeAll(destination)) == address:
                yield FoundLink(*found.span(1), "", address)
                return
