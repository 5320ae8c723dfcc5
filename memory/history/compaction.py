"""The file is kept short: what Dream has read moves to the archive, the oldest first.

Only what Dream has read counts and moves. The lines are in the archive before they leave the
file; whoever is killed in between leaves them in both, and the next one moves them once.
"""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import linefile, locks
from memory.history import archive, cursors, log, tail
from memory.history.entries import Entry, parse

CAP = 1_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """How many entries moved, how many that Dream has read are left, and how many wait for it."""

    moved: int
    consumed: int
    backlog: int

    @property
    def warning(self) -> str:
        """What the person should know, when much is waiting; never a reason to drop any of it."""
        return backlog_warning(self.backlog)


def backlog_warning(waiting: int, cap: int = CAP) -> str:
    """The sentence about entries that wait for Dream; empty while they are not many."""
    if waiting <= cap:
        return ""
    return (
        f"{waiting:,} entries of the history wait for Dream. All of them are kept. See whether "
        "Dream is switched on and its last runs succeeded."
    )


def compact(root: Path, *, cap: int = CAP, timeout: float = locks.TIMEOUT_SECONDS) -> Compacted:
    """Move entries that Dream has read out of the file until *cap* of them are left.

    Raises:
        CursorBroken: nobody knows what Dream has read; nothing was moved.
        LockTimeout, WriteFailed: every entry is where it was, or in both places.
    """
    if not (root / log.PATH).exists():
        return Compacted(0, 0, 0)
    with log.writing(root, timeout=timeout) as (real, file):
        read_to = cursors.dream_cursor(real)
        tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in tail.lines_back(file)][::-1]
        entries = [parse(line) for line in lines]
        consumed = [entry for entry in entries if entry and entry.cursor <= read_to]
        waiting = [entry for entry in entries if entry and entry.cursor > read_to]
        going = _going(consumed, waiting, len(consumed) - cap)
        if going:
            _move(real, lines, entries, going)
    return Compacted(len(going), len(consumed) - len(going), len(waiting))


def _going(consumed: list[Entry], waiting: list[Entry], excess: int) -> set[int]:
    """Ids (``id``) of the entries to move: the oldest, and groups as a whole or not at all."""
    if excess <= 0:
        return set()
    ordered = sorted(consumed, key=lambda entry: entry.cursor)
    begun = {entry.group for entry in waiting if entry.group}
    groups = {entry.group for entry in ordered[:excess] if entry.group} - begun
    chosen = [entry for entry in ordered[:excess] if entry.group not in begun]
    rest = [entry for entry in ordered[excess:] if entry.group in groups]
    return {id(entry) for entry in chosen + rest}


def _move(real: Path, lines: list[bytes], entries: list[Entry | None], going: set[int]) -> None:
    """First into the archive, then out of the file. Lines that hold no entry stay."""
    months: dict[str, list[bytes]] = {}
    staying = []
    last_month = ""
    for line, entry in zip(lines, entries, strict=True):
        if entry is None or id(entry) not in going:
            staying.append(line)
            continue
        # One without a stamp goes with the one before it.
        last_month = archive.month_of(entry.timestamp) or last_month or archive.UNDATED
        months.setdefault(last_month, []).append(line)
    for month, moved in months.items():
        archive.add(real, month, moved, log.ACTOR)
    data = b"".join(line + b"\n" for line in staying)
    linefile.put(real, log.PATH, data, log.ACTOR)
