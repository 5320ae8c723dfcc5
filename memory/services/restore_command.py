"""``snapshot restore``: previews and runs a restore."""

from dataclasses import asdict
from typing import Any

from jenny.accounts.models import Workspace
from jenny.workspace.names import shown
from jenny.workspace.snapshots.values import Snapshot
from memory.restore import messages
from memory.restore.values import Prepared
from memory.services import restores

# Files of each kind that a plan lists on a terminal.
MOST_NAMES = 200

type Answer = dict[str, Any]


def answer(workspace: Workspace, options: dict[str, Any]) -> tuple[Snapshot, Answer]:
    """Return the snapshot and the command's answer.

    Raises:
        WorkspaceError: nothing was changed.
    """
    path = options["path"].strip("/")
    restores.note_edits(workspace)
    shot, found = restores.preview(workspace, options["snapshot"], path)
    waiting = restores.waiting_hunks(workspace) if found.touches_memory else 0
    told: Answer = {"path": path} | _plan_facts(found)
    lines = _plan_lines(found, waiting)
    if not options["yes"]:
        if not found.is_nothing:
            lines.append("Nothing was changed. Do it with: snapshot restore … --yes")
        return shot, told | {"message": "\n".join(lines), "restored": False}
    done = restores.by_command(workspace, shot.id, path, progress=_silent)
    said = messages.restored_text(restores.described(workspace, shot), path, done)
    if not done.prepared.is_nothing:
        said += f"\nBack again: snapshot restore {done.before.id} --yes"
    return shot, told | _plan_facts(done.prepared) | {
        "message": said,
        "restored": not done.prepared.is_nothing,
        "before": done.before.id,
        "version": done.version.sha if done.version else None,
        "notes": list(done.notes),
    }


def _silent(percent: int, doing: str) -> None:
    """Ignore progress: a command prints the result only."""


def _plan_lines(found: Prepared, waiting: int) -> list[str]:
    plan = found.plan
    lines = [plan.forecast]
    for mark, rows in (("~", plan.changed), ("+", plan.added), ("−", plan.removed)):
        lines += [f"{mark} {shown(row.path)}" for row in rows[:MOST_NAMES]]
        if len(rows) > MOST_NAMES:
            lines.append(f"{mark} … {len(rows) - MOST_NAMES:,} more; --json has all of them.")
    lines += [f"  {row.message}" for row in plan.left]
    lines += [
        f"  Stays away, as you had it forgotten ({path}): {text}"
        for path, text, _ in messages.left_out(found)
    ]
    told = (
        messages.ledger_sentence(found),
        messages.entries_sentence(found.reoffer, done=False),
        messages.voided_sentence(waiting),
    )
    return [*lines, *filter(None, told)]


def _plan_facts(found: Prepared) -> Answer:
    plan = found.plan
    return {
        "changed": [row.path for row in plan.changed],
        "added": [row.path for row in plan.added],
        "removed": [row.path for row in plan.removed],
        "same": plan.same,
        "left": [asdict(row) for row in plan.left],
        "left_out": [
            {"path": path, "text": text, "id": one} for path, text, one in messages.left_out(found)
        ],
        "merged": sorted(found.merged.files),
        "reoffered": list(found.reoffer),
    }
