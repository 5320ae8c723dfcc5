"""Readers of the history: what waits for Dream, the whole file, or entries by number.

Readers take no lock: lines are only added, or the whole file is replaced. Unfinished lines at the
end are skipped, since the next writer cuts them off.
"""

import contextlib
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from jenny.workspace import line_files, locks, paths
from jenny.workspace.errors import PathRefused
from memory.errors import CursorBroken
from memory.history import cursors, file_tail, log
from memory.history.entries import HistoryEntry, parse_entry

# Hand-edited files may be out of order: the search ends after so many lines in a row that Dream
# has read.
_READ_IN_A_ROW = 32


@dataclass(frozen=True, slots=True)
class Pending:
    """Entries above *read_to*, oldest first. *is_all*: there are no more."""

    entries: tuple[HistoryEntry, ...]
    read_to: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class HistoryScan:
    """The scan of the whole file.

    *skipped* are the numbers of lines without an entry, *twice* cursors of several entries,
    *unfinished* the count of lines at the end that were never acknowledged.
    """

    entries: int = 0
    waiting: int = 0
    skipped: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()
    unfinished: int = 0


def read_pending(root: Path, *, most: int | None = None, read_to: int | None = None) -> Pending:
    """Return the newest *most* entries that Dream has not read, from the end of the file.

    *read_to* replaces Dream's cursor.

    Raises:
        CursorBroken: Dream's position is unknown, and *read_to* was not given.
        PathRefused: the history cannot be read.
    """
    if read_to is None:
        read_to = cursors.dream_cursor(root)
    with line_files.open_lines(paths.real_root(root), log.PATH) as file:
        return _pending(file, read_to, most) if file else Pending((), read_to, is_all=True)


def acknowledged(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> Pending:
    """Return all acknowledged entries that Dream has not read, under the history lock. For moving
    Dream's cursor.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused: nothing was read.
    """
    with log.writing(root, timeout=timeout) as (real, file):
        file_tail.mend(real, file, log.ACTOR)
        return _pending(file, cursors.dream_cursor(real), None)


def newest(root: Path, count: int) -> tuple[HistoryEntry, ...]:
    """Return the newest entries, read by Dream or not, in order."""
    with line_files.open_lines(paths.real_root(root), log.PATH) as file:
        return tuple(islice(_back(file), count))[::-1] if file else ()


def about(root: Path, conversation: str, messages: tuple[int, int]) -> tuple[HistoryEntry, ...]:
    """Return the entry or group about exactly these messages; nothing when there is none. It
    finds entries that were added before a crash and not noted."""
    with line_files.open_lines(paths.real_root(root), log.PATH) as file:
        if file is None:
            return ()
        sought = json.dumps(conversation, ensure_ascii=False).encode()
        lines = _finished(file)
        entries = (parse_entry(line.data) for line in lines if sought in line.data)
        found = [
            entry
            for entry in entries
            if entry and (entry.conversation, entry.messages) == (conversation, messages)
        ]
    if not found:
        return ()
    # A group with parts removed by hand counts as missing.
    last = found[0]
    if last.part is None:
        return (last,)
    group = [entry for entry in found if entry.group == last.group][::-1]
    whole = [(number, last.part[1]) for number in range(1, last.part[1] + 1)]
    return tuple(group) if [entry.part for entry in group] == whole else ()


def read_all(root: Path) -> HistoryScan:
    """Scan the whole file; with a broken Dream cursor everything counts as waiting.

    Raises:
        PathRefused: the history cannot be read.
    """
    real = paths.real_root(root)
    try:
        read_to = cursors.dream_cursor(real)
    except CursorBroken:
        read_to = 0
    with line_files.open_lines(real, log.PATH) as file:
        if file is None:
            return HistoryScan()
        unfinished = file_tail.unfinished_lines(file)
        lines = [line.data for line in _finished(file)][::-1]
    seen: dict[int, bytes] = {}
    skipped, twice, entries, waiting = [], set(), 0, 0
    for number, line in enumerate(lines, 1):
        entry = parse_entry(line)
        if entry is None:
            skipped.append(number)
            continue
        if seen.setdefault(entry.cursor, line) != line:
            twice.add(entry.cursor)
        entries += 1
        waiting += entry.cursor > read_to
    return HistoryScan(entries, waiting, tuple(skipped), tuple(sorted(twice)), unfinished)


def _pending(file: line_files.Lines, read_to: int, most: int | None) -> Pending:
    found: list[HistoryEntry] = []
    in_a_row = 0
    for entry in _back(file):
        if entry.cursor > read_to:
            if most is not None and len(found) == most:
                return Pending(tuple(found[::-1]), read_to, is_all=False)
            found.append(entry)
            in_a_row = 0
            continue
        in_a_row += 1
        if in_a_row == _READ_IN_A_ROW:
            break
    return Pending(tuple(found[::-1]), read_to, is_all=True)


def _back(file: line_files.Lines) -> Iterator[HistoryEntry]:
    """Yield the entries, newest first. An identical second line is no second entry."""
    seen: set[bytes] = set()
    for line in _finished(file):
        entry = parse_entry(line.data)
        if entry is not None and line.data not in seen:
            seen.add(line.data)
            yield entry


def _finished(file: line_files.Lines) -> Iterator[file_tail.Line]:
    return islice(file_tail.lines_back(file), file_tail.unfinished_lines(file), None)


# The format of our own entries; lines written by hand are parsed.
_CURSOR = re.compile(rb'\{"cursor": (\d{1,19}),')
# Hand-edited files may be out of order: the search ends after so many smaller numbers in a row.
_SMALLER_IN_A_ROW = 32


def find_by_cursor(
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
    places = [log.PATH, *(log.list_segments(real)[::-1] if archived else ())]
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
    for place in (log.PATH, *log.list_segments(real)[::-1]):
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
