"""Compaction of the history: entries that Dream has read move to the archive, oldest first.

Lines are archived before they are removed from the file. A crash in between leaves them in both,
and the next compaction removes them.
"""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import line_files, locks
from memory.history import archive, cursors, file_tail, log
from memory.history.entries import HistoryEntry, parse_entry

CAP = 1_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """Counts of moved entries, of remaining entries that Dream has read, and of entries that wait
    for it."""

    moved: int
    consumed: int
    backlog: int

    @property
    def warning(self) -> str:
        """Return a warning when much is waiting. Waiting entries are never dropped."""
        return backlog_warning(self.backlog)


def backlog_warning(waiting: int, cap: int = CAP) -> str:
    if waiting <= cap:
        return ""
    return (
        f"{waiting:,} notes of the history wait for Dream. All of them are kept. See whether Dream "
        "is switched on, and how its last updates ended."
    )


def compact(root: Path, *, cap: int = CAP, timeout: float = locks.TIMEOUT_SECONDS) -> Compacted:
    """Move entries that Dream has read out of the file until *cap* of them are left.

    Raises:
        CursorBroken: Dream's position is unknown; nothing was moved.
        LockTimeout, WriteFailed: every entry is in its old place, or in both.
    """
    if not (root / log.PATH).exists():
        return Compacted(0, 0, 0)
    with log.writing(root, timeout=timeout) as (real, file):
        read_to = cursors.dream_cursor(real)
        file_tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in file_tail.lines_back(file)][::-1]
        entries = [parse_entry(line) for line in lines]
        consumed = [entry for entry in entries if entry and entry.cursor <= read_to]
        waiting = [entry for entry in entries if entry and entry.cursor > read_to]
        going = _going(consumed, waiting, len(consumed) - cap)
        if going:
            _move(real, lines, entries, going)
    return Compacted(len(going), len(consumed) - len(going), len(waiting))


def _going(consumed: list[HistoryEntry], waiting: list[HistoryEntry], excess: int) -> set[int]:
    if excess <= 0:
        return set()
    ordered = sorted(consumed, key=lambda entry: entry.cursor)
    begun = {entry.group for entry in waiting if entry.group}
    groups = {entry.group for entry in ordered[:excess] if entry.group} - begun
    chosen = [entry for entry in ordered[:excess] if entry.group not in begun]
    rest = [entry for entry in ordered[excess:] if entry.group in groups]
    return {id(entry) for entry in chosen + rest}


def _move(
    real: Path, lines: list[bytes], entries: list[HistoryEntry | None], going: set[int]
) -> None:
    """Archive the lines, then remove them from the file. Lines without an entry stay."""
    months: dict[str, list[bytes]] = {}
    staying = []
    last_month = ""
    for line, entry in zip(lines, entries, strict=True):
        if entry is None or id(entry) not in going:
            staying.append(line)
            continue
        # An entry without a timestamp moves with the one before it.
        last_month = archive.month_of(entry.timestamp) or last_month or archive.UNDATED
        months.setdefault(last_month, []).append(line)
    for month, moved in months.items():
        archive.add_lines(real, month, moved, log.ACTOR)
    data = b"".join(line + b"\n" for line in staying)
    line_files.replace_line_file(real, log.PATH, data, log.ACTOR)
