"""What this Markdown has beyond CommonMark: rules that the parser is given."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from jenny.markdown import limits
from jenny.markdown.around import AROUND

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"<(b|del|em|i|ins|kbd|mark|q|s|small|strong|sub|sup|u)>", re.IGNORECASE)
_ADDRESS = re.compile(r"://[^\s<>\"`\x00-\x20]{1,2000}")
_SCHEME = re.compile(r"(?<![^\W_])https?\Z", re.IGNORECASE)
# A heading, quote, fence or list item that holds a bar is not the head of a table.
_OTHER_BLOCK = re.compile(r"#{1,6}[ \t]|>|```|~~~|[-*+][ \t]|\d{1,9}[.)][ \t]")
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,400})\]\]")
_CHECKBOX = re.compile(r"\[([ xX])\](?=\s)")


# markdown-it calls its rules by position, also with the flag (FBT001).


def rules_plugin(md: MarkdownIt) -> None:
    """Give *md* the rules of this module."""
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    # Asked by tables only: "table" rows are ended by whatever may end a quote.
    md.block.ruler.after("table", "table_end", _table_end, {"alt": ["blockquote"]})
    md.inline.ruler.before("autolink", "tag", _tag)
    md.inline.ruler.before("link", "wiki_link", _wiki_link)
    md.inline.ruler.push("bare_address", _bare_address)


def mark_tasks(tokens: list[Token]) -> None:
    """Turn ``[ ]`` and ``[x]`` at the beginning of list items into boxes, in place."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        children = inline.children or []
        found = _CHECKBOX.match(children[0].content) if children else None
        if found is None or children[0].type != "text":
            continue
        children[0].content = children[0].content[found.end() :]
        box = Token("task_box", "input", 0)
        box.meta = {"done": found[1] != " "}
        inline.children = [box, *children]
        item.meta["task"] = True


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Show what is nested deeper than anyone reads as one paragraph, instead of dropping it."""
    if silent or state.level < limits.DEPTH:
        return False
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        line += 1
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, line]
    token = state.push("inline", "", 0)
    token.content = state.getLines(start, line, state.blkIndent, keepLastLF=False).strip()
    token.map = [start, line]
    token.children = []
    state.push("paragraph_close", "p", -1)
    state.line = line
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """The parser's tables, unless filling up short rows would blow one up out of proportion.

    One that is too large to be formatted is not taken apart either.
    """
    head = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if _OTHER_BLOCK.match(head) or not table(state, start, end, silent=True):
        return False
    columns = _pipes(state, start) + 1
    length = 0
    line = start
    while line < end and _pipes(state, line):
        length += state.eMarks[line] - state.bMarks[line] + 1
        line += 1
        if columns * (line - start) > 2 * length + limits.TABLE_SLACK:
            return False
    if silent:
        return True
    if length <= limits.BLOCK:
        return bool(table(state, start, end, silent))
    token = state.push("plain", "pre", 0)
    token.content = state.getLines(start, line, state.blkIndent, keepLastLF=True)
    token.map = [start, line]
    state.line = line
    return True


def _table_end(state: StateBlock, line: int, _end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """A line without a bar is no row: models go on with prose right below a table."""
    return silent and state.parentType == "table" and not _pipes(state, line)


def _pipes(state: StateBlock, line: int) -> int:
    return state.src.count("|", state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _tag(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """The few tags without attributes that people write in Markdown, when they are closed."""
    found = _BREAK.match(state.src, state.pos, state.posMax)
    if found:
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    found = _OPENING_TAG.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    name = found[1].lower()
    closing = f"</{name}>"
    stop = state.posMax
    close = state.src.lower().find(closing, found.end(), stop)
    if close < 0:
        return False
    if not silent:
        state.push("tag_open", name, 1)
        state.pos, state.posMax = found.end(), close
        state.md.inline.tokenize(state)
        state.push("tag_close", name, -1)
        state.posMax = stop
    state.pos = close + len(closing)
    return True


def _wiki_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """``[[page]]``, in texts that have surroundings to ask where it leads."""
    around = state.env.get(AROUND)
    if around is None or state.linkLevel > 0 or state.src[state.pos] not in "[!":
        return False
    found = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if found is None or not found[2].strip():
        return False
    if not silent:
        led = around.wiki_link(found[2])
        token = state.push("wiki_link", "a", 0)
        token.meta = {"led": led, "text": led.text, "is_shown": bool(found[1])}
        token.content = led.text
    state.pos = found.end()
    return True


def _bare_address(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """``https://…`` in running text is a link, without the punctuation behind it."""
    if silent or state.linkLevel > 0 or state.src[state.pos] != ":":
        return False
    found = _ADDRESS.match(state.src, state.pos, state.posMax)
    scheme = _SCHEME.search(state.pending[-8:]) if found else None
    if found is None or scheme is None:
        return False
    rest = _without_punctuation(found[0])
    if len(rest) <= len("://"):
        return False
    text = scheme[0] + rest
    address = state.md.normalizeLink(text)
    state.pending = state.pending[: -len(scheme[0])]
    token = state.push("link_open", "a", 1)
    token.attrs = {"href": address}
    token = state.push("text", "", 0)
    token.content = text
    state.push("link_close", "a", -1)
    state.pos += len(rest)
    return True


def _without_punctuation(address: str) -> str:
    end = len(address)
    open_brackets = address.count("(") - address.count(")")
    while end:
        last = address[end - 1]
        if last == ")" and open_brackets < 0:
            open_brackets += 1
        elif last not in "?!.,:;*_~'\"]":
            break
        end -= 1
    return address[:end]
