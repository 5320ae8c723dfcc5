"""Unreadable lines of ledgers: what counts in their place, and their repair.

A repair moves damaged lines to a file with ``.damaged`` behind the ledger's name and writes down
what counted in their place, so that the repair changes no decision.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import paths, transactions
from jenny.workspace.check import Finding
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.write_rules import Change
from memory import (
    approved_skills,
    consents,
    disabled_skills,
    files,
    ledgers,
    pins,
    skills,
    suppression,
)

SUFFIX = ".damaged"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A ledger. *effect* says what counts while it is damaged; *rows* returns the rows that say
    the same for the ledger without the damaged lines."""

    path: str
    effect: str
    rows: Callable[[Path, ledgers.Ledger], list[dict[str, Any]]]


def check_ledgers(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Yield ledgers of people's decisions that are wholly or partly unreadable."""
    real = paths.real_root(root)
    for kind in _KINDS:
        found = ledgers.read_ledger(real, kind.path)
        if found.problem:
            cure = "Put the file right, or move it away to begin a new one."
            yield Finding(kind.path, f"{found.problem} {kind.effect}", cure)
        elif found.skipped:
            message = _describe(kind, found)
            is_repaired = repair and _repair(real, kind)
            cure = f"check_workspace --repair sets it aside in {kind.path}{SUFFIX}."
            if is_repaired:
                cure = f"What cannot be read was set aside in {kind.path}{SUFFIX}."
            yield Finding(kind.path, message, cure, repaired=is_repaired)


def sentences(root: Path) -> tuple[str, ...]:
    """Return a sentence for each ledger that is wholly or partly unreadable."""
    if any(ledgers.is_odd(root, kind.path) for kind in _KINDS):
        return _derive(root)
    return _SENTENCES.read(root)


def _derive(root: Path) -> tuple[str, ...]:
    real = paths.real_root(root)
    found = ((kind, ledgers.read_ledger(real, kind.path)) for kind in _KINDS)
    return tuple(
        f"{one.problem} {kind.effect}" if one.problem else _describe(kind, one)
        for kind, one in found
        if one.problem or one.skipped
    )


def _describe(kind: _Kind, found: ledgers.Ledger) -> str:
    if len(found.skipped) == 1:
        return f"Line {found.skipped[0]} of {kind.path} cannot be read. {kind.effect}"
    count, first = len(found.skipped), found.skipped[0]
    return f"{count:,} lines of {kind.path} cannot be read, the first is {first}. {kind.effect}"


def _repair(root: Path, kind: _Kind) -> bool:
    """Set the damaged lines aside. ``False``: nothing was changed."""
    aside = f"{kind.path}{SUFFIX}"
    try:
        with transactions.lock_workspace(root):
            data = ledgers.content(root, kind.path) or b""
            before = ledgers.content(root, aside)
            damaged = ledgers.parsed(data).damaged
            kept = b"".join(line + b"\n" for line in data.split(b"\n") if line not in damaged)
            kept = kept.removesuffix(b"\n")
            rows = kind.rows(root, ledgers.parsed(kept))
            stamp = {"at": ledgers.now(), "actor": "command"}
            change = Change(kind.path, data, kept, ledgers.ACTOR, root)
            change = ledgers.added(root, kind.path, [row | stamp for row in rows], change)
            lines = b"".join(line + b"\n" for line in damaged)
            added = Change(aside, before, (before or b"") + lines, ledgers.ACTOR, root)
            ledgers.land(root, [added, change])
    except (WorkspaceError, OSError):
        return False
    return True


def _withdrawn_consents(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    there = consents.given(root)
    return [{"path": path, "withdrawn": True} for path in sorted(consents.given_by(left) - there)]


def _withdrawn_approvals(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    lost = approved_skills.approved_by(left) - approved_skills.approved(root)
    return [{"path": path, "withdrawn": True} for path in sorted({path for path, _ in lost})]


def _switched_off(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    off, without = disabled_skills.names_off(root), disabled_skills.off_by(left)
    names = {skill.name for skill in skills.all_skills(root)} | off.names
    lost = sorted(name for name in names if name in off and name not in without)
    return [{"skill": name, "off": True} for name in lost]


def _pinned(root: Path, left: ledgers.Ledger) -> list[dict[str, Any]]:
    now, without = pins.state(root), pins.state_by(left)
    paths_ = {path for path, rows in now.by_path.items() if any(row.is_whole for row in rows)}
    if now.problem:
        paths_ |= {file.path for file in files.MEMORY_FILES}
    known = {path for path, rows in without.by_path.items() if any(row.is_whole for row in rows)}
    return [{"path": path, "text": ""} for path in sorted(paths_ - known)]


def _nothing(_root: Path, _left: ledgers.Ledger) -> list[dict[str, Any]]:
    return []


_KINDS = (
    _Kind(
        consents.PATH,
        "No consent that was given before it holds; the person is asked each time.",
        _withdrawn_consents,
    ),
    _Kind(
        approved_skills.PATH,
        "No skill of Dream's that was agreed to before it is read in every conversation.",
        _withdrawn_approvals,
    ),
    _Kind(
        disabled_skills.PATH,
        "The skill that it names is off; where it names none, all skills are that were not "
        "switched on since.",
        _switched_off,
    ),
    _Kind(
        pins.PATH,
        "The file that it names counts as pinned; where it names none, Dream writes nothing.",
        _pinned,
    ),
    _Kind(
        suppression.PATH,
        "What it says of something forgotten is not known, so that may be learned again.",
        _nothing,
    ),
)
_SENTENCES: StampedFiles[tuple[str, ...]] = StampedFiles(
    tuple(kind.path for kind in _KINDS), _derive
)
