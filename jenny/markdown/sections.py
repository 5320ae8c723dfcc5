"""Find a part of a text by a heading's words or a block's id."""

from markdown_it.token import Token

from jenny.markdown.blocks import Environment, line_starts, parse_inline, split
from jenny.markdown.extensions import block_id, lone_block_id
from jenny.markdown.link_context import AROUND, WRITTEN, HeadingIndex, Outline
from jenny.markdown.links import Anywhere


def find_section(text: str, written: str) -> str | None:
    """Return the part of *text* (with LF line ends) that ``#written`` or ``#^written`` names.

    That is a heading with what is below it, or a paragraph, item, table, quote or list with that
    id; ``None``: there is none.
    """
    return _block(text, written[1:]) if written.startswith("^") else _below(text, written)


def _block(text: str, name: str) -> str | None:
    starts = line_starts(text)
    before: tuple[int, int] | None = None
    for block in split(text, {}):
        if lone_block_id(block.tokens) == name and before is not None:
            return text[starts[before[0]] : starts[before[1]]]
        before = block.first, block.end
        around = [block.first, block.end]
        for token in block.tokens:
            if token.type == "list_item_open" and token.map:
                around = token.map
            if token.type == "inline" and block_id(token.content) == name:
                return text[starts[around[0]] : starts[around[1]]]
    return None


def _below(text: str, written: str) -> str | None:
    environment: Environment = {AROUND: Anywhere(), WRITTEN: True}
    starts = line_starts(text)
    tokens: list[Token] = []
    for block in split(text, environment):
        if block.kind == "heading_open":
            tokens += parse_inline(block, "", environment)
    outline = Outline()
    outline.name(tokens)
    lines = [token.map[0] for token in tokens if token.meta.get("id") and token.map]
    found = HeadingIndex(outline.headings).find(written)
    if found is None:
        return None
    at = outline.headings.index(found)
    following = zip(outline.headings[at + 1 :], lines[at + 1 :], strict=True)
    end = next((line for other, line in following if other.level <= found.level), -1)
    return text[starts[lines[at]] : starts[end] if end >= 0 else len(text)]
