"""Segments of the history that Dream has read and that have left the file, one a month.

``memory/archive/history-YYYY-MM.jsonl`` holds the very lines, in the month of their stamps.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from jenny.workspace import linefile
from jenny.workspace.errors import PathRefused
from jenny.workspace.rules import Actor
from memory.history import tail
from memory.history.entries import parse

FOLDER = "memory/archive"
UNDATED = "undated"
_NAME = re.compile(rf"history-(?:\d{{4}}-\d{{2}}|{UNDATED})\.jsonl")
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?=-)")


def path_for(month: str) -> str:
    """The segment of a month (``2026-11``, or ``UNDATED``)."""
    return f"{FOLDER}/history-{month}.jsonl"


def is_segment(path: str) -> bool:
    """Whether the file at *path* is a segment."""
    folder, _, name = path.rpartition("/")
    return folder == FOLDER and _NAME.fullmatch(name) is not None


def month_of(timestamp: str) -> str:
    """The month of a stamp; empty when it is none."""
    match = _MONTH.match(timestamp)
    return match[0] if match else ""


def segments(root: Path) -> list[str]:
    """The segments that there are, oldest first."""
    try:
        # Names alone: beside the segments lie the archived facts, ten thousand perhaps.
        listed = os.listdir(f"{root}/{FOLDER}")  # noqa: PTH208 - names are enough
    except OSError:
        return []
    found = [name for name in listed if name.startswith("history-") and _NAME.fullmatch(name)]
    return [f"{FOLDER}/{name}" for name in sorted(found)]


def highest(root: Path) -> int:
    """The highest cursor in the ends of the segments; 0 when there is none."""
    found = 0
    for path in segments(root):
        try:
            with linefile.open_lines(root, path) as file:
                entries = (parse(line.data) for line in tail.lines_back(file)) if file else iter(())
                last = next((entry for entry in entries if entry), None)
        except PathRefused:
            continue
        found = max(found, last.cursor if last else 0)
    return found


def add(root: Path, month: str, lines: Iterable[bytes], actor: Actor) -> None:
    """Add lines to a month's segment, durably, but those that are there already: a crash may
    have come between adding them and taking them out of the history. The history lock is held."""
    with linefile.open_growing(root, path_for(month), actor) as file:
        tail.mend(root, file, actor, groups=False)
        wanted = list(lines)
        there = _among(file, wanted)
        data = b"".join(line + b"\n" for line in wanted if line not in there)
        if data:
            file.add(data)


def _among(file: linefile.Lines, wanted: list[bytes]) -> set[bytes]:
    """Which of the lines the segment has. Its end tells that it has none of them, as a rule:
    cursors rise."""
    first = min((entry.cursor for line in wanted if (entry := parse(line))), default=0)
    found: set[bytes] = set()
    sought = set(wanted)
    earlier = 0
    for line in tail.lines_back(file):
        entry = parse(line.data)
        if line.data in sought:
            found.add(line.data)
        if entry is not None and entry.cursor < first:
            earlier += 1
            if earlier >= len(sought) + 1:
                break
    return found
