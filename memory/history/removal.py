"""Removal of history entries together with their conversation, on request.

Only entries that Dream has not read are removed; the others are in the memory files or were not
worth keeping. Numbers are not given out again. The removal is noted beside the tombstones, so
that no restore brings the entries back.
"""

import contextlib
import json
from collections.abc import Collection
from pathlib import Path

from jenny.workspace import line_files, locks, paths, transactions
from jenny.workspace.errors import WorkspaceError
from memory import ledgers
from memory.history import cursors, file_tail, log, reader
from memory.history.entries import HistoryEntry, parse_entry

# ``memory.suppression`` reads this file and ignores these rows.
_NOTED = "memory/.forgotten.jsonl"


def waiting(root: Path, conversation: str) -> tuple[HistoryEntry, ...]:
    """Return the conversation's entries that Dream has not read, oldest first.

    Raises:
        CursorBroken, PathRefused: they cannot be read.
    """
    found = reader.read_pending(root).entries
    return tuple(entry for entry in found if entry.conversation == conversation)


def count_waiting(root: Path, conversations: Collection[str]) -> int:
    """Return how many entries of these conversations Dream has not read.

    Raises:
        CursorBroken, PathRefused: they cannot be read.
    """
    found = reader.read_pending(root).entries
    return sum(entry.conversation in conversations for entry in found)


def remove(
    root: Path,
    conversation: str,
    *,
    only: frozenset[int] | None = None,
    timeout: float = locks.TIMEOUT_SECONDS,
) -> int:
    """Remove the conversation's entries that Dream has not read and return their count. *only*
    limits it to these numbers.

    Raises:
        CursorBroken: Dream's position is unknown; nothing was removed.
        LockTimeout, WriteFailed, PathRefused: nothing was removed.
    """
    with (
        transactions.lock_workspace(paths.real_root(root), timeout=timeout),
        log.writing(root, timeout=timeout) as (real, file),
    ):
        read_to = cursors.dream_cursor(real)
        file_tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in file_tail.lines_back(file)][::-1]
        staying: list[bytes] = []
        going: list[bytes] = []
        numbers: list[int] = []
        for line in lines:
            entry = parse_entry(line)
            is_going = (
                entry is not None
                and entry.cursor > read_to
                and entry.conversation == conversation
                and (only is None or entry.cursor in only)
            )
            (going if is_going else staying).append(line)
            numbers += [entry.cursor] if entry is not None and is_going else []
        if going:
            # First, so that no number is given out twice when the last entries are removed.
            log.note_last(file, log.highest_cursor(real, file))
            _note(real, numbers)
            line_files.replace_line_file(
                real, log.PATH, b"".join(line + b"\n" for line in staying), log.ACTOR
            )
    return len(going)


def _note(real: Path, numbers: list[int]) -> None:
    """Note the removed entries; call it under the workspace's lock."""
    # They are removed even when this cannot be noted.
    row = {"entries": numbers, "at": ledgers.now(), "reason": "conversation deleted"}
    with (
        contextlib.suppress(WorkspaceError),
        line_files.open_growing(real, _NOTED, log.ACTOR) as file,
    ):
        data = json.dumps(row).encode() + b"\n"
        torn = file.size and file.read(file.size - 1, file.size) != b"\n"
        file.add(b"\n" + data if torn else data)
