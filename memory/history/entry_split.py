"""Splits texts into entries: summaries at bullets, raw texts at lines.

The pieces joined again are the text, except for white space at the cuts.
"""

import re
from collections.abc import Iterator

SUMMARY_CHARS = 8_000
RAW_CHARS = 16_000
_LIMITS = {"raw": RAW_CHARS}
# The beginning of a bullet or a paragraph.
_BULLET = re.compile(r"\n(?=[-*+•] |\d{1,3}[.)] |#|\n)")
_SPACE = re.compile(r"\s")


def cut(text: str, kind: str) -> list[str]:
    """Split a text of that kind into the contents of entries, in order."""
    limit = _LIMITS.get(kind, SUMMARY_CHARS)
    return [text] if len(text) <= limit else list(_pieces(text, limit, raw=kind == "raw"))


def _pieces(text: str, limit: int, *, raw: bool) -> Iterator[str]:
    """Yield the pieces. A raw text keeps every character; a summary loses white space at cuts."""
    at = 0
    while at < len(text):
        border = _border(text, at, at + limit) if len(text) - at > limit else len(text)
        piece = text[at:border]
        if raw or piece.strip():
            yield piece if raw else piece.strip("\n")
        at = border


def _border(text: str, start: int, end: int) -> int:
    """Return the best cut at or before *end* and after *start*: at a bullet, line or word."""
    bullets = [match.start() + 1 for match in _BULLET.finditer(text, start + 1, end + 2)]
    if fitting := [place for place in bullets if place <= end]:
        return fitting[-1]
    line = text.rfind("\n", start + 1, end)
    if line > start:
        return line + 1
    # The end of a word, unless the word is extremely long.
    spaces = [match.end() for match in _SPACE.finditer(text, max(start + 1, end - 200), end)]
    return spaces[-1] if spaces else end
