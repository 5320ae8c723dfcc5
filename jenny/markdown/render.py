"""Render Markdown as HTML that is safe on a page."""

import re
from dataclasses import dataclass

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
from jenny.markdown.html import Carry, to_html
from jenny.markdown.link_context import AROUND, Heading, LinkContext, Outline
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
    return _rendered(source, prefix, around, None)


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
    html = _rendered(source, "", around, outline, without_title=without_title)
    first = 1 if without_title and outline.headings else 0
    return Page(html, tuple(outline.headings[first:]), outline.headings[0] if first else None)


def _rendered(
    source: str,
    prefix: str,
    around: LinkContext | None,
    outline: Outline | None,
    *,
    without_title: bool = False,
) -> str:
    text = normalise_text(source)
    end = formatted_length(text)
    text, rest = text[:end], text[end:]
    environment: Environment = {} if outline is None else {AROUND: around}
    starts = line_starts(text)
    tokens = []
    for block in split(text, environment):
        own = text[starts[block.first] : starts[block.end]]
        tokens += parse_inline(block, own, environment)
    if rest:
        tokens.append(plain(rest))
    carry = Carry()
    pieces = []
    for number, block in enumerate(grouped(footnotes_at_end(tokens, environment))):
        if without_title and not number and outline is not None:
            outline.name(block.tokens)
            continue
        html, carry = to_html(block.tokens, carry, prefix=prefix, around=around, outline=outline)
        pieces.append(sanitise(html, is_page=outline is not None))
    return "".join(pieces)
