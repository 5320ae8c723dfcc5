"""Reverts what one chat turn changed in the memory files, and nothing else.

A file that nobody changed since gets its old content back, byte for byte. In a changed file each
place is reverted that is still as the turn left it; other changes stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jenny.workspace import diffs, transactions
from jenny.workspace.files import open_workspace
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Actor, Change
from memory import pins, suppression
from memory.facts import decoded
from memory.suppression import hide, tombstones, write_rule
from memory.suppression.tombstones import State

type Label = Literal["clean", "moved on", "conflict", "already there"]


@dataclass(frozen=True, slots=True)
class Changed:
    """A file before and after a turn; ``None``: there was none."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class UndoStep:
    """The revert of one file. ``wanted`` is its new content; *left_out* are lines that stay away
    because they were forgotten later."""

    path: str
    label: Label
    now: bytes | None = None
    wanted: bytes | None = None
    left_out: tuple[str, ...] = ()


def plan(root: Path, run: str, changes: Sequence[Changed]) -> tuple[UndoStep, ...]:
    """Plan the revert of the changes of *run*; nothing is written.

    Raises:
        OSError: a file cannot be read.
    """
    return tuple(_step(root, run, change) for change in changes)


def undo_turn(
    root: Path, run: str, changes: Sequence[Changed], *, account: int | None
) -> tuple[UndoStep, ...]:
    """Revert the changes in one write and return what was done. Files in conflict stay as they
    are. What the turn had forgotten on request is unsuppressed, and pins that it carried go back.

    Raises:
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
        OSError: a file cannot be read; nothing was changed.
    """
    actor = Actor("restore", account, f"undo of {run.replace(':', ' ')}", reason="undone")
    workspace = open_workspace(root, actor)
    with transactions.lock_workspace(workspace.root):
        steps = plan(workspace.root, run, changes)
        now = tombstones.state(workspace.root)
        lifted = [row.id for row in now.active if row.run == run]
        lifted += [one for step in steps for one in write_rule.lifted(now, step.wanted)]
        first: list[Change] = suppression.remove_tombstones(workspace.root, lifted, actor, "undone")
        done = [step.path for step in steps if step.label != "conflict"]
        first += pins.undo_moved_pins(workspace.root, run, done, actor)
        files = {step.path: step.wanted for step in steps if step.label in {"clean", "moved on"}}
        if files:
            workspace.write_many(files, first=first)
        elif first:
            suppression.land(workspace.root, first)
    return steps


def undo_message(steps: Sequence[UndoStep]) -> str:
    """Say what was undone and what was not; empty when nothing was."""
    done = [step.path for step in steps if step.label != "conflict"]
    left = [step.path for step in steps if step.label == "conflict"]
    away = sum(len(step.left_out) for step in steps)
    if not done:
        return ""
    message = f"Undone in {', '.join(done)}: its lines are as they were before."
    if not left:
        message = "Undone: the lines are as they were before."
    else:
        message += f" Not undone in {', '.join(left)}: the same lines were changed since."
    if away:
        lines = "1 line stays" if away == 1 else f"{away} lines stay"
        message += f" {lines} away, since you had it forgotten."
    return message


def turned_back(now: bytes | None, after: bytes | None, before: bytes | None) -> bytes | None:
    """Return *now* with the change from *before* to *after* reverted.

    Raises:
        ValueError: somebody changed the same place since.
    """
    lines = [diffs.lines_of(data) for data in (now, after, before)]
    if any(row is None for row in lines) or now is None or after is None:
        raise ValueError("no text, or no file")
    here, left, old = (row or [] for row in lines)
    place = {
        i + at: k + at
        for tag, i, j, k, _ in diffs.opcodes(left, here)
        if tag == "equal"
        for at in range(j - i)
    }
    edits = [
        (*_standing(place, i, j, len(left), len(here)), old[k:m])
        for tag, i, j, k, m in diffs.opcodes(left, old)
        if tag != "equal"
    ]
    for start, end, lines_back in reversed(edits):
        here[start:end] = lines_back
    ending = b"\r\n" if b"\r\n" in now else b"\n"
    return "".join(here).encode().replace(b"\n", ending)


def _standing(place: dict[int, int], i: int, j: int, length: int, here: int) -> tuple[int, int]:
    """Return the present range of the lines *i* to *j*, with their neighbours."""
    if any(at not in place for at in range(i, j)):
        raise ValueError("changed since")
    if i < j:
        if place[j - 1] - place[i] != j - 1 - i:
            raise ValueError("something stands between them")
        return place[i], place[j - 1] + 1
    # Restored lines go between two lines that are still together, or after the one above.
    if i == 0:
        return 0, 0
    if i - 1 in place:
        return place[i - 1] + 1, place[i - 1] + 1
    if i in place:
        return place[i], place[i]
    if i == length and not place:
        return here, here
    raise ValueError("nothing that stood beside it is there")


def _step(root: Path, run: str, change: Changed) -> UndoStep:
    now = tracked_files.read_tracked_file(root, change.path)
    if now == change.before:
        return UndoStep(change.path, "already there", now, now)
    label: Label = "clean"
    wanted = change.before
    if now != change.after:
        label = "moved on"
        try:
            wanted = turned_back(now, change.after, change.before)
        except ValueError:
            return UndoStep(change.path, "conflict", now, now)
    if wanted is None:
        return UndoStep(change.path, label, now, None)
    state = tombstones.state(root).for_restores
    active = tuple(row for row in state.active if row.run != run)
    found = hide.filtered(State(active), decoded(wanted)) if active else None
    if found is None or not found.left_out:
        return UndoStep(change.path, label, now, wanted)
    return UndoStep(
        change.path, label, now, found.text.encode(), tuple(text for text, _ in found.left_out)
    )
