"""The two numbers beside the history: the last cursor given out, and Dream's position.

``memory/.cursor`` is derived and never overrides the file. ``memory/.dream_cursor`` cannot be
derived: missing or blank it is 0; anything but a number is an error, since 0 means to read
everything again.
"""

import re
from pathlib import Path

from jenny.workspace import line_files, paths
from jenny.workspace.errors import PathRefused
from jenny.workspace.files import open_workspace
from jenny.workspace.line_files import GrowingLines
from jenny.workspace.write_rules import Actor
from memory import files
from memory.errors import CursorBroken
from memory.history.entries import MAX_CURSOR

COUNTER = "memory/.cursor"
_NUMBER = re.compile(rb"\s*([0-9]{1,19})\s*")
_BYTES = 100
_CURE = (
    "Memory updates wait; chats and new notes go on. Repair it with "
    "`manage.py check_workspace --repair`, or write the number of the last note that Dream read."
)


def counter(root: Path, history: GrowingLines | None = None) -> int | None:
    """Return the last cursor given out by ``.cursor``; ``None`` when it is unusable.

    *history* is the open history file, which saves a look-up of its folder.
    """
    try:
        return number(_content(root, COUNTER, history))
    except PathRefused:
        return None


def dream_cursor(root: Path, history: GrowingLines | None = None) -> int:
    """Return the last entry that Dream has read; 0 for none. *history* as in ``counter``.

    Raises:
        CursorBroken: the file holds something else than a number.
    """
    try:
        data = _content(root, files.CURSOR, history)
    except PathRefused as error:
        raise CursorBroken(f"{error.message} {_CURE}") from error
    if not data.strip():
        return 0
    value = number(data)
    if value is None:
        shown = ascii(data[:20].decode("utf-8", "replace"))
        raise CursorBroken(f"{files.CURSOR} holds {shown} and not a number. {_CURE}")
    return value


def set_dream_cursor(root: Path, value: int, actor: Actor) -> None:
    """Store that Dream has read up to *value*. The write is logged like that of any tracked file.

    Raises:
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    if not 0 <= value <= MAX_CURSOR:
        raise ValueError(value)
    open_workspace(root, actor).write(files.CURSOR, b"%d\n" % value)


def _content(root: Path, path: str, history: GrowingLines | None) -> bytes:
    if history is not None:
        return history.beside(path.rpartition("/")[2], _BYTES) or b""
    with line_files.open_lines(root, path) as file:
        if file is None:
            paths.real_root(root)  # it says so when there is no workspace at all
            return b""
        return file.read(0, min(file.size, _BYTES))


def number(data: bytes) -> int | None:
    """Parse a number with optional white space; ``None`` for anything else."""
    match = _NUMBER.fullmatch(data)
    value = int(match[1]) if match else MAX_CURSOR + 1
    return value if value <= MAX_CURSOR else None
