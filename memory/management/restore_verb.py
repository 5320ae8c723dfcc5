"""``snapshot restore``: what it would do, and doing it."""

from dataclasses import asdict
from typing import Any

from jenny.accounts.models import Workspace
from jenny.workspace.names import shown
from jenny.workspace.snapshots.values import Snapshot
from memory.management import restoring
from memory.restore import telling
from memory.restore.values import Prepared

# Files that a plan names on a terminal, of each kind.
MOST_NAMES = 200

type Answer = dict[str, Any]


def answer(workspace: Workspace, options: dict[str, Any]) -> tuple[Snapshot, Answer]:
    """What the verb answers, and the snapshot that is meant.

    :raises WorkspaceError: nothing was changed, and why.
    """
    path = options["path"].strip("/")
    restoring.note_edits(workspace)
    shot, found = restoring.preview(workspace, options["snapshot"], path)
    waiting = restoring.waiting_hunks(workspace) if found.touches_memory else 0
    told: Answer = {"path": path} | _plan_facts(found)
    lines = _plan_lines(found, waiting)
    if not options["yes"]:
        if not found.is_nothing:
            lines.append("Nothing was changed. Do it with: snapshot restore … --yes")
        return shot, told | {"sentence": "\n".join(lines), "restored": False}
    done = restoring.by_command(workspace, shot.id, path, progress=_silent)
    return shot, told | _plan_facts(done.prepared) | {
        "sentence": telling.told(f"snapshot {shot.id}", path, done),
        "restored": not done.prepared.is_nothing,
        "before": done.before.id,
        "version": done.version.sha if done.version else None,
        "notes": list(done.notes),
    }


def _silent(percent: int, doing: str) -> None:
    """A command says what came of it, not how far it is."""


def _plan_lines(found: Prepared, waiting: int) -> list[str]:
    """A plan for a reader."""
    plan = found.plan
    lines = [plan.forecast]
    for mark, rows in (("~", plan.changed), ("+", plan.added), ("−", plan.removed)):
        lines += [f"{mark} {shown(row.path)}" for row in rows[:MOST_NAMES]]
        if len(rows) > MOST_NAMES:
            lines.append(f"{mark} … {len(rows) - MOST_NAMES:,} more; --json has all of them.")
    lines += [f"  {row.sentence}" for row in plan.left]
    lines += [
        f"  Stays away, as you had it forgotten ({path}): {text}"
        for path, text, _ in telling.left_out(found)
    ]
    told = (
        telling.ledger_sentence(found),
        telling.entries_sentence(found.reoffer, done=False),
        telling.voided_sentence(waiting),
    )
    return [*lines, *filter(None, told)]


def _plan_facts(found: Prepared) -> Answer:
    """A plan for ``--json``."""
    plan = found.plan
    return {
        "changed": [row.path for row in plan.changed],
        "added": [row.path for row in plan.added],
        "removed": [row.path for row in plan.removed],
        "same": plan.same,
        "left": [asdict(row) for row in plan.left],
        "left_out": [
            {"path": path, "text": text, "id": one} for path, text, one in telling.left_out(found)
        ],
        "merged": sorted(found.merged.files),
        "reoffered": list(found.reoffer),
    }
