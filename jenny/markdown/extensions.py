"""Markdown that GitHub, Pandoc and Obsidian add: callouts, highlights, definition lists, sub- and
superscript; in pages also the ids of blocks, tags, and pages shown within a page.

Callouts, block ids and embeds are made of parsed blocks (`mark_callouts`, `mark_block_ids`,
`mark_embeds`); the others are rules of the parser.
"""

import re
from itertools import pairwise, takewhile
from typing import Any
from unicodedata import category
from weakref import WeakKeyDictionary

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.subscript import sub_plugin
from mdit_py_plugins.superscript import superscript_plugin

from jenny.markdown.link_context import AROUND

BLOCK_PREFIX = "b-"
"""Begins the id of a block that the text names (``^id``)."""

CALLOUTS = {
    "note": "note info todo abstract summary tldr example important",
    "tip": "tip hint success check done",
    "question": "question help faq",
    "warning": "warning caution attention",
    "danger": "danger error bug failure fail missing",
    "quote": "quote cite",
}
"""The looks of callouts, each with the kinds that have it. Any other kind looks like a note."""

_LOOKS = {kind: look for look, kinds in CALLOUTS.items() for kind in kinds.split()}
_CALLOUT = re.compile(
    r"\[!([A-Za-z][\w-]{0,39})(?:\|[^\]\n]{0,80})?\]([+-]?)(?:[ \t]+([^\n]*)|[ \t]*)(?:\n|\Z)"
)
_BLOCK_ID = re.compile(r"(?:^|(?<=[ \t\n]))\^([A-Za-z0-9-]{1,80})[ \t]*\Z")
_TAG_LENGTH = 100
# Besides letters, their marks, digits and symbols: joiners stand within words and within emoji,
# which may have a colour of skin.
_IN_TAG = frozenset("_-/\u200c\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_BEFORE_TAG = re.compile(r"[\s(\[{,;:>\"'“‘]\Z")
_HIGHLIGHT = "="
# Columns from a definition's mark to its content.
_CONTENT = 2
_DEFINITION = re.compile(r"[:~][ \t]+\S")

# By place: level and indent of the list, its last line, a definition's line, and where its content
# begins.
type _Ends = dict[tuple[int, int, int, int, int], int]

# markdown-it calls its rules by position, also with the flag (FBT001).


def extensions_plugin(md: MarkdownIt) -> None:
    md.inline.ruler.after("strikethrough", "highlight", _highlight)
    md.inline.ruler2.after("strikethrough", "highlight", _close_highlights)
    sub_plugin(md)
    superscript_plugin(md)
    # Before the two: both follow "emphasis" directly.
    md.inline.ruler.after("emphasis", "raised", _raised)
    deflist_plugin(md)
    # A rule below a definition is none of a heading's.
    md.block.ruler.before(
        "lheading",
        "definitions",
        _definitions(md),
        {"alt": ["paragraph", "reference", "blockquote"]},
    )
    md.block.ruler.disable("deflist")
    md.inline.ruler.push("tag_name", _tag_name)


def _raised(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Take a mark of sub- or superscript as text unless it is right behind a letter, digit or
    bracket, and before one: so "^_^", "~/a,~/b" and footnotes side by side stay as they are."""
    at = state.pos
    if state.src[at] not in "~^":
        return False
    before, following = state.src[at - 1 : at], state.src[at + 1 : at + 2]
    if (before.isalnum() or before in {")", "]", "*", "_"}) and (
        following.isalnum() or following in {"+", "-", "−", "("}
    ):
        return False
    if not silent:
        state.append_pending(state.src[at])
    state.pos += 1
    return True


def _definitions(md: MarkdownIt) -> Any:
    """Return the library's rule for definition lists, within bounds.

    A definition is right below its term, and a list ends where a stream can tell: at a blank
    line that neither a definition nor a term with one right below follows.
    """
    known: WeakKeyDictionary[StateBlock, _Ends] = WeakKeyDictionary()
    rule = md.block.ruler.getRules("")[md.block.ruler.get_active_rules().index("deflist")]

    def definitions(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as above
        if silent:
            return bool(rule(state, start, end, silent))
        following = start + 1
        if following >= end or state.isEmpty(following) or not _defines(state, following):
            return False
        # As the library does, before the end is looked for.
        if state.sCount[following] < state.blkIndent:
            return False
        ends = known.setdefault(state, {})
        return bool(rule(state, start, _end_of_definitions(state, start, end, ends), silent))

    return definitions


def _end_of_definitions(state: StateBlock, start: int, end: int, ends: _Ends) -> int:
    """Return the line at which the list of the term at *start* ends at the latest.

    *ends*: what was found before for the same place, so that no line is examined again for each
    list that ended earlier or is within another one.
    """
    passed = []
    line = start + 1
    inner = 0
    while line < end:
        indent = state.sCount[line]
        if state.isEmpty(line):
            following = line
            while following < end and state.isEmpty(following):
                following += 1
            if following >= end or not _goes_on(state, following, end, inner):
                break
            # A term, or what belongs to the definition.
            line = following if _defines(state, following) else following + 1
        elif indent < inner or not inner:
            if _defines(state, line):
                if indent < state.blkIndent:
                    break
                # At four columns and more, nothing but a definition begins.
                inner = min(indent - state.blkIndent, _CONTENT) + state.blkIndent + _CONTENT
                place = (state.level, state.blkIndent, end, line, inner)
                if place in ends:
                    line = ends[place]
                    break
                passed.append(place)
            elif _begins_other(state, line, end):
                break
            line += 1
        else:
            line += 1
    ends.update(dict.fromkeys(passed, line))
    return line


def _goes_on(state: StateBlock, line: int, end: int, inner: int) -> bool:
    """True when a list goes on behind a blank line: its definition, the next one, or a term."""
    indent = state.sCount[line]
    if indent >= inner:
        return True
    if indent < state.blkIndent:
        return False
    has_next = line + 1 < end and _defines(state, line + 1)
    return _defines(state, line) or (has_next and not _begins_other(state, line, end))


def _begins_other(state: StateBlock, line: int, end: int) -> bool:
    """True when a line begins a block that ends a paragraph: a heading, list, formula, ..."""
    rules = state.md.block.ruler.getRules("paragraph")
    return any(rule(state, line, end, True) for rule in rules)  # noqa: FBT003 - as above


def _defines(state: StateBlock, line: int) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    return _DEFINITION.match(state.src, at, state.eMarks[line]) is not None


def _highlight(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse ``==``; beside letters on both sides ("x==1") it is text."""
    if silent or state.src[state.pos] != _HIGHLIGHT:
        return False
    scanned = state.scanDelims(state.pos, False)  # noqa: FBT003 - the library's signature
    token = state.push("text", "", 0)
    token.content = _HIGHLIGHT * scanned.length
    if scanned.length == len("=="):
        state.delimiters.append(
            Delimiter(
                marker=ord(_HIGHLIGHT),
                length=0,  # the rule of three is for stars
                token=len(state.tokens) - 1,
                end=-1,
                open=scanned.can_open,
                close=scanned.can_close,
            )
        )
    state.pos += scanned.length
    return True


def _close_highlights(state: StateInline) -> None:
    lists = [state.delimiters, *(meta["delimiters"] for meta in state.tokens_meta if meta)]
    for delimiters in lists:
        for one in delimiters:
            if one.marker == ord(_HIGHLIGHT) and one.end >= 0:
                for at, kind, nesting in (
                    (one.token, "mark_open", 1),
                    (delimiters[one.end].token, "mark_close", -1),
                ):
                    token = state.tokens[at]
                    token.type, token.tag, token.nesting, token.content = kind, "mark", nesting, ""


def _tag_name(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse ``#like/this`` in a page; only digits ("#12") are no tag."""
    around = state.env.get(AROUND)
    if around is None or silent or state.linkLevel > 0 or state.src[state.pos] != "#":
        return False
    if state.pos and not _BEFORE_TAG.search(state.src[state.pos - 1]):
        return False
    following = state.src[state.pos + 1 : min(state.pos + 1 + _TAG_LENGTH, state.posMax)]
    name = "".join(takewhile(_is_in_tag, following)).rstrip("/-")
    if not any(char.isalpha() or category(char) == "So" for char in name):
        return False
    token = state.push("tag_name", "a", 0)
    token.content = f"#{name}"
    token.meta = {"address": around.tag(name)}
    state.pos += 1 + len(name)
    return True


def _is_in_tag(char: str) -> bool:
    kind = category(char)
    return char in _IN_TAG or kind[0] in "LMN" or kind == "So"


def mark_callouts(tokens: list[Token]) -> list[Token]:
    """Turn quotes that begin with ``[!kind] Title`` into callouts, at any depth."""
    if not any(token.type == "blockquote_open" for token in tokens):
        return tokens
    out: list[Token] = []
    opened: list[Token | None] = []
    skip = 0
    for index, token in enumerate(tokens):
        if index < skip:
            continue
        begin: Token | None = None
        if token.type == "blockquote_open":
            title, used = _callout_at(tokens, index)
            begin = title[0] if title else None
            opened.append(begin)
            out += title
            skip = index + used
        elif token.type == "blockquote_close" and (begin := opened.pop()) is not None:
            out.append(Token("callout_close", begin.tag, -1, level=token.level, block=True))
        if begin is None:
            out.append(token)
    return out


def _callout_at(tokens: list[Token], index: int) -> tuple[list[Token], int]:
    """Return the opening and title of the callout at *index*, and how many tokens they replace."""
    paragraph, inline = (*tokens[index + 1 : index + 3], None, None)[:2]
    if paragraph is None or inline is None or paragraph.type != "paragraph_open":
        return [], 0
    found = _CALLOUT.match(inline.content)
    if found is None:
        return [], 0
    line = inline.map[0] if inline.map else 0
    written = (found[3] or "").strip()
    begin = Token("callout_open", "details" if found[2] else "div", 1, block=True)
    begin.map, begin.level = tokens[index].map, tokens[index].level
    begin.meta = {
        "kind": found[1].replace("-", " ").capitalize(),
        "look": _LOOKS.get(found[1].lower(), "note"),
        "is_open": found[2] == "+",
        "has_title": bool(written),
    }
    tag = "summary" if found[2] else "p"
    head = Token("callout_title_open", tag, 1, block=True, meta=begin.meta)
    title = Token("inline", "", 0, level=inline.level, map=[line, line + 1], children=[])
    title.content = written
    end = Token("callout_title_close", tag, -1, block=True)
    inline.content = inline.content[found.end() :]
    inline.map = [line + 1, inline.map[1]] if inline.map else None
    return [begin, head, title, end], 1 if inline.content else 4


def block_id(content: str) -> str:
    """Return the id at the end of a paragraph's text; "" for none."""
    found = _BLOCK_ID.search(content)
    return found[1] if found else ""


def lone_block_id(tokens: list[Token]) -> str:
    """Return the id when a block is nothing but one: it belongs to the block above."""
    if len(tokens) != 3 or tokens[0].type != "paragraph_open":  # noqa: PLR2004 - open, text, close
        return ""
    found = _BLOCK_ID.fullmatch(tokens[1].content)
    return found[1] if found else ""


def mark_block_ids(tokens: list[Token]) -> None:
    """Move ``^id`` from the ends of paragraphs and items into their ``meta``, in place."""
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type == "paragraph_open":
            name = block_id(token.content)
            if name:
                token.content = _BLOCK_ID.sub("", token.content).rstrip()
                token.meta["block"] = name


def mark_embeds(tokens: list[Token]) -> None:
    """Mark the embeds of paragraphs that are nothing else, in place."""
    for begin, token, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type != "inline" or begin.type != "paragraph_open":
            continue
        children = token.children or []
        alone = all(
            child.type in {"softbreak", "hardbreak"}
            or (child.type == "wiki_link" and child.meta["is_shown"])
            or (child.type == "text" and not child.content.strip())
            for child in children
        )
        embeds = [child for child in children if child.type == "wiki_link"]
        if not alone or not embeds:
            continue
        for child in embeds:
            child.meta["alone"] = True
        # A block stands in no paragraph.
        begin.tag = end.tag = "div"
        begin.meta["embeds"] = True
