"""Merges the ledgers of two states of a workspace, so that none is ever rewound.

What was said (the history and its segments), what left the memory (the archive) and what the
person had forgotten are known on both sides; a restore or an import keeps all of it. Dream's
cursor stays; entries whose facts are no longer in the files are in ``Merged.reoffer``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from memory import consents, files, skills, suppression
from memory.archive import file_format
from memory.history import cursors, log
from memory.history.entries import FILE, HistoryEntry, parse_entry, render_entry

__all__ = ["Merged", "is_history", "is_ledger", "merge_ledgers"]


def split_lines(data: bytes) -> list[bytes]:
    """Split into lines without their ends; an unterminated line counts."""
    return [line for line in data.split(b"\n") if line.strip()]


def join_lines(rows: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in rows)


def unite_lines(current: bytes, other: bytes) -> bytes:
    """Return the current ledger followed by the lines that only the other one has. Rows hold by
    their own time, in any order (``memory.ledgers``)."""
    mine = split_lines(current)
    known = set(mine)
    missing = [line for line in dict.fromkeys(split_lines(other)) if line not in known]
    return join_lines([*mine, *missing]) if missing else current


def removed_entries(ledger: bytes) -> frozenset[int]:
    """Return the entries that a person removed from the history (``memory.history.removal`` notes
    them beside the tombstones)."""
    found: set[int] = set()
    for line in split_lines(ledger):
        if b'"entries"' not in line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        named = row.get("entries") if isinstance(row, dict) else None
        found |= {one for one in named if type(one) is int} if isinstance(named, list) else set()
    return frozenset(found)


@dataclass(frozen=True)
class MergedHistory:
    """The merged files of the history, and the entries that Dream is shown again."""

    files: dict[str, bytes]
    reoffer: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    path: str
    data: bytes
    entry: HistoryEntry


def merge_histories(
    current: Mapping[str, bytes],
    other: Mapping[str, bytes],
    *,
    is_same: bool,
    removed: frozenset[int],
) -> MergedHistory:
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
    return MergedHistory(found, tuple(reoffer), tuple(_notes(added, renumbered, is_new=not mine)))


def _lines(state: Mapping[str, bytes]) -> Iterator[_Line]:
    """Yield the lines with entries, the history file before its segments."""
    for path in sorted(state, key=lambda path: path != FILE):
        if path != FILE and not log.is_segment(path):
            continue
        for data in split_lines(state[path]):
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
        for data in split_lines(current.get(path, b"")):
            entry = parse_entry(data)
            above = entry.cursor if entry is not None else above
            keyed.append((above, data))
        keyed += [(line.entry.cursor, line.data) for line in rows]
        found[path] = join_lines(data for _, data in sorted(keyed, key=lambda pair: pair[0]))
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


def merge_archived_text(name: str, current: bytes, other: bytes) -> bytes:
    """Return the file with the removals of both sides; one that cannot be merged stays as it is."""
    mine, theirs = file_format.parse(name, current), file_format.parse(name, other)
    if mine is None or theirs is None or mine.problem or theirs.problem:
        return current
    if mine.text != theirs.text:
        return current
    missing = [event for event in theirs.events if event not in mine.events]
    if not missing:
        return current
    ordered = sorted((*mine.events, *missing), key=lambda event: event.date)
    base = replace(
        mine, events=(), events_left_out=max(mine.events_left_out, theirs.events_left_out)
    )
    for event in ordered:
        base = file_format.with_event(base, event)
    return file_format.render(base)


_ARCHIVE = f"{file_format.FOLDER}/"
# Each row holds by its own time: a withdrawn consent or approval stays withdrawn, and what was
# forgotten stays forgotten.
_LINES = frozenset({suppression.PATH, skills.APPROVALS_PATH, consents.PATH})
_NUMBERS = frozenset({cursors.COUNTER, files.CURSOR})


@dataclass(frozen=True)
class Merged:
    """Two merged states.

    ``files`` are contents that differ from the current ones. ``reoffer`` are entries that Dream
    has read and whose facts are not in the restored files. ``notes`` are sentences for the
    person.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    reoffer: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def is_ledger(path: str) -> bool:
    """True when the file is merged from both sides instead of being replaced."""
    return is_history(path) or path in _LINES or path.startswith(_ARCHIVE)


def is_history(path: str) -> bool:
    """True for the files of the history: entries, segments, and the numbers beside them."""
    return path in _NUMBERS or path == FILE or log.is_segment(path)


def merge_ledgers(
    current: Mapping[str, bytes], other: Mapping[str, bytes], *, is_same: bool = True
) -> Merged:
    """Merge the *other* state's ledgers (contents by path) with the *current* ones.

    All files of the history (``is_history``) must be given; of other ledgers those that differ
    are enough. *is_same*: both are states of one workspace, so that a number means one entry.
    Otherwise an entry whose number is taken gets a new one.
    """
    found: dict[str, bytes] = {}
    history = merge_histories(
        {path: data for path, data in current.items() if is_history(path)},
        {path: data for path, data in other.items() if is_history(path)},
        is_same=is_same,
        removed=removed_entries(current.get(suppression.PATH, b"")),
    )
    found |= history.files
    for path, data in other.items():
        if not is_ledger(path) or is_history(path):
            continue
        mine = current.get(path)
        if path in _LINES:
            found[path] = unite_lines(mine or b"", data)
        elif mine is None:
            found[path] = data
        else:
            found[path] = merge_archived_text(path.removeprefix(_ARCHIVE), mine, data)
    changed = {path: data for path, data in found.items() if current.get(path) != data}
    return Merged(changed, history.reoffer, history.notes)
