"""Edits made outside: what a person took out of a memory file with an editor of their own is
archived as far as a version still has it, and stays forgotten like what they take out here."""

from collections.abc import Sequence

from jenny.workspace.rules import Change
from memory import forgotten, ledger
from memory.archive import keep, store


def note_outside(changes: Sequence[Change]) -> None:
    """Keep what left, and note what is forgotten (and what was written again). It may be told
    twice of the same edits; the second time nothing is added.

    Raises:
        WriteFailed: the disk refused.
    """
    root = changes[0].workspace
    leaving = [
        item
        for item in keep.leaving(changes)
        if not any(
            row.text == item.text and row.events[-1:] == item.events
            for row in store.find(root, keep.id_of(item))
        )
    ]
    found = [*keep.archived(root, leaving), *forgotten.remember_removals(changes)]
    if found:
        ledger.land(root, found)
