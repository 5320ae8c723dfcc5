"""What the assistant may change by itself though it reaches every prompt: the person's standing
consent, file by file, kept in ``memory/.consents.jsonl``.

Without one, such a change is put before the person each time (``memory.protected``).
"""

from pathlib import Path
from typing import Any

from jenny.workspace import names, paths
from jenny.workspace.errors import WriteRefused
from jenny.workspace.rules import Actor
from jenny.workspace.stamped import StampedFiles
from memory import files, ledger

PATH = "memory/.consents.jsonl"
# What a write is named by that the person allowed in the page.
RUN = "consent:"
# Files that every workspace has or may have; beside them, skills that are always read.
FILES = (files.INSTRUCTIONS, files.GUIDE)


def given(root: Path) -> frozenset[str]:
    """The files for which there is consent."""
    return _derive(root) if ledger.is_odd(root, PATH) else _GIVEN.read(root)


def give(root: Path, path: str, actor: Actor) -> bool:
    """Let the assistant change that file by itself. ``False``: it might already.

    Raises:
        WriteRefused: no consent is needed for that file.
        WriteFailed, LockTimeout: nothing was noted.
    """
    if not may_be_given(path):
        raise WriteRefused(f"{names.shown(path)} needs no consent. Nothing was changed.", "consent")
    return path not in given(root) and _note(root, path, actor, {"given": True})


def withdraw(root: Path, path: str, actor: Actor) -> bool:
    """From now on the person is asked again each time. ``False``: they were.

    Raises:
        WriteFailed, LockTimeout: nothing was noted.
    """
    return path in given(root) and _note(root, path, actor, {"withdrawn": True})


def may_be_given(path: str) -> bool:
    """Whether consent for that file means anything."""
    return path in FILES or files.skill_of(path) is not None


def _note(root: Path, path: str, actor: Actor, what: dict[str, Any]) -> bool:
    real = paths.real_root(root)
    row = {"path": path, **what, "at": ledger.now(), "actor": actor.kind}
    ledger.land(real, [ledger.added(real, PATH, [row], None)])
    return True


def _derive(root: Path) -> frozenset[str]:
    found: set[str] = set()
    for row in ledger.read(paths.real_root(root), PATH).rows:
        path = row.get("path")
        if not isinstance(path, str):
            continue
        if row.get("withdrawn") is True:
            found.discard(path)
        elif row.get("given") is True:
            found.add(path)
    return frozenset(found)


_GIVEN: StampedFiles[frozenset[str]] = StampedFiles((PATH,), _derive)
