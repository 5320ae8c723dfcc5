"""What a person asks to be taken out of the history, together with the conversation it is about.

Only what Dream has not read: what it has read is in the memory files, or was found not worth it.
It moves nowhere; its numbers are never given out again. That they were taken out is noted beside
what was forgotten, so that no restore brings them back.
"""

import contextlib
import json
from pathlib import Path

from jenny.workspace import acts, linefile, locks, paths
from jenny.workspace.errors import WorkspaceError
from memory import ledger
from memory.history import cursors, log, reading, tail
from memory.history.entries import Entry, parse

# ``memory.forgotten`` reads it, and knows such lines for none of its own.
_NOTED = "memory/.forgotten.jsonl"


def waiting(root: Path, conversation: str) -> tuple[Entry, ...]:
    """The entries about that conversation that Dream has not read, oldest first.

    Raises:
        CursorBroken, PathRefused.
    """
    found = reading.pending(root).entries
    return tuple(entry for entry in found if entry.conversation == conversation)


def remove(
    root: Path,
    conversation: str,
    *,
    only: frozenset[int] | None = None,
    timeout: float = locks.TIMEOUT_SECONDS,
) -> int:
    """Take the entries about that conversation that Dream has not read out of the history; how
    many they were. *only*: those of these numbers.

    Raises:
        CursorBroken: nobody knows what Dream has read; nothing was removed.
        LockTimeout, WriteFailed, PathRefused: nothing was removed.
    """
    with (
        acts.locked(paths.real_root(root), timeout=timeout),
        log.writing(root, timeout=timeout) as (real, file),
    ):
        read_to = cursors.dream_cursor(real)
        tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in tail.lines_back(file)][::-1]
        staying: list[bytes] = []
        going: list[bytes] = []
        numbers: list[int] = []
        for line in lines:
            entry = parse(line)
            is_going = (
                entry is not None
                and entry.cursor > read_to
                and entry.conversation == conversation
                and (only is None or entry.cursor in only)
            )
            (going if is_going else staying).append(line)
            numbers += [entry.cursor] if entry is not None and is_going else []
        if going:
            # First, so that no number is given out twice when the last ones go.
            log.note_last(file, log.highest(real, file))
            _note(real, numbers)
            linefile.put(real, log.PATH, b"".join(line + b"\n" for line in staying), log.ACTOR)
    return len(going)


def _note(real: Path, numbers: list[int]) -> None:
    """Note which entries are taken out; the workspace's lock is held."""
    # Where it cannot be noted they are taken out all the same.
    row = {"entries": numbers, "at": ledger.now(), "reason": "conversation deleted"}
    with (
        contextlib.suppress(WorkspaceError),
        linefile.open_growing(real, _NOTED, log.ACTOR) as file,
    ):
        data = json.dumps(row).encode() + b"\n"
        torn = file.size and file.read(file.size - 1, file.size) != b"\n"
        file.add(b"\n" + data if torn else data)
