"""Skills that the user agreed to have in every conversation, kept in ``memory/.approved.jsonl``.

Asked about is only what Dream made: a skill with ``always: true`` that it wrote or changed reaches
no prompt in full before the user said yes to just that text.
"""

from pathlib import Path
from typing import Any

from jenny.workspace import paths
from jenny.workspace.files import open_workspace
from jenny.workspace.rules import Actor
from jenny.workspace.stamped import StampedFiles
from memory import ledger

PATH = "memory/.approved.jsonl"

type Yes = tuple[str, str]
"""A skill's file and the version of it that was agreed to."""


def approved(root: Path) -> frozenset[Yes]:
    """Every yes that holds."""
    return _YES.read(root)


def approve(root: Path, path: str, version: str, actor: Actor) -> None:
    """Note the user's yes to that version of a skill (``FileVersion.version``).

    Raises:
        FileMissing: there is no such skill.
        WriteFailed, LockTimeout: nothing was noted.
    """
    _note(root, path, actor, {"version": version})


def withdraw(root: Path, path: str, actor: Actor) -> None:
    """Take back whatever was agreed to of a skill.

    Raises:
        FileMissing, WriteFailed, LockTimeout: nothing was noted.
    """
    _note(root, path, actor, {"withdrawn": True})


def _note(root: Path, path: str, actor: Actor, what: dict[str, Any]) -> None:
    workspace = open_workspace(root, actor)
    where = workspace.relative(path)
    workspace.resolve(where, must_exist=True)
    row = {"path": where, **what, "at": ledger.now(), "actor": actor.kind}
    ledger.land(workspace.root, [ledger.added(workspace.root, PATH, [row], None)])


def _derive(root: Path) -> frozenset[Yes]:
    found: set[Yes] = set()
    for row in ledger.read(paths.real_root(root), PATH).rows:
        path, version = row.get("path"), row.get("version")
        if row.get("withdrawn") is True:
            found = {yes for yes in found if yes[0] != path}
        elif isinstance(path, str) and isinstance(version, str):
            found.add((path, version))
    return frozenset(found)


_YES: StampedFiles[frozenset[Yes]] = StampedFiles((PATH,), _derive)
