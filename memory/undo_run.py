"""Undoes a version of Dream's, and keeps what it had written out of the memory.

What a person takes back is not written again: it is forgotten like a value that they replaced
themselves (``Tombstone.is_replaced``). Dream is told so and refused by code; when the person says
it anew, or puts the version back, it may be written again.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace import paths, transactions
from jenny.workspace.diffs import code_span
from jenny.workspace.versions import messages, tracked_files
from jenny.workspace.versions.undo import Undone, UndoPlan, undo
from jenny.workspace.write_rules import Actor, Change
from memory import files, skills, suppression
from memory.facts import Fact, stated
from memory.suppression import tombstones
from memory.suppression.tombstones import State, Tombstone
from memory.suppression.write_rule import list_departed

_SHOWN, _SHOWN_CHARS = 5, 120


def undo_run(
    root: Path,
    sha: str,
    *,
    account: int | None = None,
    expect: str | None = None,
    keep_out: bool = True,
) -> Undone:
    """Undo the version with the full id *sha*. *keep_out*: Dream may not write again what the
    version had added; otherwise it is told what was undone, and decides anew.

    Raises:
        UndoRefused, WorkspaceError: as ``undo``; nothing was undone.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        done = undo(real, sha, account=account, expect=expect)
        if keep_out and done.plan.version.kind != "restore":
            actor = Actor("restore", account, f"{messages.UNDO_RUN}{sha}")
            dead = list(_undone_facts(real, done.plan, actor))
            suppression.land(real, tombstones.add_tombstones(real, dead, actor))
    return done


def kept_out_text(root: Path, sha: str) -> str:
    """Say which texts the undoing of that version keeps out; empty: none."""
    run = f"{messages.UNDO_RUN}{sha}"
    stones = suppression.list_tombstones(paths.real_root(root))
    found = [row.text for row in stones if row.run == run]
    if not found:
        return ""
    shown = ", ".join(code_span(one_line(text, _SHOWN_CHARS)) for text in found[:_SHOWN])
    more = " …" if found[_SHOWN:] else ""
    return (
        f"Dream does not write this again until you say it anew: {shown}{more}. Memory → Forgotten "
        "lists it and lets it be known again."
    )


def _undone_facts(root: Path, plan: UndoPlan, actor: Actor) -> Iterator[Tombstone]:
    """Yield what the version had stated and no file states now, in whatever words."""
    standing = _standing(root)
    for step in plan.steps:
        change = Change(step.path, step.made, step.wanted, actor, root)
        for fact, text in list_departed(change):
            dead = tombstones.tombstone(text, path=step.path, heading=fact.heading)
            state = State((dead,))
            if not any(state.match(one) for one in standing):
                yield replace(dead, is_replaced=True)


def _standing(root: Path) -> list[Fact]:
    skill_paths = [skill.path for skill in skills.all_skills(root) if not skill.ships]
    return [
        fact
        for path in (*files.BY_PATH, *skill_paths)
        for fact in stated(tracked_files.read_tracked_file(root, path))
    ]
