"""What is forgotten does not come back when a version is undone or a snapshot restored."""

from pathlib import Path

from jenny.workspace.errors import UndoRefused
from jenny.workspace.versions.sieve import LeftOut, Sifted
from memory import files
from memory.forgotten import stones
from memory.forgotten.leaving_out import filtered
from memory.forgotten.stones import State

_MARK = b"\xef\xbb\xbf"


def sift(root: Path, path: str, data: bytes) -> Sifted:
    """A memory file's or a skill's content without what is forgotten; another file's as it is.

    What stays, stays byte for byte, also where it is no UTF-8.

    Raises:
        UndoRefused: what is forgotten cannot be read now.
    """
    if files.memory_file(root, path) is None and files.skill_of(path) is None:
        return Sifted(data)
    return sifted(data, stones.state(root))


def sifted(data: bytes, state: State) -> Sifted:
    """The content without what is forgotten by *state*.

    Raises:
        UndoRefused: what is forgotten cannot be read now.
    """
    if state.problem:
        message = f"{state.problem} Until it can be, nothing is undone. Nothing was changed."
        raise UndoRefused(message)
    mark = _MARK if data.startswith(_MARK) else b""
    found = filtered(state, data.removeprefix(mark).decode("utf-8", "surrogateescape"))
    if not found.left_out:
        return Sifted(data)
    return Sifted(
        mark + found.text.encode("utf-8", "surrogateescape"),
        tuple(LeftOut(text, stone.id) for text, stone in found.left_out),
    )
