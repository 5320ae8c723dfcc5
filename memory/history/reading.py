"""The history read: what waits for Dream from the end of the file, and all of it for those who
look after it.

Nobody who reads takes a lock: lines are only added, or the whole file is replaced. What stands at
the end unfinished is passed over, as whoever adds next will cut it off.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from jenny.workspace import linefile, locks, paths
from memory.errors import CursorBroken
from memory.history import cursors, log, tail
from memory.history.entries import Entry, parse

# Hand-edited files need not be in order: so many lines in a row that Dream has read end the
# search for what it has not.
_READ_IN_A_ROW = 32


@dataclass(frozen=True, slots=True)
class Pending:
    """Entries above *read_to*, oldest first; *is_all*: there are no more than these."""

    entries: tuple[Entry, ...]
    read_to: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class Look:
    """All of the file, looked through.

    *skipped* are the numbers of lines that hold no entry, *twice* cursors that more than one
    entry has. *unfinished*: lines at the end that were never acknowledged.
    """

    entries: int = 0
    waiting: int = 0
    skipped: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()
    unfinished: int = 0


def pending(root: Path, *, most: int | None = None, read_to: int | None = None) -> Pending:
    """What Dream has not read yet, the newest *most* of it; read from the end of the file.

    *read_to* stands in for Dream's cursor.

    Raises:
        CursorBroken: nobody knows what Dream has read, and *read_to* was not given.
        PathRefused: the history cannot be read.
    """
    if read_to is None:
        read_to = cursors.dream_cursor(root)
    with linefile.open_lines(paths.real_root(root), log.PATH) as file:
        return _pending(file, read_to, most) if file else Pending((), read_to, is_all=True)


def acknowledged(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> Pending:
    """All that Dream has not read yet, and nothing that its writer may still take back: read
    under the history lock. For whoever moves Dream's cursor.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused.
    """
    with log.writing(root, timeout=timeout) as (real, file):
        tail.mend(real, file, log.ACTOR)
        return _pending(file, cursors.dream_cursor(real), None)


def newest(root: Path, count: int) -> tuple[Entry, ...]:
    """The newest entries, read by Dream or not, oldest of them first."""
    with linefile.open_lines(paths.real_root(root), log.PATH) as file:
        return tuple(islice(_back(file), count))[::-1] if file else ()


def about(root: Path, conversation: str, messages: tuple[int, int]) -> tuple[Entry, ...]:
    """The entry or the whole group that is about just these messages; nothing when there is
    none. Whoever was stopped after adding and before noting it finds it here."""
    with linefile.open_lines(paths.real_root(root), log.PATH) as file:
        if file is None:
            return ()
        sought = json.dumps(conversation, ensure_ascii=False).encode()
        lines = _finished(file)
        entries = (parse(line.data) for line in lines if sought in line.data)
        found = [
            entry
            for entry in entries
            if entry and (entry.conversation, entry.messages) == (conversation, messages)
        ]
    if not found:
        return ()
    # The newest one; of a group that somebody took parts of by hand, nothing.
    last = found[0]
    if last.part is None:
        return (last,)
    group = [entry for entry in found if entry.group == last.group][::-1]
    whole = [(number, last.part[1]) for number in range(1, last.part[1] + 1)]
    return tuple(group) if [entry.part for entry in group] == whole else ()


def look(root: Path) -> Look:
    """Look through all of the file; with a broken cursor of Dream's everything counts as waiting.

    Raises:
        PathRefused: the history cannot be read.
    """
    real = paths.real_root(root)
    try:
        read_to = cursors.dream_cursor(real)
    except CursorBroken:
        read_to = 0
    with linefile.open_lines(real, log.PATH) as file:
        if file is None:
            return Look()
        unfinished = tail.unfinished_lines(file)
        lines = [line.data for line in _finished(file)][::-1]
    seen: dict[int, bytes] = {}
    skipped, twice, entries, waiting = [], set(), 0, 0
    for number, line in enumerate(lines, 1):
        entry = parse(line)
        if entry is None:
            skipped.append(number)
            continue
        if seen.setdefault(entry.cursor, line) != line:
            twice.add(entry.cursor)
        entries += 1
        waiting += entry.cursor > read_to
    return Look(entries, waiting, tuple(skipped), tuple(sorted(twice)), unfinished)


def _pending(file: linefile.Lines, read_to: int, most: int | None) -> Pending:
    found: list[Entry] = []
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


def _back(file: linefile.Lines) -> Iterator[Entry]:
    """The entries, newest first. The very same line a second time is no second entry."""
    seen: set[bytes] = set()
    for line in _finished(file):
        entry = parse(line.data)
        if entry is not None and line.data not in seen:
            seen.add(line.data)
            yield entry


def _finished(file: linefile.Lines) -> Iterator[tail.Line]:
    """The lines from the last finished one to the first."""
    return islice(tail.lines_back(file), tail.unfinished_lines(file), None)
