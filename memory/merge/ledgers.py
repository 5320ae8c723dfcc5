"""Names the ledgers and merges two states of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memory import approved_skills, consents, files, suppression
from memory.archive import file_format
from memory.history import archive, cursors
from memory.history.entries import FILE
from memory.merge import entries, lines, texts

_ARCHIVE = f"{file_format.FOLDER}/"
# Each row holds by its own time: a withdrawn consent or approval stays withdrawn, and what was
# forgotten stays forgotten.
_LINES = frozenset({suppression.PATH, approved_skills.PATH, consents.PATH})
_NUMBERS = frozenset({cursors.COUNTER, files.CURSOR})


@dataclass(frozen=True)
class Merged:
    """Two merged states.

    ``files`` are contents that differ from the current ones. ``reoffer`` are entries that Dream
    has read and whose facts are not in the restored files. ``notes`` are sentences for the
    person.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    reoffer: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def is_ledger(path: str) -> bool:
    """True when the file is merged from both sides instead of being replaced."""
    return is_history(path) or path in _LINES or path.startswith(_ARCHIVE)


def is_history(path: str) -> bool:
    """True for the files of the history: entries, segments, and the numbers beside them."""
    return path in _NUMBERS or path == FILE or archive.is_segment(path)


def merge_ledgers(
    current: Mapping[str, bytes], other: Mapping[str, bytes], *, is_same: bool = True
) -> Merged:
    """Merge the *other* state's ledgers (contents by path) with the *current* ones.

    All files of the history (``is_history``) must be given; of other ledgers those that differ
    are enough. *is_same*: both are states of one workspace, so that a number means one entry.
    Otherwise an entry whose number is taken gets a new one.
    """
    found: dict[str, bytes] = {}
    history = entries.merge(
        {path: data for path, data in current.items() if is_history(path)},
        {path: data for path, data in other.items() if is_history(path)},
        is_same=is_same,
        removed=lines.removed_entries(current.get(suppression.PATH, b"")),
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
