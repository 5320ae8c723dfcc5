"""From source to top-level blocks, each with its tokens and its own piece of the source."""

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
from jenny.markdown.maths import maths_plugin
from jenny.markdown.rules import mark_tasks, rules_plugin

_INLINE_MARK = re.compile(r"[*_\[\]!`<&~$\\:^]")
_WITHOUT_MARKS = frozenset({"code_block", "fence", "plain"})

Environment = MutableMapping[str, Any]
"""What the parser keeps between blocks: ``references`` and ``footnotes``."""


@dataclass(frozen=True)
class Block:
    """One top-level block: lines *first* to *end* (exclusive) of the text that was parsed."""

    kind: str
    first: int
    end: int
    tokens: list[Token]


def _parser() -> MarkdownIt:
    md = MarkdownIt(
        "commonmark", {"html": False, "xhtmlOut": False, "maxNesting": limits.DEPTH + 6}
    )
    md.enable(["table", "strikethrough"])
    footnote_plugin(md, inline=False, move_to_end=False)
    maths_plugin(md)
    rules_plugin(md)
    md.disable(["html_block", "html_inline"])
    # Whether an address may be linked is the renderer's decision, which can show it as text.
    md.validateLink = _any_address  # type: ignore[method-assign]  # how the library is told
    return md


def _any_address(url: str) -> bool:
    return bool(url)


PARSER = _parser()


def split(text: str, environment: Environment) -> list[Block]:
    """The top-level blocks of normalised *text*; inline marks are not looked at yet."""
    tokens: list[Token] = []
    PARSER.block.parse(text, PARSER, environment, tokens)
    return list(grouped(tokens))


def formatted_length(text: str) -> int:
    """How much of *text*, from its beginning, is formatted (``limits.SOURCE``)."""
    if len(text) <= limits.SOURCE:
        return len(text)
    return text.rfind("\n", 0, limits.SOURCE) + 1 or limits.SOURCE


def grouped(tokens: list[Token]) -> Iterator[Block]:
    """*tokens* by top-level block."""
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
    """Where each line of *text* begins, and after them the text's length."""
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def parse_inline(block: Block, source: str, environment: Environment) -> list[Token]:
    """The block's tokens with their inline children; one ``plain`` token when it is too large.

    *source* is the block's own text.
    """
    if len(source) > limits.BLOCK and block.kind not in _WITHOUT_MARKS:
        return [plain(source)]
    for token in block.tokens:
        if token.type == "inline":
            token.children = _children(token.content, environment)
    state = StateCore("", PARSER, environment, block.tokens)
    text_join(state)
    mark_tasks(state.tokens)
    return state.tokens


def footnotes_at_end(tokens: list[Token], environment: Environment) -> list[Token]:
    """*tokens* with the footnotes that are referred to moved behind everything else."""
    state = StateCore("", PARSER, environment, tokens)
    footnote_tail(state)
    return state.tokens


def mark_tail(tokens: list[Token]) -> bool:
    """Mark where the text of *tokens* goes on; False when they end in no text."""
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


def _children(content: str, environment: Environment) -> list[Token]:
    if len(content) <= limits.INLINE and len(_INLINE_MARK.findall(content)) <= limits.INLINE_MARKS:
        return PARSER.inline.parse(content, PARSER, environment, [])
    token = Token("text", "", 0)
    token.content = content
    return [token]


def plain(source: str) -> Token:
    """A token that shows *source* as it was written."""
    token = Token("plain", "pre", 0)
    token.content = source
    return token
