"""Find parts of a text by headings' words or blocks' ids."""

from functools import cached_property

from markdown_it.token import Token

from jenny.markdown.blocks import Environment, line_starts, parse_inline, split
from jenny.markdown.extensions import block_id, lone_block_id
from jenny.markdown.link_context import AROUND, WRITTEN, HeadingIndex, Outline
from jenny.markdown.links import Anywhere


class Sections:
    """The parts of *text* (with LF line ends), which is parsed once for all of them.

    *is_cut*: the text goes on, so that a part up to its end is not whole.
    """

    def __init__(self, text: str, *, is_cut: bool = False) -> None:
        self._text, self._is_cut = text, is_cut

    def find(self, written: str) -> str | None:
        """Return the part that ``#written`` or ``#^written`` names.

        That is a heading with what is below it, or a paragraph, item, table, quote or list with
        that id; ``None``: there is none, or not the whole of it. All of the text for "".
        """
        if not written:
            span: tuple[int, int] | None = (0, len(self._text))
        elif written.startswith("^"):
            span = self._parts[1].get(written[1:])
        else:
            span = self._below(written)
        if span is None or (self._is_cut and span[1] == len(self._text)):
            return None
        return self._text[span[0] : span[1]]

    def _below(self, written: str) -> tuple[int, int] | None:
        index, starts = self._headings
        found = index.find(written)
        return starts[found.id] if found else None

    @cached_property
    def _headings(self) -> tuple[HeadingIndex, dict[str, tuple[int, int]]]:
        """The headings, and the span of each one with what is below it, by its id."""
        outline = Outline()
        tokens = self._parts[0]
        outline.name(tokens)
        lines = line_starts(self._text)
        spans: dict[str, tuple[int, int]] = {}
        end_of: dict[int, int] = {}
        starts = [lines[token.map[0]] for token in tokens if token.meta.get("id") and token.map]
        for one, start in reversed(list(zip(outline.headings, starts, strict=True))):
            end = min(end_of.get(level, len(self._text)) for level in range(1, one.level + 1))
            spans[one.id] = start, end
            end_of[one.level] = start
        return HeadingIndex(outline.headings), spans

    @cached_property
    def _parts(self) -> tuple[list[Token], dict[str, tuple[int, int]]]:
        """The tokens of headings, and the span of each block with an id."""
        environment: Environment = {AROUND: Anywhere(), WRITTEN: True}
        starts = line_starts(self._text)
        headings: list[Token] = []
        spans: dict[str, tuple[int, int]] = {}
        before: tuple[int, int] | None = None
        for block in split(self._text, environment):
            if before is not None and (name := lone_block_id(block.tokens)):
                spans.setdefault(name, (starts[before[0]], starts[before[1]]))
            before = block.first, block.end
            around = [block.first, block.end]
            for token in block.tokens:
                if token.type == "list_item_open" and token.map:
                    around = token.map
                if token.type == "inline" and (name := block_id(token.content)):
                    spans.setdefault(name, (starts[around[0]], starts[around[1]]))
            if block.kind == "heading_open":
                headings += parse_inline(block, "", environment)
        return headings, spans
