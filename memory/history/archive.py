"""Monthly segments of the history that Dream has read.

``memory/archive/history-YYYY-MM.jsonl`` holds the unchanged lines of that month.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from jenny.workspace import line_files
from jenny.workspace.errors import PathRefused
from jenny.workspace.write_rules import Actor
from memory.history import file_tail
from memory.history.entries import parse_entry

FOLDER = "memory/archive"
UNDATED = "undated"
_NAME = re.compile(rf"history-(?:\d{{4}}-\d{{2}}|{UNDATED})\.jsonl")
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?=-)")


def path_for(month: str) -> str:
    return f"{FOLDER}/history-{month}.jsonl"


def is_segment(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == FOLDER and _NAME.fullmatch(name) is not None


def month_of(timestamp: str) -> str:
    """Return the month of a timestamp; empty for an invalid one."""
    match = _MONTH.match(timestamp)
    return match[0] if match else ""


def segments(root: Path) -> list[str]:
    """List the existing segments, oldest first."""
    try:
        # Only names: beside the segments there may be ten thousand archived facts.
        listed = os.listdir(f"{root}/{FOLDER}")  # noqa: PTH208 - names are enough
    except OSError:
        return []
    found = [name for name in listed if name.startswith("history-") and _NAME.fullmatch(name)]
    return [f"{FOLDER}/{name}" for name in sorted(found)]


def highest_cursor(root: Path) -> int:
    """Return the highest cursor near the ends of the segments; 0 without any."""
    found = 0
    for path in segments(root):
        try:
            with line_files.open_lines(root, path) as file:
                entries = (
                    (parse_entry(line.data) for line in file_tail.lines_back(file))
                    if file
                    else iter(())
                )
                last = next((entry for entry in entries if entry), None)
        except PathRefused:
            continue
        found = max(found, last.cursor if last else 0)
    return found


def add_lines(root: Path, month: str, lines: Iterable[bytes], actor: Actor) -> None:
    """Append lines durably to a month's segment unless it has them: a crash may have come between
    adding them and removing them from the history. Call it under the history lock."""
    with line_files.open_growing(root, path_for(month), actor) as file:
        file_tail.mend(root, file, actor, groups=False)
        wanted = list(lines)
        there = _among(file, wanted)
        data = b"".join(line + b"\n" for line in wanted if line not in there)
        if data:
            file.add(data)


def _among(file: line_files.Lines, wanted: list[bytes]) -> set[bytes]:
    """Return which of the lines the segment has. Cursors rise, so its end usually shows that it
    has none."""
    first = min((entry.cursor for line in wanted if (entry := parse_entry(line))), default=0)
    found: set[bytes] = set()
    sought = set(wanted)
    earlier = 0
    for line in file_tail.lines_back(file):
        entry = parse_entry(line.data)
        if line.data in sought:
            found.add(line.data)
        if entry is not None and entry.cursor < first:
            earlier += 1
            if earlier >= len(sought) + 1:
                break
    return found
