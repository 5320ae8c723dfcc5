"""Pins: lines that unattended writers leave as they are, in ``memory/.pins.jsonl``.

A pin names a line by its text, so it stays with a line that moves or is reworded slightly. A pin
on line 0 is on the whole file.

An unreadable line may be a pin: the file that it names counts as pinned whole; without a name,
unattended writers write nothing.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jenny.workspace import names, paths, transactions
from jenny.workspace.errors import WriteRefused
from jenny.workspace.file_cache import StampedFiles
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor, Change
from memory import files, ledgers
from memory.errors import NotPinned
from memory.facts import Fact, decoded, normal, stated
from memory.text_similarity import Index

PATH = "memory/.pins.jsonl"
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned line. ``line`` is its present line, 0 for a whole file, ``None`` when it is
    missing."""

    path: str
    text: str
    at: str = ""
    heading: str = ""
    line: int | None = None

    @property
    def is_whole(self) -> bool:
        return not self.text


@dataclass(frozen=True)
class State:
    by_path: dict[str, tuple[Pin, ...]]
    skipped: tuple[int, ...] = ()
    problem: str = ""


def state(root: Path) -> State:
    """Read the pins of the workspace from their file."""
    return _derive(root) if ledgers.is_odd(root, PATH) else _STATES.read(root)


def pins(root: Path, path: str = "") -> tuple[Pin, ...]:
    """Return all pins, or those of one file, with the present line of each."""
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
        NotPinned: it is no such file, or the line is empty.
        WriteFailed, LockTimeout: nothing was changed.
    """
    real, where, fact = _meant(root, path, line)
    text = fact.text if fact else ""
    with transactions.lock_workspace(real):
        for row in pins(real, where):
            if row.text == text or (fact and row.line == fact.first):
                return row
        entry: dict[str, Any] = {"path": where, "text": text, "at": ledgers.now()}
        entry |= {"actor": actor.kind} | ({"heading": fact.heading} if fact else {})
        ledgers.land(real, [ledgers.added(real, PATH, [entry], None)])
    return Pin(where, text, entry["at"], fact.heading if fact else "", fact.first if fact else 0)


def unpin(root: Path, path: str, line: int, actor: Actor) -> Pin:
    """Remove the pin of a *line* or of the whole file (0).

    Raises:
        NotPinned: there is no pin.
        WriteFailed, LockTimeout: it stays.
    """
    real, where, fact = _meant(root, path, line)
    with transactions.lock_workspace(real):
        sought = fact.first if fact else 0
        found = next((row for row in pins(real, where) if row.line == sought), None)
        if found is None:
            raise NotPinned(f"Line {line} of {names.shown(where)} has no pin.")
        row: dict[str, Any] = {"path": where, "unpinned": found.text, "at": ledgers.now()}
        ledgers.land(real, [ledgers.added(real, PATH, [row | {"actor": actor.kind}], None)])
    return found


def move_pins(root: Path, moves: Sequence[tuple[Pin, Pin]], actor: Actor) -> list[Change]:
    """Return the change that puts each pin where the one beside it is, for the transaction that
    writes the lines; call it under the workspace's lock.

    Raises:
        WriteFailed: the ledger cannot be read.
    """
    rows: list[dict[str, Any]] = []
    for old, new in moves:
        if (old.path, old.text) != (new.path, new.text) and not old.is_whole:
            was = {"path": old.path, "text": old.text, "heading": old.heading}
            rows += _moved(old, new, actor)
            rows[-1] |= {"run": actor.run, "was": was}
    return [ledgers.added(root, PATH, rows, None)] if rows else []


def undo_moved_pins(root: Path, run: str, undone: Collection[str], actor: Actor) -> list[Change]:
    """Return the change that puts the pins back that *run* moved, where both files were undone.

    Raises:
        WriteFailed: the ledger cannot be read.
    """
    there = {(row.path, row.text) for rows in state(root).by_path.values() for row in rows}
    found: list[dict[str, Any]] = []
    for row in ledgers.read_ledger(root, PATH).rows:
        was, path, text = row.get("was"), str(row.get("path")), str(row.get("text"))
        if row.get("run") == run and isinstance(was, dict) and (path, text) in there:
            old = Pin(str(was.get("path")), str(was.get("text")), "", str(was.get("heading", "")))
            if {path, old.path} <= set(undone):
                found += _moved(Pin(path, text), old, actor)
    return [ledgers.added(root, PATH, found, None)] if found else []


def _moved(old: Pin, new: Pin, actor: Actor) -> list[dict[str, Any]]:
    now = {"at": ledgers.now(), "actor": actor.kind}
    pinned = {"path": new.path, "text": new.text, "heading": new.heading}
    return [{"path": old.path, "unpinned": old.text} | now, pinned | now]


def guard(change: Change) -> None:
    """Refuse unattended writers what is pinned. A write rule.

    Raises:
        WriteRefused: with rule ``pinned``; the answer is final.
    """
    if not change.actor.is_unattended or change.old is None:
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
    """Return the fact of each pin: the same text, else a near one."""
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
    """Return the workspace's real folder, the file and the fact on the line."""
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


def state_by(found: ledgers.Ledger) -> State:
    """Return the pins that hold by these rows."""
    rows: dict[tuple[str, str], Pin] = {}
    unpinned: set[str] = set()
    for row, is_sure in found.checked_rows():
        path, text, gone = row.get("path"), row.get("text"), row.get("unpinned")
        if not isinstance(path, str):
            continue
        if isinstance(gone, str):
            rows.pop((path, gone), None)
            unpinned |= {path} if is_sure and not gone else set()
        elif isinstance(text, str):
            heading, at = row.get("heading"), row.get("at")
            rows[path, text] = Pin(path, text, str(at or ""), str(heading or ""))
    problem = found.problem
    for damaged, line in zip(found.damaged_texts("path"), found.damaged, strict=True):
        # A pin stays when its removal cannot be read.
        if damaged is None:
            problem = problem or f"A line of {PATH} cannot be read."
        elif b'"unpinned"' not in line and damaged not in unpinned:
            rows.setdefault((damaged, ""), Pin(damaged, ""))
    by_path: dict[str, tuple[Pin, ...]] = {}
    for one in rows.values():
        by_path[one.path] = (*by_path.get(one.path, ()), one)
    return State(by_path, found.skipped, problem)


def _derive(root: Path) -> State:
    return state_by(ledgers.read_ledger(paths.real_root(root), PATH))


_STATES: StampedFiles[State] = StampedFiles((PATH,), _derive)
