"""Markdown that arrives in pieces, shown as formatted blocks at a cost that grows with its length.

A page holds the *chunks* (top-level blocks) that are finished, and one that is open.
A finished chunk is sent once. The open one is sent again when it changed, but when it
is large only after it grew by an eighth; what comes between is sent as plain text.
"""

from collections import ChainMap
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from jenny.markdown import limits
from jenny.markdown.blocks import (
    Block,
    Environment,
    line_starts,
    mark_tail,
    parse_inline,
    plain,
    split,
)
from jenny.markdown.boundary import LineWatch, ends_steadily, finished, is_steady
from jenny.markdown.html import TAIL, Carry, to_html
from jenny.markdown.render import render
from jenny.markdown.sanitise import sanitise
from jenny.markdown.text import Intake

_SMALL: Final = 2_000
"""Characters up to which the open chunk is parsed at every change."""

_LARGE: Final = 32_000
_GROWTH: Final = 8
_GROWTH_OF_LARGE: Final = 2
"""A larger one is sent again after it grew by one part in this many."""

_CREDIT: Final = 16
"""Characters that may be parsed out of turn for each one that arrives."""


@dataclass(frozen=True)
class Done:
    """Chunk number *at* is finished: it follows the other chunks; the open one is emptied."""

    at: int
    html: str


@dataclass(frozen=True)
class Open:
    """The open chunk behind *at* finished ones now looks like this."""

    at: int
    html: str


@dataclass(frozen=True)
class Tail:
    """Plain text to append inside the open chunk's ``span.tail``."""

    at: int
    text: str


Op = Done | Open | Tail


class StreamRenderer:
    """Renders one growing text; what the operations build up is what `snapshot` returns."""

    def __init__(self, source: str = "", *, prefix: str = "") -> None:
        self.work = 0
        """Characters parsed so far: stays in proportion to the text's length."""
        self._prefix = prefix
        self._source: list[str] = []
        self._intake = Intake()
        self._done: list[str] = []
        self._carry = Carry()
        self._references: dict[str, Any] = {}
        self._offset = 0
        self._region: list[str] = []
        self._size = 0
        self._sent_size = 0
        self._credit = 0
        self._watch = LineWatch()
        self._steady = False
        self._is_plain = False
        self._open_html = ""
        self._tail: list[str] = []
        self._space = ""
        if source:
            self.feed(source)

    @property
    def source(self) -> str:
        """Everything that was fed, as it came."""
        return "".join(self._source)

    @property
    def done_count(self) -> int:
        """How many chunks are finished."""
        return len(self._done)

    def snapshot(self, done: int | None = None) -> tuple[str, str]:
        """The HTML of the finished chunks, and that of the open one.

        With *done* that many chunks count as finished and the others as open: as another
        renderer had it, which took the same text in other pieces and is not so far.
        """
        tail = escape("".join(self._tail), quote=False)
        open_html = self._open_html.replace(TAIL, f'<span class="tail">{tail}</span>')
        count = len(self._done) if done is None else done
        return "".join(self._done[:count]), "".join(self._done[count:]) + open_html

    def finish(self) -> str:
        """The stored rendering, in which references and footnotes are resolved."""
        return render(self.source, prefix=self._prefix)

    def feed(self, delta: str) -> list[Op]:
        """Take the next piece; what a page has to do to show it."""
        self._source.append(delta)
        text = self._intake.take(delta)
        if not text:
            return []
        self._region.append(text)
        self._size += len(text)
        self._credit += _CREDIT * len(text)
        may_end = self._watch.feed(text)
        if self._is_plain or (self._steady and is_steady(text)):
            return self._append(text)
        if self._offset + self._size > limits.SOURCE:
            return self._give_up()
        if self._size <= _SMALL or self._has_grown():
            return self._parse(send=True)
        if may_end and self._credit >= self._size:
            self._credit -= self._size
            return self._parse(send=False) or self._append(text)
        return self._append(text)

    def _has_grown(self) -> bool:
        growth = _GROWTH if self._sent_size < _LARGE else _GROWTH_OF_LARGE
        return (self._size - self._sent_size) * growth >= self._sent_size

    def _append(self, text: str) -> list[Op]:
        """Show *text* as it is; white space at the end waits, as formatting drops it there."""
        self._steady = self._steady and is_steady(text)
        text = self._space + text
        shown = text.rstrip(" ") if self._steady else text
        self._space = text[len(shown) :]
        if not shown:
            return []
        self._tail.append(shown)
        return [Tail(self.done_count, shown)]

    def _parse(self, *, send: bool) -> list[Op]:
        """Look at the open chunk again; without *send* only a finished one is reported."""
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
        """Finish what may be formatted; everything behind it is shown as it comes."""
        text = "".join(self._region)
        end = text.rfind("\n", 0, limits.SOURCE - self._offset) + 1
        if not end and not self._offset:
            end = limits.SOURCE
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
            # Footnotes stand at the end, which a stream does not know yet.
            return "", carry
        ended = "" if not is_last or mark_tail(tokens) else TAIL
        html, carry = to_html(tokens, carry, prefix=self._prefix)
        return sanitise(html + ended), carry

    def _open(self, parsed: "_Parsed", count: int) -> str:
        """The HTML of the blocks from number *count* on, with the place where text goes on."""
        blocks = parsed.blocks[count:]
        carry = self._carry
        pieces = []
        for block in blocks:
            html, carry = self._html(block, parsed, carry, is_last=block is blocks[-1])
            pieces.append(html)
        html = "".join(pieces)
        self._steady = bool(blocks) and ends_steadily(blocks[-1], parsed.text)
        self._watch.kind = blocks[-1].kind if blocks else ""
        return html if TAIL in html else html + TAIL

    def _cut(self, parsed: "_Parsed", count: int) -> None:
        """Leave the first *count* blocks, and what they defined for links, behind."""
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
    """The text that is not finished, by block and line, and the link targets it defines."""

    text: str
    starts: list[int]
    blocks: list[Block]
    environment: Environment
    defined: dict[str, Any]


def _parsed(text: str, references: dict[str, Any]) -> _Parsed:
    defined: dict[str, Any] = {}
    known = ChainMap(defined, references)
    blocks = split(text, {"references": known})
    return _Parsed(text, line_starts(text), blocks, {"references": known}, defined)
