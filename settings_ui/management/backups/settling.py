"""Finishing an import whose process died, or taking it back."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import transaction

from jenny.accounts.models import Job, Workspace
from jenny.chat.models import importing as chats
from jenny.workspace import acts, paths
from jenny.workspace.backup import joining
from jenny.workspace.backup.rows import Row
from jenny.workspace.backup.unbundling import Unbundled
from jenny.workspace.git.objects import id_of
from jenny.workspace.swap import staging
from jenny.workspace.versions import record, scan
from memory.backup import fields as ledgers
from memory.management import carrying
from memory.management.snapshots import store_of

log = logging.getLogger(__name__)

LEDGERS, PLAN = "ledgers.jsonl", "plan.json"
_LOCK_SECONDS = 20.0


def settle(job: Job, workspace: Workspace, folder: Path) -> bool:
    """Finish what a job had begun, or take it back; whether it is finished.

    Raises:
        WorkspaceError: it cannot be done now; again is safe.
    """
    if "undoing" not in job.arguments:
        return False
    root = paths.real_root(workspace.root)
    # Whoever takes the lock settles a swap that was cut short.
    with acts.locked(root, timeout=_LOCK_SECONDS):
        is_done = _is_done(root, job.arguments["marks"], has_plan=(folder / PLAN).exists())
    staging.sweep(root)
    if is_done:
        finish(workspace, folder)
    with transaction.atomic():
        if not is_done:
            chats.undo(workspace, job.arguments["undoing"])
        rest = {name: value for name, value in job.arguments.items() if name not in _NOTES}
        Job.objects.filter(pk=job.pk).update(arguments=rest)
    job.arguments = rest
    log.info("backup.settled", extra={"job": job.pk, "finished": is_done})
    return is_done


_NOTES = ("undoing", "marks")


def finish(workspace: Workspace, folder: Path) -> int:
    """Join what came along with what is here; how many snapshots came. Again: changes nothing.

    Raises:
        WorkspaceError: not all of it is joined yet; again is safe.
    """
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        # Somebody removed the folder: files and conversations are there, their past is not.
        log.warning("backup.history_lost", extra={"workspace": str(workspace.pk)})
        return 0
    new = 0
    if plan["snapshots"]:
        fetched = Unbundled(folder / "snapshots.git", plan["snapshots"], 0)
        new = joining.join_snapshots(store_of(workspace), fetched)
    if plan["versions"]:
        fetched = Unbundled(folder / "versions.git", plan["versions"], 0)
        joining.join_versions(workspace.root, fetched)
        record.commit_pending(workspace.root)
    turns = {int(theirs): ours for theirs, ours in plan["turns"].items()}
    carrying.merge(workspace, _rows(folder), turns=turns, has_same_entries=plan["same"])
    return new


def _rows(folder: Path) -> Iterator[tuple[str, Row]]:
    """The ledgers' rows, runs first, since origins speak of them."""
    path = folder / LEDGERS
    for kind in ledgers.KINDS:
        with path.open(encoding="utf-8") as file:
            for line in file:
                row: dict[str, Any] = json.loads(line)
                if row.get("row") == kind:
                    yield ledgers.TABLE.read(row)


def _is_done(root: Path, marks: list[list[Any]], *, has_plan: bool) -> bool:
    """Whether the swap took place: it did wholly or not at all, so one file tells."""
    for path, sha in marks:
        data = scan.content(root, path)
        if (None if data is None else id_of("blob", data)) == sha:
            return True
    # Where no file is to change, it is done as soon as all conversations are there.
    return not marks and has_plan
