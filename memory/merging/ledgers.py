"""Which files are ledgers, and putting two states of them together."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memory import approved, consents, files, forgotten
from memory.archive import form
from memory.history import archive, cursors
from memory.history.entries import FILE
from memory.merging import entries, lines, texts

_ARCHIVE = f"{form.FOLDER}/"
# Ledgers of lines that each hold by their own time: a consent or a yes that was taken back stays
# so, and what was forgotten stays forgotten.
_LINES = frozenset({forgotten.PATH, approved.PATH, consents.PATH})
_NUMBERS = frozenset({cursors.COUNTER, files.CURSOR})


@dataclass(frozen=True)
class Merged:
    """Two states put together.

    ``files``: the contents that differ from the current ones. ``reoffer``: entries that Dream's
    place is past, and whose facts are not in the files that come: it is to be shown them again.
    ``notes``: sentences about what a person should know.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    reoffer: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def is_ledger(path: str) -> bool:
    """Whether the file at *path* is put together from both sides instead of being replaced."""
    return is_history(path) or path in _LINES or path.startswith(_ARCHIVE)


def is_history(path: str) -> bool:
    """Whether it belongs to the history: its entries, their segments, the numbers beside them."""
    return path in _NUMBERS or path == FILE or archive.is_segment(path)


def merge_ledgers(
    current: Mapping[str, bytes], other: Mapping[str, bytes], *, is_same: bool = True
) -> Merged:
    """Put the *other* state's ledgers (contents by path) and the *current* ones together.

    Of the history (``is_history``) all files must be given; of other ledgers those that differ
    are enough. *is_same*: both are states of one workspace, so that a number means one entry.
    Else an entry whose number is taken here gets a new one.
    """
    found: dict[str, bytes] = {}
    history = entries.merge(
        {path: data for path, data in current.items() if is_history(path)},
        {path: data for path, data in other.items() if is_history(path)},
        is_same=is_same,
        removed=lines.removed_entries(current.get(forgotten.PATH, b"")),
    )
    found |= history.files
    for path, data in other.items():
        if not is_ledger(path) or is_history(path):
            continue
        mine = current.get(path)
        if path in _LINES:
            found[path] = lines.union(mine or b"", data)
        elif mine is None:
            found[path] = data
        else:
            found[path] = texts.merged(path.removeprefix(_ARCHIVE), mine, data)
    changed = {path: data for path, data in found.items() if current.get(path) != data}
    return Merged(changed, history.reoffer, history.notes)
