"""Merges two states of the history: every entry of either side, once, in order."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from memory import files
from memory.history import archive, cursors
from memory.history.entries import FILE, HistoryEntry, parse_entry, render_entry
from memory.merge.lines import joined, split


@dataclass(frozen=True)
class History:
    """The merged files of the history, and the entries that Dream is shown again."""

    files: dict[str, bytes]
    reoffer: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    path: str
    data: bytes
    entry: HistoryEntry


def merge(
    current: Mapping[str, bytes],
    other: Mapping[str, bytes],
    *,
    is_same: bool,
    removed: frozenset[int],
) -> History:
    """Merge two histories; see ``memory.merge.merge_ledgers``. *removed* are entries that a
    person had removed, which do not come back."""
    mine = {line.entry.cursor: line for line in _lines(current)}
    theirs = list(_lines(other))
    read_to = _number(current, files.CURSOR)
    read_there = _number(other, files.CURSOR) or 0
    added: list[_Line] = []
    clashing: list[_Line] = []
    seen: set[int] = set()
    for line in theirs:
        cursor = line.entry.cursor
        if cursor in seen:
            continue
        seen.add(cursor)
        if cursor not in mine:
            if not (is_same and cursor in removed):
                added.append(line)
        elif not is_same and mine[cursor].entry != line.entry:
            clashing.append(line)
    highest = max([_number(current, cursors.COUNTER) or 0, read_to or 0, *mine])
    highest = max([highest, _number(other, cursors.COUNTER) or 0, read_there, *seen])
    renumbered = [_renumbered(line, highest + at) for at, line in enumerate(clashing, 1)]
    found = _placed(current, [*added, *renumbered])
    highest += len(renumbered)
    if (_number(current, cursors.COUNTER) or 0) < highest:
        found[cursors.COUNTER] = b"%d\n" % highest
    if read_to is None or not (is_same or mine):
        # Without a Dream cursor here the one of the other files is taken.
        read_to = read_there
        if files.CURSOR in other:
            found[files.CURSOR] = other[files.CURSOR]
    known = {line.entry.cursor: line.entry for line in (*mine.values(), *added, *renumbered)}
    seen_there = {line.entry.cursor for line in theirs} - {line.entry.cursor for line in clashing}
    reoffer = sorted(
        cursor
        for cursor in known
        if cursor <= read_to and not (cursor <= read_there and (is_same or cursor in seen_there))
    )
    return History(found, tuple(reoffer), tuple(_notes(added, renumbered, is_new=not mine)))


def _lines(state: Mapping[str, bytes]) -> Iterator[_Line]:
    """Yield the lines with entries, the history file before its segments."""
    for path in sorted(state, key=lambda path: path != FILE):
        if path != FILE and not archive.is_segment(path):
            continue
        for data in split(state[path]):
            entry = parse_entry(data)
            if entry is not None:
                yield _Line(path, data, entry)


def _number(state: Mapping[str, bytes], path: str) -> int | None:
    """Parse a number beside the history; ``None`` when it is missing or invalid."""
    data = state.get(path)
    return None if data is None else cursors.number(data)


def _renumbered(line: _Line, cursor: int) -> _Line:
    """Return the entry with a free number; it waits in the history file."""
    entry = replace(line.entry, cursor=cursor)
    return _Line(FILE, render_entry(entry).rstrip(b"\n"), entry)


def _placed(current: Mapping[str, bytes], added: Iterable[_Line]) -> dict[str, bytes]:
    """Return the files with the added lines, in order of their numbers."""
    by_path: dict[str, list[_Line]] = {}
    for line in added:
        by_path.setdefault(line.path, []).append(line)
    found = {}
    for path, rows in by_path.items():
        keyed: list[tuple[int, bytes]] = []
        above = 0
        for data in split(current.get(path, b"")):
            entry = parse_entry(data)
            above = entry.cursor if entry is not None else above
            keyed.append((above, data))
        keyed += [(line.entry.cursor, line.data) for line in rows]
        found[path] = joined(data for _, data in sorted(keyed, key=lambda pair: pair[0]))
    return found


def _notes(added: list[_Line], renumbered: list[_Line], *, is_new: bool) -> Iterator[str]:
    if added:
        what = "1 note" if len(added) == 1 else f"{len(added):,} notes"
        how = "came with it" if is_new else "that had gone missing came back"
        yield f"{what} of the history {how}."
    if renumbered:
        count = len(renumbered)
        what = "1 note gets a new number" if count == 1 else f"{count:,} notes get new numbers"
        yield f"{what}, since theirs stand for other notes here."
