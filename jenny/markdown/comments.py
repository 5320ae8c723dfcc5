"""Find HTML comments in Markdown text, and in pages also Obsidian's ``%% … %%``, and remove them.

The parser decides what a comment is, so ``<!--`` in a code block or a code span is none. An
unclosed comment is text, so that a mistake hides nothing. The time is linear in the length of the
text; a paragraph that is too large to be formatted (``limits``) is kept as it is.
"""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from jenny.markdown.blocks import create_parser, formatted_length, has_inline_marks, line_starts

OPENING = "<!--"
CLOSING = "-->"
PERCENT = "%%"

_BLANK_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")
# Everything that ends a line for ``str.splitlines``.
_NO_LINE_END = re.compile("[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HEADING = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
# Blocks that may contain lines that only look like a heading.
_VERBATIM = ("```", "~~~", "$$", "\\[")
_BLOCK_TOKEN = "comment_block"  # noqa: S105 - the parser's word for a part of a text
_PERCENT_TOKEN = "percent_block"  # noqa: S105 - as above
_FOUND = "comments"
_SOURCE = "comments_source"

type Span = tuple[int, int]
"""The start and end of a comment in its text."""


def find_comments(text: str, *, is_page: bool = False) -> tuple[Span, ...]:
    """Return the comments of *text*; *is_page*: with those between two ``%%``."""
    is_page = is_page and text.count(PERCENT) > 1
    if not is_page and (OPENING not in text or CLOSING not in text):
        return ()
    parser = _PAGE_PARSER if is_page else _PARSER
    # The length stays the same, so that offsets are valid in both.
    source = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", " ")
    source = source[: formatted_length(source)]
    offset, end = (0, len(source)) if is_page else _searched(source)
    source = source[offset:end]
    starts = line_starts(source)
    environment: dict[str, Any] = {}
    tokens: list[Any] = []
    parser.block.parse(source, parser, environment, tokens)
    spans: list[Span] = []
    used: dict[int, int] = {}
    for token in tokens:
        if token.map is None:
            continue
        if token.type == _BLOCK_TOKEN:
            start, stop = starts[token.map[0]], starts[token.map[1]]
            spans += _in_block(source, source.find(OPENING, start, stop), stop)
        elif token.type == _PERCENT_TOKEN:
            start = source.index(PERCENT, starts[token.map[0]])
            spans.append((start, source.index(PERCENT, start + 2) + 2))
        elif token.type == "inline" and (OPENING in token.content or PERCENT in token.content):
            lines = _Lines(source, starts, token.map[0], used)
            for first, end in _in_paragraph(parser, token.content, environment):
                span = lines.place(token.content, first), lines.place(token.content, end - 1)
                if span[0] >= 0 and span[1] >= 0:
                    spans.append((span[0], span[1] + 1))
    return tuple(sorted((first + offset, end + offset) for first, end in spans))


def blank_comments(text: str, *, is_page: bool = False) -> str:
    """Replace the comments of *text* by spaces, so that line numbers stay the same."""
    pieces: list[str] = []
    at = 0
    for first, end in find_comments(text, is_page=is_page):
        pieces += [text[at:first], _NO_LINE_END.sub(" ", text[first:end])]
        at = end
    return "".join(pieces) + text[at:] if pieces else text


def comment_lines(text: str) -> dict[int, int]:
    """Map each line (from 0) that begins with a comment to the line where the comment ends.

    The lines of *text* end in LF.
    """
    lines: dict[int, int] = {}
    at = number = 0
    for first, end in find_comments(text):
        number += text.count("\n", at, first)
        begin = text.rfind("\n", at, first) + 1 or at
        last = number + text.count("\n", first, end)
        if not text[begin:first].strip() and (at == 0 or begin > at):
            lines[number] = last
        at, number = end, last
    return lines


def without_comments(text: str, *, is_page: bool = False) -> str:
    """Remove the comments of *text*. A line with nothing else on it is removed as a whole."""
    kept: list[str] = []
    # The current line so far, as long as it is only blanks.
    blanks: list[str] | None = []
    at = 0
    for first, end in find_comments(text, is_page=is_page):
        before = text[at:first]
        begin = max(before.rfind("\n"), before.rfind("\r")) + 1
        if begin:
            kept += [*(blanks or ()), before[:begin]]
            blanks, before = [], before[begin:]
        if blanks is None or before.strip(" \t"):
            kept += [*(blanks or ()), before]
            blanks, at = None, end
            continue
        after = _BLANK_LINE.match(text, end)
        blanks, at = ([], after.end()) if after else ([*blanks, before], end)
    return "".join([*kept, *(blanks or ()), text[at:]])


def _searched(source: str) -> tuple[int, int]:
    """Return the part of a text that must be parsed to find its comments.

    Skipped are the text before the last heading above the first comment, and the blocks after the
    last comment.
    """
    before = source[: max(source.find(OPENING), 0)]
    start = 0
    if not any(mark in before for mark in _VERBATIM):
        for found in _HEADING.finditer(before):
            start = found.start()
    last = source.rfind(CLOSING)
    after = _BLANK_LINES.search(source, max(last, 0))
    return start, after.end() if after else len(source)


class _Lines:
    """Maps a paragraph's characters to their offsets in the source text.

    A paragraph comes without the marks of the quotes and lists around it. *used*: the offset up to
    which each line was searched, as cells of a table share one.
    """

    def __init__(self, source: str, starts: list[int], first: int, used: dict[int, int]) -> None:
        self._source, self._starts, self._first, self._used = source, starts, first, used
        self._content: list[tuple[int, str]] | None = None

    def place(self, content: str, at: int) -> int:
        """Return the offset of a character of *content*; -1: it has no exact place."""
        if self._content is None:
            self._content = self._places(content)
        number = content.count("\n", 0, at)
        column = at - (content.rfind("\n", 0, at) + 1)
        if number >= len(self._content):
            return -1
        start, line = self._content[number]
        return start + column - (len(line) - len(line.lstrip())) if start >= 0 else -1

    def _places(self, content: str) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for number, line in enumerate(content.split("\n"), self._first):
            if number + 1 >= len(self._starts):
                break
            start, stop = self._starts[number], self._starts[number + 1]
            begin = self._used.get(number, start)
            at = self._source.find(line.strip(), begin, stop)
            if at >= 0:
                self._used[number] = at + len(line.strip())
            found.append((at, line))
        return found


def _in_block(source: str, start: int, stop: int) -> list[Span]:
    """Return the comments of a block that begins with one; text between them is ignored."""
    found: list[Span] = []
    while start >= 0 and (end := _closed_at(source, start, stop)) >= 0:
        found.append((start, end))
        start = source.find(OPENING, end, stop)
    return found


def _in_paragraph(parser: MarkdownIt, content: str, environment: dict[str, Any]) -> list[Span]:
    if not has_inline_marks(content):
        return []
    environment |= {_FOUND: [], _SOURCE: content}
    parser.inline.parse(content, parser, environment, [])
    found: list[Span] = environment[_FOUND]
    return found


def _closed_at(source: str, start: int, stop: int) -> int:
    """Return the end of the comment that begins at *start*; -1: it is not closed."""
    for empty in ("<!-->", "<!--->"):
        if source.startswith(empty, start, stop):
            return start + len(empty)
    end = source.find(CLOSING, start + len(OPENING), stop)
    return end + len(CLOSING) if end >= 0 else -1


# markdown-it calls its rules by position, also with the flag (FBT001).


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse a block that begins with a comment up to the line that closes it, as in CommonMark."""
    first = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith(OPENING, first):
        return False
    if silent:
        return True
    line, begin = start, first
    while True:
        is_closed = state.src.find(CLOSING, begin, state.eMarks[line]) >= 0
        line += 1
        if is_closed or line >= end or state.sCount[line] < state.blkIndent:
            break
        begin = state.bMarks[line]
    token = state.push(_BLOCK_TOKEN, "", 0)
    token.map = [start, line]
    state.line = line
    return True


def _percent_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as above
    """Parse the lines from one that begins with ``%%`` to the next ``%%``, over blank lines."""
    first = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith(PERCENT, first):
        return False
    if PERCENT in state.src[first + 2 : state.eMarks[start]]:
        return False
    line = start + 1
    while line < end and PERCENT not in state.src[state.bMarks[line] : state.eMarks[line]]:
        line += 1
    if line >= end:
        return False
    if not silent:
        token = state.push(_PERCENT_TOKEN, "", 0)
        token.map = [start, line + 1]
        state.line = line + 1
    return True


def _percent_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as above
    if not state.src.startswith(PERCENT, state.pos, state.posMax):
        return False
    end = state.src.find(PERCENT, state.pos + 2, state.posMax)
    if end < 0:
        return False
    if not silent and state.src is state.env[_SOURCE]:
        state.env[_FOUND].append((state.pos, end + 2))
    state.pos = end + 2
    return True


def _inline_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    if not state.src.startswith(OPENING, state.pos, state.posMax):
        return False
    end = _closed_at(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    # The description of a picture is parsed as a separate text.
    if not silent and state.src is state.env[_SOURCE]:
        state.env[_FOUND].append((state.pos, end))
    state.pos = end
    return True


def _create_parser() -> MarkdownIt:
    """Return the normal parser with rules for HTML comments added."""
    md = create_parser()
    md.block.ruler.before(
        "html_block", _BLOCK_TOKEN, _block_rule, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    md.inline.ruler.before("html_inline", "comment", _inline_rule)
    return md


def _create_page_parser() -> MarkdownIt:
    md = _create_parser()
    md.block.ruler.before(
        _BLOCK_TOKEN,
        _PERCENT_TOKEN,
        _percent_block,
        {"alt": ["paragraph", "reference", "blockquote"]},
    )
    md.inline.ruler.before("comment", "percent", _percent_inline)
    return md


_PARSER = _create_parser()
_PAGE_PARSER = _create_page_parser()
