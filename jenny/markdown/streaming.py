"""Render Markdown that arrives in pieces as formatted blocks, in time linear in its length.

A block counts as finished only when nothing that may follow can change it.

A page holds the *chunks* (top-level blocks) that are finished, and one that is open. A finished
chunk is sent once. The open one is sent again when it changed, but when it is large only after it
grew by an eighth or more; text in between is sent as plain text, or, in a list, as items.
"""

import re
from collections import ChainMap
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from jenny.markdown import limits
from jenny.markdown.blocks import (
    Block,
    Environment,
    formatted_length,
    line_starts,
    mark_tail,
    parse_inline,
    plain,
    split,
)
from jenny.markdown.html import TAIL, Carry, to_html
from jenny.markdown.link_context import LinkContext
from jenny.markdown.render import Intake, render
from jenny.markdown.sanitise import sanitise

_HEAD: Final = 128
"""How many characters of a line are examined."""

_ENOUGH: Final = 4
"""An unfinished line is first examined at this many characters."""

# Unfinished lines whose kind is certain: they begin with a letter, or with a mark that a letter
# follows, and so are no list, rule, heading, fence or quote.
_SETTLED = re.compile(r" {0,3}(?:[^\W\d_]|[*_`]{1,2}[^\W_]|[\"'(]\w|#{1,6} \S)")
_FENCE_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_NEW_BLOCK = re.compile(r" {0,3}(?:#{1,6} |```|~~~|>|(?:\*\*\*|---|___)\s*\Z)")
_SAME_KIND: Final = {
    "bullet_list_open": re.compile(r" {0,3}[-*+]"),
    "ordered_list_open": re.compile(r" {0,3}\d"),
    "blockquote_open": re.compile(r" {0,3}>"),
}
_MARK = re.compile(r" {0,3}(?:\d{1,9}[.)]?|[-*+]) ?")
LISTS: Final = frozenset({"bullet_list_open", "ordered_list_open"})
_STEADY = re.compile(r"(?:[^\W_]| )+\Z")
_STEADY_END = re.compile(r"(?:^|[ \n])[^\W_]+ ?\Z")
_TABLES = frozenset({"table_open", "plain"})
_ENDED_BY_BLANK = _TABLES | {"paragraph_open", "heading_open", "blockquote_open"}
_ENDED_BY_ITSELF = frozenset({"hr", "math_block"})


def finished(blocks: list[Block], text: str, starts: list[int]) -> int:
    """Return how many of *blocks*, which were parsed from *text*, can no longer change.

    *starts* holds the offset of each line of *text*.
    """
    if not blocks:
        return 0
    lines = len(starts) - 1
    complete = lines if text.endswith("\n") else lines - 1
    if _is_closed(blocks[-1], text, starts, complete):
        return len(blocks)
    last = blocks[-1]
    settled = lines if _SETTLED.match(text, starts[lines - 1]) else complete
    # A later bar in the line below a table would make it a row.
    if len(blocks) > 1 and blocks[-2].kind in _TABLES and blocks[-2].end == last.first:
        settled = complete
    # The line below a table's header decides whether it is a table, and that below words behind a
    # definition list whether they are its next term.
    waits = last.kind == "table_open" or (len(blocks) > 1 and blocks[-2].kind == "dl_open")
    opened = last.first + 1 if waits else last.first
    if opened < settled:
        return len(blocks) - 1
    if len(blocks) > 1 and _is_closed(blocks[-2], text, starts, complete):
        return len(blocks) - 1
    return max(len(blocks) - 2, 0)


def is_steady(text: str) -> bool:
    """True when *text* is only words: after other words it only lengthens them."""
    return _STEADY.match(text) is not None


def ends_steadily(block: Block, text: str) -> bool:
    """True when words after *text*, whose last block is *block*, would only lengthen it."""
    tokens = block.tokens
    while tokens and tokens[-1].nesting < 0 and tokens[-1].type != "paragraph_close":
        tokens = tokens[:-1]
    in_paragraph = bool(tokens) and tokens[-1].type == "paragraph_close"
    return in_paragraph and _STEADY_END.search(text, max(0, len(text) - _HEAD)) is not None


class LineWatch:
    """Watches for lines that may end the open block, without parsing it."""

    def __init__(self) -> None:
        self.kind = ""
        """Kind of the open block, set after each parse."""
        self.begins_item = False
        """True once a list's item began that no parse has shown."""
        self._head = ""
        self._judged = False
        self._after_blank = False

    @property
    def may_begin_item(self) -> bool:
        """True while the unfinished line may become the mark of a list's item."""
        return _MARK.fullmatch(self._head) is not None

    def feed(self, text: str) -> bool:
        """Take the next piece; return True when the open block may have ended in it."""
        may_end = False
        *lines, rest = text.split("\n")
        for line in lines:
            self._extend(line)
            may_end |= self._may_end()
            self._after_blank = not self._head.strip()
            self._head = ""
            self._judged = False
        self._extend(rest)
        if not self._judged and len(self._head) >= _ENOUGH:
            self._judged = True
            may_end |= self._may_end()
        return may_end

    def _extend(self, piece: str) -> None:
        if len(self._head) < _HEAD:
            self._head += piece[: _HEAD - len(self._head)]

    def _may_end(self) -> bool:
        if self.kind == "fence":
            return _FENCE_END.match(self._head) is not None
        if not self._head.strip():
            return False
        if self.kind in _TABLES:
            return "|" not in self._head
        same = _SAME_KIND.get(self.kind)
        if same is not None and same.match(self._head):
            self.begins_item |= self.kind in LISTS
            return False
        if self._after_blank and not self._head.startswith(("    ", "\t")):
            return self.kind not in LISTS or not self._head.startswith(" ")
        return _NEW_BLOCK.match(self._head) is not None


def _is_closed(block: Block, text: str, starts: list[int], complete: int) -> bool:
    """True when *block* was ended by a line of its own or by a blank one.

    *complete* is the number of complete lines of *text*.
    """
    if block.end > complete:
        return False
    if block.kind in _ENDED_BY_ITSELF:
        return True
    if block.kind == "heading_open" and block.tokens[0].markup.startswith("#"):
        return True
    if block.kind == "fence":
        last = text[starts[block.end - 1] : starts[block.end]].rstrip("\n")
        found = _FENCE_END.match(last)
        return (
            found is not None
            and block.end - block.first > 1
            and found[1].startswith(block.tokens[0].markup)
        )
    if block.kind not in _ENDED_BY_BLANK or block.end >= complete:
        return False
    return not text[starts[block.end] : starts[block.end + 1]].strip()


_ITEM: Final = re.compile(r"<(/?)li\b")

_SMALL: Final = 2_000
"""Up to this many characters, the open chunk is parsed at every change."""

_LARGE: Final = 32_000
_GROWTH: Final = 8
_GROWTH_OF_LARGE: Final = 2
"""One of at least ``_LARGE`` characters is sent again after it grew by one part in this many."""

_CREDIT: Final = 16
"""How many characters may be parsed out of turn for each one that arrives."""


@dataclass(frozen=True)
class Done:
    """Chunk number *at* is finished: it follows the other chunks; the open one is emptied."""

    at: int
    html: str


@dataclass(frozen=True)
class Open:
    """The new HTML of the open chunk, which follows *at* finished ones."""

    at: int
    html: str


@dataclass(frozen=True)
class Tail:
    """Text to append inside the open chunk's ``span.tail``."""

    at: int
    text: str


@dataclass(frozen=True)
class Items:
    """Items that take the place of the last one of the open chunk's list."""

    at: int
    html: str


Op = Done | Open | Tail | Items


class StreamRenderer:
    """Renders one growing text; applying its operations gives the result of `snapshot`."""

    def __init__(
        self, source: str = "", *, prefix: str = "", around: LinkContext | None = None
    ) -> None:
        self.work = 0
        """Characters parsed so far: stays in proportion to the text's length."""
        self._prefix = prefix
        self._around = around
        self._source: list[str] = []
        self._intake = Intake()
        self._done: list[str] = []
        self._carry = Carry()
        self._references: dict[str, Any] = {}
        self._offset = 0
        self._region: list[str] = []
        self._size = 0
        self._lines = 0
        self._sent_size = 0
        self._credit = 0
        self._watch = LineWatch()
        self._steady = False
        self._is_plain = False
        self._open_html = ""
        self._tail: list[str] = []
        self._space = ""
        # Of an open list: the text from its last item on, and where that begins in the HTML.
        self._item: list[str] = []
        self._item_at = -1
        if source:
            self.feed(source)

    @property
    def source(self) -> str:
        return "".join(self._source)

    @property
    def done_count(self) -> int:
        return len(self._done)

    def snapshot(self, done: int | None = None) -> tuple[str, str]:
        """Return the HTML of the finished chunks, and that of the open one.

        With *done*, that many chunks count as finished and the others as open. That is the state of
        another renderer that got the same text in other pieces and is not as far.
        """
        tail = escape("".join(self._tail), quote=False)
        open_html = self._open_html.replace(TAIL, f'<span class="tail">{tail}</span>')
        count = len(self._done) if done is None else done
        return "".join(self._done[:count]), "".join(self._done[count:]) + open_html

    def finish(self, around: LinkContext | None = None) -> str:
        """Return the final rendering, in which references and footnotes are resolved.

        *around*: other surroundings than those of the text while it grew.
        """
        return render(self.source, prefix=self._prefix, around=around or self._around)

    def feed(self, delta: str) -> list[Op]:
        """Take the next piece and return the operations by which a page shows it."""
        self._source.append(delta)
        text = self._intake.take(delta)
        if not text:
            return []
        self._region.append(text)
        self._item.append(text)
        self._size += len(text)
        self._lines += text.count("\n")
        self._credit += _CREDIT * len(text)
        may_end = self._watch.feed(text)
        is_over = self._offset + self._size > limits.SOURCE or self._lines > limits.LINES
        if is_over and not self._is_plain:
            return self._give_up()
        if self._is_plain or (self._steady and is_steady(text)):
            return self._append(text)
        if self._size <= _SMALL or (self._has_grown() and not self._watch.may_begin_item):
            return self._parse(send=True)
        ops = self._add_items() if self._watch.begins_item else []
        if not ops and may_end and self._credit >= self._size:
            self._credit -= self._size
            ops = self._parse(send=False)
        return ops or self._append(text)

    def _has_grown(self) -> bool:
        growth = _GROWTH if self._sent_size < _LARGE else _GROWTH_OF_LARGE
        return (self._size - self._sent_size) * growth >= self._sent_size

    def _append(self, text: str) -> list[Op]:
        """Show *text* unformatted; trailing white space waits, since formatting drops it."""
        self._steady = self._steady and is_steady(text)
        text = self._space + text
        shown = text.rstrip(" ") if self._steady else text
        self._space = text[len(shown) :]
        if not shown:
            return []
        self._tail.append(shown)
        return [Tail(self.done_count, shown)]

    def _add_items(self) -> list[Op]:
        """Show the items that began since the last one; parse no more than these."""
        text = "".join(self._item)
        self._item = [text]
        parsed = _parsed(text, self._references)
        kinds = [block.kind for block in parsed.blocks]
        if self._item_at < 0 or kinds != [self._watch.kind]:
            return []
        self.work += len(text)
        html, _ = self._html(parsed.blocks[0], parsed, self._carry, is_last=True)
        items = html[html.index("<li") : html.rindex("</li>") + len("</li>")]
        if TAIL not in items:
            return []
        after = self._open_html[self._open_html.rindex("</li>") + len("</li>") :]
        # A tail behind the list is part of the new items.
        self._open_html = self._open_html[: self._item_at] + items + after.replace(TAIL, "")
        self._item_at += _last_item(items)
        self._item = [text[_last_item_start(parsed) :]]
        self._watch.begins_item = False
        self._steady = ends_steadily(parsed.blocks[0], text)
        self._tail = []
        self._space = " " if self._steady and text.endswith(" ") else ""
        return [Items(self.done_count, items)]

    def _parse(self, *, send: bool) -> list[Op]:
        """Parse the open chunk again; without *send* only a finished one is reported."""
        text = "".join(self._region)
        self._region = [text]
        self.work += len(text)
        parsed = _parsed(text, self._references)
        count = finished(parsed.blocks, text, parsed.starts)
        if not count and not send:
            return []
        ops = self._finish(parsed, count)
        open_html = self._open(parsed, count)
        if count:
            self._cut(parsed, count)
        if count or self._tail or open_html != self._open_html:
            ops.append(Open(self.done_count, open_html))
        self._open_html = open_html
        self._sent_size = self._size
        self._tail = []
        self._space = " " if self._steady and text.endswith(" ") else ""
        return ops

    def _give_up(self) -> list[Op]:
        """Finish the part that may be formatted; the rest is shown unformatted."""
        text = "".join(self._region)
        end = formatted_length(text, self._offset, self._lines - text.count("\n"))
        self._is_plain = True
        self._steady = False
        parsed = _parsed(text[:end], self._references)
        ops = self._finish(parsed, len(parsed.blocks))
        rest = plain(text[end:])
        mark_tail([rest])
        self._open_html = sanitise(to_html([rest], self._carry, prefix="")[0])
        self._tail = []
        self._region = []
        return [*ops, Open(self.done_count, self._open_html)]

    def _finish(self, parsed: "_Parsed", count: int) -> list[Op]:
        ops: list[Op] = []
        for block in parsed.blocks[:count]:
            html, self._carry = self._html(block, parsed, self._carry)
            ops.append(Done(self.done_count, html))
            self._done.append(html)
        return ops

    def _html(
        self, block: Block, parsed: "_Parsed", carry: Carry, *, is_last: bool = False
    ) -> tuple[str, Carry]:
        start, end = parsed.starts[block.first], parsed.starts[block.end]
        tokens = parse_inline(block, parsed.text[start:end], parsed.environment)
        if block.kind == "footnote_reference_open":
            # Footnotes are at the end, which a stream does not know yet.
            return "", carry
        ended = "" if not is_last or mark_tail(tokens) else TAIL
        html, carry = to_html(tokens, carry, prefix=self._prefix, around=self._around)
        return sanitise(html + ended), carry

    def _open(self, parsed: "_Parsed", count: int) -> str:
        """Return the HTML of the blocks from *count* on, with the position where text continues."""
        blocks = parsed.blocks[count:]
        carry = self._carry
        pieces = []
        for block in blocks:
            html, carry = self._html(block, parsed, carry, is_last=block is blocks[-1])
            pieces.append(html)
        html = "".join(pieces)
        self._steady = bool(blocks) and ends_steadily(blocks[-1], parsed.text)
        self._watch.kind = blocks[-1].kind if blocks else ""
        self._watch.begins_item = False
        is_list = self._watch.kind in LISTS
        self._item = [parsed.text[_last_item_start(parsed) :]] if is_list else []
        self._item_at = _last_item(html) if is_list else -1
        return html if TAIL in html else html + TAIL

    def _cut(self, parsed: "_Parsed", count: int) -> None:
        """Drop the first *count* blocks and their link definitions."""
        blocks = parsed.blocks
        line = blocks[count].first if count < len(blocks) else blocks[count - 1].end
        position = parsed.starts[line]
        for name, target in parsed.defined.items():
            if target["map"][1] <= line:
                self._references[name] = target
        self._region = [parsed.text[position:]]
        self._size = len(self._region[0])
        self._offset += position


@dataclass(frozen=True)
class _Parsed:
    """The unfinished text, by block and line, and the link targets it defines."""

    text: str
    starts: list[int]
    blocks: list[Block]
    environment: Environment
    defined: dict[str, Any]


def _last_item_start(parsed: _Parsed) -> int:
    """Return where the last item of the last block, a list, begins in the text."""
    opened = [token for token in parsed.blocks[-1].tokens if token.type == "list_item_open"]
    last = next(token for token in reversed(opened) if token.level == 1)
    return parsed.starts[(last.map or (0, 0))[0]]


def _last_item(html: str) -> int:
    """Return where the last item of the last list, which is in no other item, begins."""
    depth, found = 0, -1
    for tag in _ITEM.finditer(html):
        if tag[1]:
            depth -= 1
        else:
            found = tag.start() if depth == 0 else found
            depth += 1
    return found


def _parsed(text: str, references: dict[str, Any]) -> _Parsed:
    defined: dict[str, Any] = {}
    known = ChainMap(defined, references)
    blocks = split(text, {"references": known})
    return _Parsed(text, line_starts(text), blocks, {"references": known}, defined)
