"""What is forgotten does not come back when a version is undone."""

from pathlib import Path

from jenny.workspace.errors import UndoRefused
from jenny.workspace.versions.sieve import LeftOut, Sifted
from memory import files
from memory.forgotten import stones
from memory.forgotten.leaving_out import without

_MARK = b"\xef\xbb\xbf"


def sift(root: Path, path: str, data: bytes) -> Sifted:
    """A memory file's or a skill's content without what is forgotten; another file's as it is.

    What stays, stays byte for byte, also where it is no UTF-8.

    Raises:
        UndoRefused: what is forgotten cannot be read now.
    """
    if files.memory_file(root, path) is None and files.skill_of(path) is None:
        return Sifted(data)
    if problem := stones.state(root).problem:
        message = f"{problem} Until it can be, nothing is undone. Nothing was changed."
        raise UndoRefused(message)
    mark = _MARK if data.startswith(_MARK) else b""
    found = without(root, data.removeprefix(mark).decode("utf-8", "surrogateescape"))
    if not found.left_out:
        return Sifted(data)
    return Sifted(
        mark + found.text.encode("utf-8", "surrogateescape"),
        tuple(LeftOut(text, stone.id) for text, stone in found.left_out),
    )
