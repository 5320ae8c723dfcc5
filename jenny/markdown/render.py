"""Render Markdown as HTML that is safe on a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.token import Token

from jenny.markdown.blocks import (
    Environment,
    footnotes_at_end,
    formatted_length,
    grouped,
    line_starts,
    parse_inline,
    plain,
    split,
)
from jenny.markdown.extensions import lone_block_id
from jenny.markdown.html import Carry, framed_language, to_html
from jenny.markdown.link_context import AROUND, Heading, LinkContext, Outline
from jenny.markdown.links import Anywhere
from jenny.markdown.sanitise import sanitise

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_SURROGATE = re.compile("[\ud800-\udbff]\\Z")


def normalise_text(text: str) -> str:
    """Return *text* with LF line ends, split surrogate pairs joined, and lone ones replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", _REPLACEMENT)
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Intake:
    """Normalises text that comes in pieces: a pair or a line end may be split between two."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """Return the text that can be shown now; at most one character waits for the next piece."""
        text = self._held + piece
        self._held = ""
        if text.endswith("\r") or _HIGH_SURROGATE.search(text):
            self._held = text[-1]
            text = text[:-1]
        return normalise_text(text)


def render(source: str, *, prefix: str = "", around: LinkContext | None = None) -> str:
    """Render *source* as sanitised HTML: CommonMark, tables, tasks, footnotes, code and formulas.

    Raw HTML is shown as text, remote images as a link that names their host. Text that is too large
    to be formatted is shown as it was written (``limits``). *prefix* makes the ids of footnotes
    unique where several texts share a page; *around* resolves relative links and pictures.
    """
    return _rendered(source, _Surroundings(prefix, around))


@dataclass(frozen=True, slots=True)
class Page:
    """A rendered text: its HTML, and its headings with anchors; ``title`` is the one not shown."""

    html: str
    headings: tuple[Heading, ...]
    title: Heading | None = None


def render_page(source: str, around: LinkContext, *, without_title: bool = False) -> Page:
    """Render *source* like ``render``, with the links, pictures and diagrams of *around*.

    *without_title*: the first block, a heading, is not shown; it keeps its anchor.
    """
    outline = Outline()
    place = _Surroundings("", around, outline, is_page=True)
    html = _rendered(source, place, without_title=without_title)
    first = 1 if without_title and outline.headings else 0
    return Page(html, tuple(outline.headings[first:]), outline.headings[0] if first else None)


def render_embed(source: str, around: LinkContext, prefix: str) -> str:
    """Render *source* like a page that is shown within another one: its headings and blocks have
    no ids."""
    return _rendered(source, _Surroundings(prefix, around, is_page=True, is_embed=True))


def framed_code(source: str, *, is_page: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the language and text of each block of *source* that a frame may show.

    Only the blocks are parsed, no text in them.
    """
    text = normalise_text(source)
    text = text[: formatted_length(text)]
    for block in split(text, {AROUND: Anywhere()} if is_page else {}):
        for token in block.tokens:
            if language := framed_language(token):
                yield language, token.content


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The place of a text: *outline* names its headings; *is_page*: it has the links of a page."""

    prefix: str
    around: LinkContext | None
    outline: Outline | None = None
    is_page: bool = False
    is_embed: bool = False


def _rendered(source: str, place: _Surroundings, *, without_title: bool = False) -> str:
    outline = place.outline
    text = normalise_text(source)
    end = formatted_length(text)
    text, rest = text[:end], text[end:]
    environment: Environment = {AROUND: place.around} if place.is_page else {}
    starts = line_starts(text)
    tokens: list[Token] = []
    last = 0
    for block in split(text, environment):
        if place.is_page and (name := lone_block_id(block.tokens)):
            if not place.is_embed:
                tokens.insert(last, Token("block_anchor", "", 0, meta={"block": name}))
            continue
        last = len(tokens)
        own = text[starts[block.first] : starts[block.end]]
        tokens += parse_inline(block, own, environment)
    for token in tokens if place.is_embed else ():
        token.meta.pop("block", None)
    if rest:
        tokens.append(plain(rest))
    carry = Carry()
    pieces = []
    for number, block in enumerate(grouped(footnotes_at_end(tokens, environment))):
        if without_title and not number and outline is not None:
            outline.name(block.tokens)
            continue
        html, carry = to_html(
            block.tokens, carry, prefix=place.prefix, around=place.around, outline=outline
        )
        pieces.append(sanitise(html, is_page=place.is_page))
    return "".join(pieces)
