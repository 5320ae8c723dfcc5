"""Texts cut into entries: a summary at the borders of its bullets, a raw text at its lines.

The pieces put together again are the text; only white space at a border may be missing.
"""

import re
from collections.abc import Iterator

SUMMARY_CHARS = 8_000
RAW_CHARS = 16_000
_LIMITS = {"raw": RAW_CHARS}
# Where a bullet or a paragraph begins.
_BULLET = re.compile(r"\n(?=[-*+•] |\d{1,3}[.)] |#|\n)")
_SPACE = re.compile(r"\s")


def cut(text: str, kind: str) -> list[str]:
    """The entries' contents that a text of that kind becomes, in order; one if it fits."""
    limit = _LIMITS.get(kind, SUMMARY_CHARS)
    return [text] if len(text) <= limit else list(_pieces(text, limit, raw=kind == "raw"))


def _pieces(text: str, limit: int, *, raw: bool) -> Iterator[str]:
    """A raw text keeps every character; of a summary, blank borders go."""
    at = 0
    while at < len(text):
        border = _border(text, at, at + limit) if len(text) - at > limit else len(text)
        piece = text[at:border]
        if raw or piece.strip():
            yield piece if raw else piece.strip("\n")
        at = border


def _border(text: str, start: int, end: int) -> int:
    """The best place to cut at or before *end*: bullet, line, word; always after *start*."""
    bullets = [match.start() + 1 for match in _BULLET.finditer(text, start + 1, end + 2)]
    if fitting := [place for place in bullets if place <= end]:
        return fitting[-1]
    line = text.rfind("\n", start + 1, end)
    if line > start:
        return line + 1
    # A word's end, unless words are longer than anyone's.
    spaces = [match.end() for match in _SPACE.finditer(text, max(start + 1, end - 200), end)]
    return spaces[-1] if spaces else end
