"""Standing consents: files that reach every prompt and that the assistant may change by itself,
in ``memory/.consents.jsonl``.

Without a consent, the person is asked each time (``memory.write_guards``). An unreadable line may
have withdrawn any consent, so no earlier one counts.
"""

from pathlib import Path
from typing import Any

from jenny.workspace import names, paths
from jenny.workspace.errors import WriteRefused
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.write_rules import Actor
from memory import files, instructions, ledgers

PATH = "memory/.consents.jsonl"
# Run name of a write that the person allowed on the page.
RUN = "consent:"
# Files that every workspace may have; always-on skills come on top.
FILES = (files.INSTRUCTIONS, files.GUIDE)


def given(root: Path) -> frozenset[str]:
    return _derive(root) if ledgers.is_odd(root, PATH) else _GIVEN.read(root)


def give(root: Path, path: str, actor: Actor) -> bool:
    """Let the assistant change that file by itself. ``False``: it could already.

    Raises:
        WriteRefused: the file needs no consent.
        WriteFailed, LockTimeout: nothing was recorded.
    """
    if not may_be_given(path):
        raise WriteRefused(f"{names.shown(path)} needs no consent. Nothing was changed.", "consent")
    return path not in given(root) and _note(root, path, actor, {"given": True})


def withdraw(root: Path, path: str, actor: Actor) -> bool:
    """Withdraw the consent. ``False``: there was none.

    Raises:
        WriteFailed, LockTimeout: nothing was recorded.
    """
    return path in given(root) and _note(root, path, actor, {"withdrawn": True})


def may_be_given(path: str) -> bool:
    return instructions.of_path(path) is not None


def _note(root: Path, path: str, actor: Actor, what: dict[str, Any]) -> bool:
    real = paths.real_root(root)
    row = {"path": path, **what, "at": ledgers.now(), "actor": actor.kind}
    ledgers.land(real, [ledgers.added(real, PATH, [row], None)])
    return True


def given_by(rows: ledgers.Ledger) -> frozenset[str]:
    """Return the files for which there is consent by these rows."""
    found: set[str] = set()
    for row, is_sure in rows.checked_rows():
        path = row.get("path")
        if not isinstance(path, str):
            continue
        if row.get("withdrawn") is True:
            found.discard(path)
        elif row.get("given") is True and is_sure:
            found.add(path)
    return frozenset(found)


def _derive(root: Path) -> frozenset[str]:
    return given_by(ledgers.read_ledger(paths.real_root(root), PATH))


_GIVEN: StampedFiles[frozenset[str]] = StampedFiles((PATH,), _derive)
