"""Filters forgotten lines out of restored versions and snapshots."""

from pathlib import Path

from jenny.workspace.errors import UndoRefused
from jenny.workspace.versions.undo import FilteredLines, LeftOut
from memory import files
from memory.facts import stated
from memory.suppression import tombstones
from memory.suppression.hide import filtered
from memory.suppression.tombstones import State

_MARK = b"\xef\xbb\xbf"


def lifted(state: State, data: bytes | None) -> list[str]:
    """Return the ids of replaced texts that the restored content has."""
    replaced = [row for row in state.active if row.is_replaced]
    if not replaced:
        return []
    back = State(tuple(replaced))
    return [stone.id for fact in stated(data) if (stone := back.match(fact)) is not None]


def filter_forgotten(root: Path, path: str, data: bytes) -> FilteredLines:
    """Return a memory file's or skill's content without forgotten lines; other files unchanged.

    All other bytes stay, also invalid UTF-8.

    Raises:
        UndoRefused: the tombstones cannot be read now.
    """
    if files.memory_file(root, path) is None and files.skill_of(path) is None:
        return FilteredLines(data)
    return sifted(data, tombstones.state(root))


def sifted(data: bytes, state: State) -> FilteredLines:
    """Return the content without forgotten lines; lines that a person only replaced come back.

    Raises:
        UndoRefused: the tombstones cannot be read now.
    """
    if state.problem:
        message = f"{state.problem} Until it can be, nothing is undone. Nothing was changed."
        raise UndoRefused(message)
    mark = _MARK if data.startswith(_MARK) else b""
    found = filtered(state.for_restores, data.removeprefix(mark).decode("utf-8", "surrogateescape"))
    if not found.left_out:
        return FilteredLines(data)
    return FilteredLines(
        mark + found.text.encode("utf-8", "surrogateescape"),
        tuple(LeftOut(text, stone.id) for text, stone in found.left_out),
    )
