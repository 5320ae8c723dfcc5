"""Markdown as HTML that may stand on a page as it is."""

from dataclasses import dataclass

from jenny.markdown.around import AROUND, Around, Heading, Outline
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
from jenny.markdown.sanitise import sanitise
from jenny.markdown.text import normalise


def render(source: str, *, prefix: str = "") -> str:
    """*source* as sanitised HTML: CommonMark, tables, tasks, footnotes, coloured code, formulas.

    Raw HTML is shown as text, remote images as a link that names their host. Anything
    that is too large to be formatted is shown as it was written (``limits``). *prefix*
    makes the ids of footnotes unique where several texts share a page.
    """
    return _rendered(source, prefix, None, None)


@dataclass(frozen=True, slots=True)
class Page:
    """A text that stands somewhere: its HTML, and its headings with their anchors."""

    html: str
    headings: tuple[Heading, ...]


def render_page(source: str, around: Around) -> Page:
    """*source* as ``render`` has it, with the links, pictures and diagrams that *around* knows."""
    outline = Outline()
    html = _rendered(source, "", around, outline)
    return Page(html, tuple(outline.headings))


def _rendered(source: str, prefix: str, around: Around | None, outline: Outline | None) -> str:
    text = normalise(source)
    end = formatted_length(text)
    text, rest = text[:end], text[end:]
    environment: Environment = {} if around is None else {AROUND: around}
    starts = line_starts(text)
    tokens = []
    for block in split(text, environment):
        own = text[starts[block.first] : starts[block.end]]
        tokens += parse_inline(block, own, environment)
    if rest:
        tokens.append(plain(rest))
    carry = Carry()
    pieces = []
    for block in grouped(footnotes_at_end(tokens, environment)):
        html, carry = to_html(block.tokens, carry, prefix=prefix, around=around, outline=outline)
        pieces.append(sanitise(html, is_page=around is not None))
    return "".join(pieces)
