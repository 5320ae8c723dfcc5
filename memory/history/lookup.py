"""Entries of the history by their numbers, wherever they are by now."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from jenny.workspace import linefile, paths
from jenny.workspace.errors import PathRefused
from memory.history import archive, log, tail
from memory.history.entries import Entry, parse

# As every entry is written; a line that somebody wrote by hand is parsed to know its number.
_CURSOR = re.compile(rb'\{"cursor": (\d{1,19}),')
# Hand-edited files need not be in order: so many smaller numbers in a row end the search.
_SMALLER_IN_A_ROW = 32


def by_cursor(root: Path, wanted: Collection[int], *, archived: bool = True) -> dict[int, Entry]:
    """The entries of those numbers, as far as they are there. *archived*: look in the segments of
    what Dream has read long ago, too.

    Raises:
        PathRefused: the history cannot be read.
    """
    found: dict[int, Entry] = {}
    if not wanted:
        return found
    real = paths.real_root(root)
    places = [log.PATH, *(archive.segments(real)[::-1] if archived else ())]
    for place in places:
        left = set(wanted) - found.keys()
        if not left:
            break
        try:
            with linefile.open_lines(real, place) as file:
                found |= {entry.cursor: entry for entry in _among(file, left)} if file else {}
        except PathRefused:
            if place == log.PATH:
                raise
    return found


def _among(file: linefile.Lines, wanted: set[int]) -> Iterator[Entry]:
    """The wanted entries, from the end on; what stands there unfinished is none."""
    left, least, smaller = set(wanted), min(wanted), 0
    unfinished = tail.unfinished_lines(file)
    for number, line in enumerate(tail.lines_back(file)):
        if not left or smaller == _SMALLER_IN_A_ROW:
            return
        if number < unfinished:
            continue
        match = _CURSOR.match(line.data)
        if match and int(match[1]) not in left:
            smaller = smaller + 1 if int(match[1]) < least else 0
            continue
        entry = parse(line.data)
        if entry is not None and entry.cursor in left:
            left.discard(entry.cursor)
            smaller = 0
            yield entry
