"""Recorded facts for the summariser, so that they are not extracted again.

Facts that wait for Dream come first, then the bullets of the memory files; each is included whole
or not at all, and raw texts never.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jenny.agent.tokens import estimate
from jenny.markdown.comments import without_comments
from jenny.workspace import paths, seed
from jenny.workspace.content import read_text
from memory import files
from memory.approvals import overlay
from memory.errors import CursorBroken
from memory.history import reader, summary_answer
from memory.history.entries import HistoryEntry
from memory.suppression import without, without_forgotten

MAX_TOKENS = 1_600
# Share of the space that is reserved for waiting facts.
_WAITING_SHARE = 0.4
_LOOKED_AT = 200
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S.*")


def block(root: Path) -> str:
    """Return recorded facts, oldest first, in about 1,600 tokens; empty without any.

    Raises:
        PathRefused: the history cannot be read.
    """
    real = paths.real_root(root)
    bullets = list(dict.fromkeys(_bullets(real)))
    of_files = sum(map(_cost, bullets))
    room = max(int(MAX_TOKENS * _WAITING_SHARE), MAX_TOKENS - of_files)
    waiting = _fitting((entry.content.strip() for entry in reversed(_waiting(real))), room)
    left = MAX_TOKENS - sum(map(_cost, waiting))
    lines = "\n".join([*_fitting(bullets, left), *waiting[::-1]]).splitlines()
    known, tasks = summary_answer.split_tasks(lines)
    about = ["", summary_answer.TASK_HEADING, ""] if tasks else []
    return "\n".join([*known, *about, *tasks]).strip()


def _waiting(root: Path) -> tuple[HistoryEntry, ...]:
    """Return summaries and notes that Dream has not read, oldest first."""
    try:
        found = reader.read_pending(root, most=_LOOKED_AT)
    except CursorBroken:
        found = reader.read_pending(root, most=_LOOKED_AT, read_to=0)
    return without_forgotten(root, (entry for entry in found.entries if entry.kind != "raw"))


def _bullets(root: Path) -> Iterable[str]:
    """Yield the bullets of edited memory files and those that wait for approval."""
    for file in files.MEMORY_FILES:
        found = read_text(root, file.path)
        if found.text and not seed.is_untouched(file.path, found.data):
            text = without_comments(without(root, found.text).text)
            default = seed.template_lines(file.path)
            lines = (line.strip() for line in text.splitlines() if _BULLET.fullmatch(line))
            yield from (line for line in lines if line not in default)
    for row in overlay.waiting(root).staged:
        if row.piece.kind != "skill":
            text = without(root, "\n".join(row.piece.after)).text
            yield from (line.strip() for line in text.splitlines() if _BULLET.fullmatch(line))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    """Return the first texts that fit whole into *room* tokens."""
    chosen = []
    for text in texts:
        cost = _cost(text)
        if text and cost <= room:
            chosen.append(text)
            room -= cost
    return chosen


def _cost(text: str) -> int:
    return estimate(text) + 1
