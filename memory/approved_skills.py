"""Skills that the user approved for every conversation, in ``memory/.approved.jsonl``.

Only Dream's skills need approval: one with ``always: true`` that Dream wrote or changed reaches
no prompt in full before the user approved this very text. An unreadable line may have withdrawn
an approval, so no earlier one counts.
"""

from pathlib import Path
from typing import Any

from jenny.workspace import paths
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import ledgers

PATH = "memory/.approved.jsonl"

type Yes = tuple[str, str]
"""A skill's file and its approved version."""


def approved(root: Path) -> frozenset[Yes]:
    return _YES.read(root)


def approve(root: Path, path: str, version: str, actor: Actor) -> None:
    """Record the approval of that version of a skill (``FileVersion.version``).

    Raises:
        FileMissing: there is no such skill.
        WriteFailed, LockTimeout: nothing was recorded.
    """
    _note(root, path, actor, {"version": version})


def withdraw(root: Path, path: str, actor: Actor) -> None:
    """Withdraw every approval of a skill.

    Raises:
        FileMissing, WriteFailed, LockTimeout: nothing was recorded.
    """
    _note(root, path, actor, {"withdrawn": True})


def _note(root: Path, path: str, actor: Actor, what: dict[str, Any]) -> None:
    workspace = open_workspace(root, actor)
    where = workspace.relative(path)
    workspace.resolve(where, must_exist=True)
    row = {"path": where, **what, "at": ledgers.now(), "actor": actor.kind}
    ledgers.land(workspace.root, [ledgers.added(workspace.root, PATH, [row], None)])


def approved_by(rows: ledgers.Ledger) -> frozenset[Yes]:
    """Return the approvals that hold by these rows."""
    found: set[Yes] = set()
    for row, is_sure in rows.checked_rows():
        path, version = row.get("path"), row.get("version")
        if row.get("withdrawn") is True:
            found = {yes for yes in found if yes[0] != path}
        elif isinstance(path, str) and isinstance(version, str) and is_sure:
            found.add((path, version))
    return frozenset(found)


def _derive(root: Path) -> frozenset[Yes]:
    return approved_by(ledgers.read_ledger(paths.real_root(root), PATH))


_YES: StampedFiles[frozenset[Yes]] = StampedFiles((PATH,), _derive)
