"""The two numbers beside the history: the last cursor given out, and how far Dream has read.

``memory/.cursor`` can be derived and is never believed against the file. ``memory/.dream_cursor``
cannot: absent or blank it is 0, anything else than a number is an error, since 0 means to read
everything once more.
"""

import re
from pathlib import Path

from jenny.workspace import linefile, paths
from jenny.workspace.errors import PathRefused
from jenny.workspace.files import open_workspace
from jenny.workspace.linefile import GrowingLines
from jenny.workspace.rules import Actor
from memory import files
from memory.errors import CursorBroken
from memory.history.entries import MAX_CURSOR

COUNTER = "memory/.cursor"
_NUMBER = re.compile(rb"\s*([0-9]{1,19})\s*")
_BYTES = 100
_CURE = (
    "Dream and the moving of old entries wait; chats and new entries go on. Repair it with "
    "`manage.py check_workspace --repair`, or write the number of the last entry that Dream read."
)


def counter(root: Path, history: GrowingLines | None = None) -> int | None:
    """The last cursor given out, as ``.cursor`` says; ``None`` when it says nothing of use.

    *history*: the history file, where it is open: its folder need not be found again.
    """
    try:
        return number(_content(root, COUNTER, history))
    except PathRefused:
        return None


def dream_cursor(root: Path, history: GrowingLines | None = None) -> int:
    """Up to which entry Dream has read; 0: nothing yet. *history*: as above.

    Raises:
        CursorBroken: the file holds something else than a number.
    """
    try:
        data = _content(root, files.CURSOR, history)
    except PathRefused as error:
        raise CursorBroken(f"{error.sentence} {_CURE}") from error
    if not data.strip():
        return 0
    value = number(data)
    if value is None:
        shown = ascii(data[:20].decode("utf-8", "replace"))
        raise CursorBroken(f"{files.CURSOR} holds {shown} and not a number. {_CURE}")
    return value


def set_dream_cursor(root: Path, value: int, actor: Actor) -> None:
    """Say that Dream has read up to *value*. The write is logged like that of any tracked file.

    Raises:
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    if not 0 <= value <= MAX_CURSOR:
        raise ValueError(value)
    open_workspace(root, actor).write(files.CURSOR, b"%d\n" % value)


def _content(root: Path, path: str, history: GrowingLines | None) -> bytes:
    if history is not None:
        return history.beside(path.rpartition("/")[2], _BYTES) or b""
    with linefile.open_lines(root, path) as file:
        if file is None:
            paths.real_root(root)  # it says so when there is no workspace at all
            return b""
        return file.read(0, min(file.size, _BYTES))


def number(data: bytes) -> int | None:
    """The number that the bytes are, with white space around; ``None`` for anything else."""
    match = _NUMBER.fullmatch(data)
    value = int(match[1]) if match else MAX_CURSOR + 1
    return value if value <= MAX_CURSOR else None
