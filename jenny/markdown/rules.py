"""Define the parser rules for Markdown beyond CommonMark, and emphasis beside unspaced scripts.

CommonMark lets ``**`` close only where punctuation before it is followed by a space or by other
punctuation, so ``**重要：**请注意`` would show its stars. This follows the draft of a CJK-friendly
CommonMark (github.com/tats-u/markdown-cjk-friendly): a character of such a script counts as a word
boundary, and its punctuation does not prevent emphasis.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace, normalizeReference
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

from jenny.markdown import limits
from jenny.markdown.link_context import AROUND, WRITTEN

# Chinese, Japanese, Korean, Yi with their punctuation and full-width forms; Thai, Lao, Burmese,
# Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
_VARIATION_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: FBT001, N802, N803 - the library's signature
        """Decide whether a run of marks may open or close emphasis."""
        scanned = super().scanDelims(start, canSplitWord)
        before = start - 1
        while before > 0 and _VARIATION_SELECTOR.match(self.src[before]):
            before -= 1
        last = self.src[before] if before >= 0 else " "
        end = start + scanned.length
        following = self.src[end] if end < self.posMax else " "
        if not (_UNSPACED.match(last) or _UNSPACED.match(following)):
            return scanned
        opens = not _is_space(following) and (not _is_barrier(following) or _is_border(last))
        closes = not _is_space(last) and (not _is_barrier(last) or _is_border(following))
        if canSplitWord:
            return Scanned(opens, closes, scanned.length)
        return Scanned(
            opens and (not closes or _is_border(last)),
            closes and (not opens or _is_border(following)),
            scanned.length,
        )


class _Parser(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        """Parse as the library does, with a different state class for emphasis."""
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def emphasis_plugin(md: MarkdownIt) -> None:
    """Add emphasis beside unspaced scripts to *md*. Call it before other inline rules are added."""
    active = md.inline.ruler.get_active_rules(), md.inline.ruler2.get_active_rules()
    md.inline = _Parser()
    md.inline.ruler.enableOnly(active[0])
    md.inline.ruler2.enableOnly(active[1])


def _is_space(char: str) -> bool:
    return bool(isWhiteSpace(ord(char)))


def _is_punctuation(char: str) -> bool:
    return bool(isMdAsciiPunct(ord(char)) or isPunctChar(char))


def _is_barrier(char: str) -> bool:
    return _is_punctuation(char) and not _UNSPACED.match(char)


def _is_border(char: str) -> bool:
    return _is_space(char) or _is_punctuation(char) or bool(_UNSPACED.match(char))


_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"<(b|del|em|i|ins|kbd|mark|q|s|small|strong|sub|sup|u)>", re.IGNORECASE)
# Characters that end an address in running text: white space, quotes, the punctuation and brackets
# of other scripts, full-width forms (which browsers read as ASCII), and invisible characters.
_STOPS = (
    r"\s<>\"`\x00-\x20\x7f-\xa0\xad\xab\xbb\u037e\u0589\u05be-\u05c3\u060c\u061b\u061c\u061f\u06d4"
    r"\u0964\u0965\u0e5a\u0e5b\u0f0b-\u0f14\u104a\u104b\u1362-\u1368\u17d4-\u17da\u180e"
    r"\u2000-\u200f\u2014\u2015\u2018-\u201f\u2026-\u202f\u2039\u203a\u203c\u2045-\u2049"
    r"\u2060-\u206f\u207d\u207e\u2308-\u230b\u2329\u232a\u2768-\u2775\u27e6-\u27ef\u2983-\u2998"
    r"\u2e00-\u2e5d\u3000-\u3004\u3008-\u3020\u3030\u303d\ufe10-\ufe19\ufe30-\ufe6f\ufeff"
    r"\uff00-\uff65\uffe0-\uffff"
)
_ADDRESS = re.compile(rf"://[^{_STOPS}]{{1,2000}}")
_AUTHORITY = re.compile(r"://[^/?#\\()'*|,;!&={}^~$+]+")
# Two stars are not part of an address, nor is one star at its end.
_PATH = re.compile(r"(?:[/?#](?:[^*|\\]|\*(?=[A-Za-z0-9/._-]))*)?")
_SCRIPT_CHANGE = re.compile(r"(?<=[A-Za-z0-9])[^\x00-\u024f]")
_ENTITY = re.compile(r"&[A-Za-z][A-Za-z0-9]{1,10}\Z")
_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?\Z", re.IGNORECASE)
# A heading, quote, fence or list item with a bar is not the header of a table.
_OTHER_BLOCK = re.compile(r"#{1,6}[ \t]|>|```|~~~|[-*+][ \t]|\d{1,9}[.)][ \t]")
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,400})\]\]")

type Rule = Callable[[StateInline, bool], bool]

# markdown-it calls its rules by position, also with the flag (FBT001).


def rules_plugin(md: MarkdownIt) -> None:
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    # Only tables ask this rule: "table" rows are ended by anything that may end a quote.
    md.block.ruler.after("table", "table_end", _table_end, {"alt": ["blockquote"]})
    md.inline.ruler.before("autolink", "tag", _tag)
    md.inline.ruler.at("link", _link)
    md.inline.ruler.at("image", _image)
    md.inline.ruler.before("link", "wiki_link", _wiki_link)
    md.inline.ruler.push("bare_address", _bare_address)


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Show text that is nested too deep as one paragraph, instead of dropping it."""
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
    """Parse tables, unless filling up short rows would make one far larger than its source.

    One that is too large to be formatted is not parsed either.
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
    """End a table at a line without a bar: models continue with prose right below a table."""
    return silent and state.parentType == "table" and not _pipes(state, line)


def _pipes(state: StateBlock, line: int) -> int:
    return state.src.count("|", state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _tag(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse the few tags without attributes that people write in Markdown, if they are closed."""
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


@dataclass(frozen=True, slots=True)
class Written:
    """The position of a link's destination in the text of its paragraph.

    ``inner``: everything in the brackets of a wiki link; ``label``: the name of the definition with
    the destination.
    """

    start: int = 0
    end: int = 0
    inner: str = ""
    label: str = ""


def _link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse links as the library does, and record where their destinations are if requested."""
    return _noted(state, silent, link, "link_open")


def _image(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    return _noted(state, silent, image, "image")


def _noted(state: StateInline, silent: bool, rule: Rule, kind: str) -> bool:  # noqa: FBT001 - as above
    start, count = state.pos, len(state.tokens)
    if not rule(state, silent):
        return False
    if not silent and WRITTEN in state.env:
        token = next(token for token in state.tokens[count:] if token.type == kind)
        token.meta[WRITTEN] = _written(state, start + (kind == "image"))
    return True


def _written(state: StateInline, start: int) -> Written:
    """Return where the destination of the link is that was just parsed; its label is at *start*."""
    source, end = state.src, state.pos
    label_end = state.md.helpers.parseLinkLabel(state, start)
    state.pos = end
    following = source[label_end + 1 : end]
    if following.startswith("("):
        at = label_end + 2
        while source[at] in " \t\n":
            at += 1
        found = state.md.helpers.parseLinkDestination(source, at, end)
        return Written(at, found.pos)
    label = following[1:-1] or source[start + 1 : label_end]
    return Written(label=normalizeReference(label))


def _wiki_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse ``[[page]]`` in texts with surroundings that can resolve it."""
    around = state.env.get(AROUND)
    if around is None or state.linkLevel > 0 or state.src[state.pos] not in "[!":
        return False
    found = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if found is None or not found[2].strip():
        return False
    if not silent:
        led = around.wiki_link(found[2])
        token = state.push("wiki_link", "a", 0)
        token.meta = {"led": led, "text": led.text, "is_shown": bool(found[1]), "inner": found[2]}
        token.content = led.text
        if WRITTEN in state.env:
            named = found[2].replace("\\|", "|").partition("|")[0]
            span = found.start(2), found.start(2) + len(named)
            token.meta[WRITTEN] = Written(*span, inner=found[2])
    state.pos = found.end()
    return True


def _bare_address(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - the library's signature
    """Parse ``https://…`` in running text as a link, without the punctuation behind it."""
    if silent or state.linkLevel > 0 or state.src[state.pos] != ":":
        return False
    found = _ADDRESS.match(state.src, state.pos, state.posMax)
    scheme = _SCHEME.search(state.pending[-8:]) if found else None
    if found is None or scheme is None:
        return False
    rest = cut_address(found[0])
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


def cut_address(text: str) -> str:
    """Cut *text*, which begins with the ``://`` of an address, at the end of the address."""
    found = _AUTHORITY.match(text)
    if found is None:
        return ""
    host = found[0]
    # No top-level domain mixes scripts: another script after "example.com" belongs to the sentence.
    first, dot, last = host.rpartition(".")
    script = _SCRIPT_CHANGE.search(last)
    if script:
        return first + dot + last[: script.start()]
    return _without_punctuation(host + _PATH.match(text, len(host))[0])  # type: ignore[index]  # it matches nothing, too


def _without_punctuation(address: str) -> str:
    end = len(address)
    unbalanced = {
        close: address.count(opening) - address.count(close)
        for opening, close in ("()", "[]", "{}")
    }
    while end:
        last = address[end - 1]
        if unbalanced.get(last, 0) < 0:
            unbalanced[last] += 1
        elif last not in "?!.,:;*_~'\"":
            entity = _ENTITY.search(address, 0, end)
            if entity is None:
                break
            end = entity.start() + 1
        end -= 1
    return address[:end]
