"""Files that instruct a model, and standing consents to change them, in
``memory/.consents.jsonl``.

With a consent the assistant may change such a file by itself; without one, the person is asked
each time (``memory.write_rules``). An unreadable line may have withdrawn any consent, so no
earlier one counts. SOUL.md is not among the files, though it says how Jenny speaks: it is a memory
file, which chats and Dream write like the others.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import names, paths
from jenny.workspace.errors import WriteRefused
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.write_rules import Actor
from memory import files, ledgers


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A kind of such files.

    *pattern* is its path, where ``*`` stands for one folder; *why* says what a change of it does.
    *only_always*: it instructs only with ``always: true``.
    """

    pattern: str
    why: str
    only_always: bool = False


INSTRUCTION_FILES = (
    InstructionFile(files.INSTRUCTIONS, "changes how Jenny works"),
    InstructionFile(files.GUIDE, "changes how Jenny works"),
    InstructionFile(
        "wikis/*/AGENTS.md",
        "changes how Jenny works in that project, and its summary stands in every conversation",
    ),
    InstructionFile(
        f"{files.SKILLS}/*/{files.SKILL_FILE}",
        "is a skill that is read in every conversation",
        only_always=True,
    ),
)


def instruction_at_path(path: str) -> InstructionFile | None:
    """Return the row of a path in any spelling that some disk takes for the same; ``None`` when a
    file there instructs nobody."""
    parts = [names.disguised(part) for part in path.split("/")]
    return next((row for row in INSTRUCTION_FILES if _fits(row, parts)), None)


def instruction_in_file(root: Path, path: str) -> InstructionFile | None:
    """Return the row of the file at a resolved path, also when a prompt reads it through a link."""
    if (found := instruction_at_path(path)) is not None:
        return found
    target = os.path.realpath(root / path)
    for row in INSTRUCTION_FILES:
        for named in _behind_links(root, row.pattern):
            if os.path.realpath(named) == target:
                return row
    return None


def _fits(row: InstructionFile, parts: list[str]) -> bool:
    pattern = row.pattern.split("/")
    return len(parts) == len(pattern) and all(
        wanted in ("*", part) or names.disguised(wanted) == part
        for wanted, part in zip(pattern, parts, strict=True)
    )


def _behind_links(root: Path, pattern: str) -> Iterator[Path]:
    """Yield the paths of the pattern that lead through a link."""
    found = [(root, False)]
    for part in pattern.split("/"):
        found = [
            (child, through or child.is_symlink())
            for folder, through in found
            for child in (_children(folder) if part == "*" else [folder / part])
        ]
    yield from (path for path, through in found if through)


def _children(folder: Path) -> list[Path]:
    try:
        return [folder / entry.name for entry in os.scandir(folder) if not entry.is_file()]
    except OSError:
        return []


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
    return instruction_at_path(path) is not None


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
