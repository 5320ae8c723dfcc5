"""Where a block that is still being written ends, judged from the lines there are so far.

A verdict is given only when nothing that may follow can change it.
"""

import re
from typing import Final

from jenny.markdown.blocks import Block

_HEAD: Final = 128
"""Characters of a line that are looked at."""

_ENOUGH: Final = 4
"""Characters after which an unfinished line is looked at for the first time."""

# Unfinished lines whose kind is settled: they begin with a letter, or with a mark that
# a letter follows, and so are no list, rule, heading, fence or quote.
_SETTLED = re.compile(r" {0,3}(?:[^\W\d_]|[*_`]{1,2}[^\W_]|[\"'(]\w|#{1,6} \S)")
_FENCE_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_NEW_BLOCK = re.compile(r" {0,3}(?:#{1,6} |```|~~~|>|(?:\*\*\*|---|___)\s*\Z)")
_SAME_KIND: Final = {
    "bullet_list_open": re.compile(r" {0,3}[-*+]"),
    "ordered_list_open": re.compile(r" {0,3}\d"),
    "blockquote_open": re.compile(r" {0,3}>"),
}
_STEADY = re.compile(r"(?:[^\W_]| )+\Z")
_STEADY_END = re.compile(r"(?:^|[ \n])[^\W_]+ ?\Z")
_TABLES = frozenset({"table_open", "plain"})
_ENDED_BY_BLANK = _TABLES | {"paragraph_open", "heading_open", "blockquote_open"}
_ENDED_BY_ITSELF = frozenset({"hr", "math_block"})


def finished(blocks: list[Block], text: str, starts: list[int]) -> int:
    """How many of *blocks*, which were parsed from *text*, can no longer change.

    *starts* is where each line of *text* begins.
    """
    if not blocks:
        return 0
    lines = len(starts) - 1
    complete = lines if text.endswith("\n") else lines - 1
    if _is_closed(blocks[-1], text, starts, complete):
        return len(blocks)
    last = blocks[-1]
    settled = lines if _SETTLED.match(text, starts[lines - 1]) else complete
    # A bar that comes later in the line below a table would make a row of it.
    if len(blocks) > 1 and blocks[-2].kind in _TABLES and blocks[-2].end == last.first:
        settled = complete
    # The line below a table's head decides whether it is one.
    opened = last.first + 1 if last.kind == "table_open" else last.first
    if opened < settled:
        return len(blocks) - 1
    if len(blocks) > 1 and _is_closed(blocks[-2], text, starts, complete):
        return len(blocks) - 1
    return max(len(blocks) - 2, 0)


def is_steady(text: str) -> bool:
    """Whether *text* has nothing but words: behind words it only lengthens what is there."""
    return _STEADY.match(text) is not None


def ends_steadily(block: Block, text: str) -> bool:
    """Whether words behind *text*, whose last block is *block*, would only lengthen it."""
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
        self._head = ""
        self._judged = False
        self._after_blank = False

    def feed(self, text: str) -> bool:
        """Take the next piece; whether the open block may have ended in it."""
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
            return False
        if self._after_blank and not self._head.startswith(("    ", "\t")):
            return self.kind not in {"bullet_list_open", "ordered_list_open"} or (
                not self._head.startswith(" ")
            )
        return _NEW_BLOCK.match(self._head) is not None


def _is_closed(block: Block, text: str, starts: list[int], complete: int) -> bool:
    """Whether *block* ended by a line of its own, or by a blank one.

    *complete* is how many lines of *text* are complete.
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
