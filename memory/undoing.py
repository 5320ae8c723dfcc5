"""Taking back what one turn of a chat changed in the memory files, and nothing else.

A file that nobody changed since gets its old content back, byte for byte. In one that moved on,
each place that the turn changed is turned back where it still stands as the turn left it; what
others did since stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jenny.workspace import acts, diffs
from jenny.workspace.files import open_workspace
from jenny.workspace.rules import Actor, Change
from jenny.workspace.versions import scan
from memory import forgotten
from memory.facts import decoded
from memory.forgotten import leaving_out, stones
from memory.forgotten.stones import State

type Label = Literal["clean", "moved on", "conflict", "already there"]


@dataclass(frozen=True, slots=True)
class Changed:
    """A file before and after a turn; ``None``: there was none."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Step:
    """What taking a file's change back does now. ``wanted``: its content then; *left_out*: lines
    that do not come back, since they were forgotten later."""

    path: str
    label: Label
    now: bytes | None = None
    wanted: bytes | None = None
    left_out: tuple[str, ...] = ()


def plan(root: Path, run: str, changes: Sequence[Changed]) -> tuple[Step, ...]:
    """What taking the changes of *run* back would do. Nothing is written.

    Raises:
        OSError: a file cannot be read.
    """
    return tuple(_step(root, run, change) for change in changes)


def undo(
    root: Path, run: str, changes: Sequence[Changed], *, account: int | None
) -> tuple[Step, ...]:
    """Take the changes back as one act; what was done. Files in conflict are left as they are.
    What the turn had forgotten on request is not forgotten any more.

    Raises:
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
        OSError: a file cannot be read; nothing was changed.
    """
    actor = Actor("restore", account, f"undo of {run.replace(':', ' ')}", reason="undone")
    workspace = open_workspace(root, actor)
    with acts.locked(workspace.root):
        steps = plan(workspace.root, run, changes)
        lifted = [row.id for row in forgotten.tombstones(workspace.root) if row.run == run]
        first: list[Change] = forgotten.lifting(workspace.root, lifted, actor, "undone")
        files = {step.path: step.wanted for step in steps if step.label in {"clean", "moved on"}}
        if files:
            workspace.write_many(files, first=first)
        elif first:
            forgotten.land(workspace.root, first)
    return steps


def turned_back(now: bytes | None, after: bytes | None, before: bytes | None) -> bytes | None:
    """*now* with what became *after* of *before* turned back, where it stands as it was left.

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
    """Where the lines *i* to *j* of what was left stand now, with those around them."""
    if any(at not in place for at in range(i, j)):
        raise ValueError("changed since")
    if i < j:
        if place[j - 1] - place[i] != j - 1 - i:
            raise ValueError("something stands between them")
        return place[i], place[j - 1] + 1
    # Lines come back between two that stand together, or behind the one above.
    if i == 0:
        return 0, 0
    if i - 1 in place:
        return place[i - 1] + 1, place[i - 1] + 1
    if i in place:
        return place[i], place[i]
    if i == length and not place:
        return here, here
    raise ValueError("nothing that stood beside it is there")


def _step(root: Path, run: str, change: Changed) -> Step:
    now = scan.content(root, change.path)
    if now == change.before:
        return Step(change.path, "already there", now, now)
    label: Label = "clean"
    wanted = change.before
    if now != change.after:
        label = "moved on"
        try:
            wanted = turned_back(now, change.after, change.before)
        except ValueError:
            return Step(change.path, "conflict", now, now)
    if wanted is None:
        return Step(change.path, label, now, None)
    active = tuple(row for row in stones.state(root).active if row.run != run)
    found = leaving_out.filtered(State(active), decoded(wanted)) if active else None
    if found is None or not found.left_out:
        return Step(change.path, label, now, wanted)
    return Step(
        change.path, label, now, found.text.encode(), tuple(text for text, _ in found.left_out)
    )
