"""What a person asks to be taken out of the history, together with the conversation it is about.

Only what Dream has not read: what it has read is in the memory files, or was found not worth it.
It moves nowhere; its numbers are never given out again.
"""

from pathlib import Path

from jenny.workspace import linefile, locks
from memory.history import cursors, log, reading, tail
from memory.history.entries import Entry, parse


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
    with log.writing(root, timeout=timeout) as (real, file):
        read_to = cursors.dream_cursor(real)
        tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in tail.lines_back(file)][::-1]
        staying: list[bytes] = []
        going: list[bytes] = []
        for line in lines:
            entry = parse(line)
            is_going = (
                entry is not None
                and entry.cursor > read_to
                and entry.conversation == conversation
                and (only is None or entry.cursor in only)
            )
            (going if is_going else staying).append(line)
        if going:
            # First, so that no number is given out twice when the last ones go.
            log.note_last(file, log.highest(real, file))
            linefile.put(real, log.PATH, b"".join(line + b"\n" for line in staying), log.ACTOR)
    return len(going)
