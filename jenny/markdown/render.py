"""Markdown as HTML that may stand on a page as it is."""

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
    text = normalise(source)
    end = formatted_length(text)
    text, rest = text[:end], text[end:]
    environment: Environment = {}
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
        html, carry = to_html(block.tokens, carry, prefix=prefix)
        pieces.append(sanitise(html))
    return "".join(pieces)
