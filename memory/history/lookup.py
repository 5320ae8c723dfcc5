"""Looks up history entries by number, in the file and its segments."""

import contextlib
import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from jenny.workspace import line_files, paths
from jenny.workspace.errors import PathRefused
from memory.history import archive, file_tail, log
from memory.history.entries import HistoryEntry, parse_entry

# The format of our own entries; lines written by hand are parsed.
_CURSOR = re.compile(rb'\{"cursor": (\d{1,19}),')
# Hand-edited files may be out of order: the search ends after so many smaller numbers in a row.
_SMALLER_IN_A_ROW = 32


def by_cursor(
    root: Path, wanted: Collection[int], *, archived: bool = True
) -> dict[int, HistoryEntry]:
    """Return the entries with those numbers. *archived* includes the segments.

    Raises:
        PathRefused: the history cannot be read.
    """
    found: dict[int, HistoryEntry] = {}
    if not wanted:
        return found
    real = paths.real_root(root)
    places = [log.PATH, *(archive.segments(real)[::-1] if archived else ())]
    for place in places:
        left = set(wanted) - found.keys()
        if not left:
            break
        try:
            with line_files.open_lines(real, place) as file:
                found |= {entry.cursor: entry for entry in _among(file, left)} if file else {}
        except PathRefused:
            if place == log.PATH:
                raise
    return found


def newest_first(root: Path) -> Iterator[HistoryEntry]:
    """Yield every entry of the file and its segments; unfinished lines and what cannot be read are
    skipped."""
    real = paths.real_root(root)
    for place in (log.PATH, *archive.segments(real)[::-1]):
        with contextlib.suppress(PathRefused), line_files.open_lines(real, place) as file:
            if file is None:
                continue
            lines = islice(file_tail.lines_back(file), file_tail.unfinished_lines(file), None)
            yield from (entry for line in lines if (entry := parse_entry(line.data)))


def _among(file: line_files.Lines, wanted: set[int]) -> Iterator[HistoryEntry]:
    """Yield the wanted entries from the end; unfinished lines are skipped."""
    left, least, smaller = set(wanted), min(wanted), 0
    unfinished = file_tail.unfinished_lines(file)
    for number, line in enumerate(file_tail.lines_back(file)):
        if not left or smaller == _SMALLER_IN_A_ROW:
            return
        if number < unfinished:
            continue
        match = _CURSOR.match(line.data)
        if match and int(match[1]) not in left:
            smaller = smaller + 1 if int(match[1]) < least else 0
            continue
        entry = parse_entry(line.data)
        if entry is not None and entry.cursor in left:
            left.discard(entry.cursor)
            smaller = 0
            yield entry
