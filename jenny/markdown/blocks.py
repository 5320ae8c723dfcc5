"""Split Markdown into top-level blocks, each with its tokens and its source."""

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, text_join
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_tail

from jenny.markdown import limits
from jenny.markdown.extensions import (
    extensions_plugin,
    mark_block_ids,
    mark_callouts,
    mark_embeds,
)
from jenny.markdown.link_context import AROUND, WRITTEN
from jenny.markdown.maths import maths_plugin
from jenny.markdown.rules import emphasis_plugin, rules_plugin

_INLINE_MARK = re.compile(r"[*_\[\]!`<&~$\\:^=]")
_WITHOUT_MARKS = frozenset({"code_block", "fence", "plain"})

Environment = MutableMapping[str, Any]
"""The parser's state between blocks: ``references`` and ``footnotes``."""


@dataclass(frozen=True)
class Block:
    """One top-level block: lines *first* to *end* (exclusive) of the parsed text."""

    kind: str
    first: int
    end: int
    tokens: list[Token]


def create_parser() -> MarkdownIt:
    """Create the Markdown parser; it treats raw HTML as text."""
    options = {"html": False, "xhtmlOut": False, "tasklists": True}
    md = MarkdownIt("commonmark", options | {"maxNesting": limits.DEPTH + 6})
    emphasis_plugin(md)
    md.enable(["table", "strikethrough"])
    footnote_plugin(md, inline=False, move_to_end=False)
    maths_plugin(md)
    rules_plugin(md)
    extensions_plugin(md)
    md.disable(["html_block", "html_inline"])
    # The renderer decides which addresses are linked; it can show the others as text.
    md.validateLink = _any_address  # type: ignore[method-assign]  # how the library is told
    return md


def _any_address(url: str) -> bool:
    return bool(url)


PARSER = create_parser()


def split(text: str, environment: Environment) -> list[Block]:
    """Split normalised *text* into top-level blocks, without parsing inline marks."""
    tokens: list[Token] = []
    PARSER.block.parse(text, PARSER, environment, tokens)
    return list(grouped(tokens))


def formatted_length(text: str, offset: int = 0, lines: int = 0) -> int:
    """Return how many characters of *text* are formatted (``limits.SOURCE`` and ``LINES``).

    *offset* and *lines*: how many characters and lines are before it.
    """
    end, most = len(text), limits.SOURCE - offset
    if end > most:
        end = text.rfind("\n", 0, most) + 1 or (0 if offset else most)
    if text.count("\n", 0, end) <= limits.LINES - lines:
        return end
    position = 0
    for _ in range(limits.LINES - lines):
        position = text.index("\n", position) + 1
    return position


def grouped(tokens: list[Token]) -> Iterator[Block]:
    depth = 0
    start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            group = tokens[start : index + 1]
            first, end = group[0].map or (0, 0)
            yield Block(group[0].type, first, end, group)
            start = index + 1


def line_starts(text: str) -> list[int]:
    """Return the offset of each line of *text*, followed by the text's length."""
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def parse_inline(
    block: Block, source: str, environment: Environment, *, only_links: bool = False
) -> list[Token]:
    """Return the block's tokens with inline children, or one ``plain`` token when it is too large.

    *source* is the block's own text; with *only_links*, text that is not a heading and contains no
    link need not be parsed.
    """
    if len(source) > limits.BLOCK and block.kind not in _WITHOUT_MARKS:
        return [plain(source)]
    tokens = mark_callouts(block.tokens)
    is_page = environment.get(AROUND) is not None
    if is_page and WRITTEN not in environment:
        mark_block_ids(tokens)
    before = ""
    for token in tokens:
        if token.type == "inline" and not (
            only_links and "[" not in token.content and before != "heading_open"
        ):
            token.children = _children(token.content, environment)
        before = token.type
    state = StateCore("", PARSER, environment, tokens)
    text_join(state)
    if is_page:
        mark_embeds(state.tokens)
    return state.tokens


def footnotes_at_end(tokens: list[Token], environment: Environment) -> list[Token]:
    """Move the footnotes that are referred to behind all other *tokens*."""
    state = StateCore("", PARSER, environment, tokens)
    footnote_tail(state)
    return state.tokens


def mark_tail(tokens: list[Token]) -> bool:
    """Mark where the text of *tokens* continues; False when they do not end in text."""
    for token in reversed(tokens):
        if token.type == "inline":
            token.children = [*(token.children or []), Token("tail", "", 0)]
            return True
        if token.type in _WITHOUT_MARKS:
            token.meta["tail"] = True
            return True
        if token.nesting >= 0:
            return False
    return False


def has_inline_marks(content: str) -> bool:
    """True when the inline marks of a paragraph are parsed (``limits``)."""
    return (
        len(content) <= limits.INLINE and len(_INLINE_MARK.findall(content)) <= limits.INLINE_MARKS
    )


def _children(content: str, environment: Environment) -> list[Token]:
    if has_inline_marks(content):
        return PARSER.inline.parse(content, PARSER, environment, [])
    token = Token("text", "", 0)
    token.content = content
    return [token]


def plain(source: str) -> Token:
    """Return a token that shows *source* as it was written."""
    token = Token("plain", "pre", 0)
    token.content = source
    return token
