"""What is recorded already, for the summariser, so that a fact is not extracted again and again.

Facts that wait for Dream come first, then the bullets of the memory files; entries and bullets
whole or not at all, and never a raw text.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jenny.agent.tokens import estimate
from jenny.workspace import paths, seed
from jenny.workspace.reading import read_text
from memory import files
from memory.approval import overlay
from memory.errors import CursorBroken
from memory.forgotten import without, without_forgotten
from memory.history import reading
from memory.history.entries import Entry

MAX_TOKENS = 1_600
# What waits has so much of it for itself, however much the files say.
_WAITING_SHARE = 0.4
_LOOKED_AT = 200
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S.*")


def block(root: Path) -> str:
    """The facts on record, oldest first, in about 1,600 tokens; empty when there are none.

    Raises:
        PathRefused: the history cannot be read.
    """
    real = paths.real_root(root)
    bullets = list(dict.fromkeys(_bullets(real)))
    of_files = sum(map(_cost, bullets))
    room = max(int(MAX_TOKENS * _WAITING_SHARE), MAX_TOKENS - of_files)
    waiting = _fitting((entry.content.strip() for entry in reversed(_waiting(real))), room)
    left = MAX_TOKENS - sum(map(_cost, waiting))
    return "\n".join([*_fitting(bullets, left), *waiting[::-1]])


def _waiting(root: Path) -> tuple[Entry, ...]:
    """Summaries and notes that Dream has not read, oldest first."""
    try:
        found = reading.pending(root, most=_LOOKED_AT)
    except CursorBroken:
        found = reading.pending(root, most=_LOOKED_AT, read_to=0)
    return without_forgotten(root, (entry for entry in found.entries if entry.kind != "raw"))


def _bullets(root: Path) -> Iterable[str]:
    """The bullets of the memory files that somebody has written in, and those that wait for a
    person's approval."""
    for file in files.MEMORY_FILES:
        found = read_text(root, file.path)
        if found.text and not seed.is_untouched(file.path, found.data):
            text = without(root, found.text).text
            yield from (line.strip() for line in text.splitlines() if _BULLET.fullmatch(line))
    for row in overlay.waiting(root).staged:
        if row.piece.kind != "skill":
            text = without(root, "\n".join(row.piece.after)).text
            yield from (line.strip() for line in text.splitlines() if _BULLET.fullmatch(line))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    """Those of the texts, whole, that fit into *room* tokens; the first ones first."""
    chosen = []
    for text in texts:
        cost = _cost(text)
        if text and cost <= room:
            chosen.append(text)
            room -= cost
    return chosen


def _cost(text: str) -> int:
    return estimate(text) + 1
