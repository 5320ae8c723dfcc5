"""Pins: lines that unattended writers leave as they are. Kept in ``memory/.pins.jsonl``.

A pin names a line by its text, so that it stays with the line wherever in the file that goes, and
also when a person rewords it a little. A pin on line 0 is on the whole file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jenny.workspace import acts, names, paths
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import open_workspace
from jenny.workspace.rules import Actor, Change
from jenny.workspace.stamped import StampedFiles
from memory import files, ledger
from memory.errors import NotPinned
from memory.facts import Fact, decoded, normal, stated
from memory.near import Index

PATH = "memory/.pins.jsonl"
UNATTENDED = frozenset({"dream", "review"})
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned line. ``line``: where it stands now, 0 for a whole file, ``None``: nowhere."""

    path: str
    text: str
    at: str = ""
    heading: str = ""
    line: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the whole file is pinned."""
        return not self.text


@dataclass(frozen=True)
class State:
    """The pins that hold, by file."""

    by_path: dict[str, tuple[Pin, ...]]
    skipped: tuple[int, ...] = ()
    problem: str = ""


def state(root: Path) -> State:
    """The pins of the workspace at *root*, as their file says it now."""
    return _derive(root) if ledger.is_odd(root, PATH) else _STATES.read(root)


def pins(root: Path, path: str = "") -> tuple[Pin, ...]:
    """Every pin, or those of one file, with the line where each stands now."""
    real = paths.real_root(root)
    found = []
    for where, rows in state(real).by_path.items():
        if path and where != path:
            continue
        held = stated(_data(real, where))
        for row, fact in zip(rows, _held(rows, held), strict=True):
            line = 0 if row.is_whole else fact.first if fact else None
            found.append(replace(row, line=line))
    return tuple(sorted(found, key=lambda row: (row.path, row.line or 0, row.text)))


def pin(root: Path, path: str, line: int, actor: Actor) -> Pin:
    """Pin the fact on a *line* (from 1) of a memory file or skill; 0 pins the whole file.

    Raises:
        NotPinned: the file is none of these, or nothing stands in that line.
        WriteFailed, LockTimeout: nothing was changed.
    """
    real, where, fact = _meant(root, path, line)
    text = fact.text if fact else ""
    with acts.locked(real):
        for row in pins(real, where):
            if row.text == text or (fact and row.line == fact.first):
                return row
        entry: dict[str, Any] = {"path": where, "text": text, "at": ledger.now()}
        entry |= {"actor": actor.kind} | ({"heading": fact.heading} if fact else {})
        ledger.land(real, [ledger.added(real, PATH, [entry], None)])
    return Pin(where, text, entry["at"], fact.heading if fact else "", fact.first if fact else 0)


def unpin(root: Path, path: str, line: int, actor: Actor) -> Pin:
    """Take the pin off a *line*, off the whole file (0).

    Raises:
        NotPinned: there is no pin.
        WriteFailed, LockTimeout: it stays.
    """
    real, where, fact = _meant(root, path, line)
    with acts.locked(real):
        sought = fact.first if fact else 0
        found = next((row for row in pins(real, where) if row.line == sought), None)
        if found is None:
            raise NotPinned(f"Line {line} of {names.shown(where)} has no pin.")
        row: dict[str, Any] = {"path": where, "unpinned": found.text, "at": ledger.now()}
        ledger.land(real, [ledger.added(real, PATH, [row | {"actor": actor.kind}], None)])
    return found


def guard(change: Change) -> None:
    """Refuse unattended writers what is pinned. A write rule.

    Raises:
        WriteRefused: with rule ``pinned``; the answer is final.
    """
    if change.actor.kind not in UNATTENDED or change.old is None:
        return
    now = state(change.workspace)
    if now.problem:
        message = f"{now.problem} Until it can be, nothing is written here. Nothing was written."
        raise WriteRefused(message, "pinned")
    file = files.memory_file(change.workspace, change.path)
    rows = now.by_path.get(file.path if file else change.path, ())
    if not rows:
        return
    if any(row.is_whole for row in rows):
        raise WriteRefused(_refusal(change.path, "the whole file"), "pinned")
    left = {fact.text for fact in stated(change.new)}
    for fact in _held(rows, stated(change.old)):
        if fact is not None and fact.text not in left:
            line = " ".join(fact.text.split())
            shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
            raise WriteRefused(_refusal(change.path, f"“{shown}”"), "pinned")


def _refusal(path: str, what: str) -> str:
    return (
        f"{names.shown(path)} was not written: the user pinned {what}. That is final. Leave it "
        "word for word as it is."
    )


def _held(rows: Sequence[Pin], there: list[Fact]) -> list[Fact | None]:
    """For each pin the fact that it is on: the same text, else a near one."""
    same = {normal(fact.text): fact for fact in reversed(there)}

    @cache
    def index() -> Index:
        return Index(fact.text for fact in there)

    found: list[Fact | None] = []
    for row in rows:
        fact = same.get(normal(row.text)) if row.text else None
        if fact is None and row.text and (at := index().find(row.text)) is not None:
            fact = there[at]
        found.append(fact)
    return found


def _meant(root: Path, path: str, line: int) -> tuple[Path, str, Fact | None]:
    """The workspace's real folder, the file and the fact on the line."""
    workspace = open_workspace(root, Actor("pipeline"))
    where = workspace.relative(path)
    if files.memory_file(workspace.root, where) is None and files.skill_of(where) is None:
        message = f"{names.shown(where)} is no memory file and no skill; nothing in it is pinned."
        raise NotPinned(message)
    data = workspace.read(where, limit=64_000_000).data
    if line == 0:
        return workspace.root, where, None
    found = [fact for fact in stated(data) if fact.first <= line <= fact.last]
    if not found:
        count = decoded(data).count("\n") + 1
        what = "is a heading or blank" if 0 < line <= count else f"is not there: it has {count}"
        raise NotPinned(f"Line {line} of {names.shown(where)} {what}.")
    return workspace.root, where, found[-1]


def _data(root: Path, path: str) -> bytes | None:
    try:
        return (root / path).read_bytes()
    except OSError:
        return None


def _derive(root: Path) -> State:
    found = ledger.read(paths.real_root(root), PATH)
    rows: dict[tuple[str, str], Pin] = {}
    for row in found.rows:
        path, text, gone = row.get("path"), row.get("text"), row.get("unpinned")
        if not isinstance(path, str):
            continue
        if isinstance(gone, str):
            rows.pop((path, gone), None)
        elif isinstance(text, str):
            heading, at = row.get("heading"), row.get("at")
            rows[path, text] = Pin(path, text, str(at or ""), str(heading or ""))
    by_path: dict[str, tuple[Pin, ...]] = {}
    for one in rows.values():
        by_path[one.path] = (*by_path.get(one.path, ()), one)
    return State(by_path, found.skipped, found.problem)


_STATES: StampedFiles[State] = StampedFiles((PATH,), _derive)
