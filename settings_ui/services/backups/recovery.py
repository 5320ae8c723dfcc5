"""Recovery of imports whose process died: they are finished or taken back."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import transaction

from jenny.accounts.models import Job, Workspace
from jenny.chat.services import conversation_import as chats
from jenny.workspace import bulk_replace_journal, paths, transactions
from jenny.workspace.backup import histories
from jenny.workspace.backup.bundles import Unbundled
from jenny.workspace.backup.rows import Row
from jenny.workspace.git.objects import id_of
from jenny.workspace.versions import commits, tracked_files
from memory.services import backup_tables
from memory.services.snapshots import store_of

log = logging.getLogger(__name__)

LEDGERS, PLAN = "ledgers.jsonl", "plan.json"
_LOCK_SECONDS = 20.0


def recover_import(job: Job, workspace: Workspace, folder: Path) -> bool:
    if "undoing" not in job.arguments:
        return False
    root = paths.real_root(workspace.root)
    # Taking the lock recovers a replacement that was interrupted.
    with transactions.lock_workspace(root, timeout=_LOCK_SECONDS):
        is_done = _is_done(root, job.arguments["marks"], has_plan=(folder / PLAN).exists())
    bulk_replace_journal.sweep(root)
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
    """Merge the imported snapshots, versions and ledgers; return how many snapshots came.
    Repeating it changes nothing.

    Raises:
        WorkspaceError: not everything is merged; it can be repeated.
    """
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        # The folder was removed: files and conversations are imported, snapshots and versions are
        # not.
        log.warning("backup.history_lost", extra={"workspace": str(workspace.pk)})
        return 0
    new = 0
    if plan["snapshots"]:
        fetched = Unbundled(folder / "snapshots.git", plan["snapshots"], 0)
        new = histories.join_snapshots(store_of(workspace), fetched)
    if plan["versions"]:
        fetched = Unbundled(folder / "versions.git", plan["versions"], 0)
        histories.join_versions(workspace.root, fetched)
        commits.commit_pending(workspace.root)
    turns = {int(theirs): ours for theirs, ours in plan["turns"].items()}
    backup_tables.merge(workspace, _rows(folder), turns=turns, has_same_entries=plan["same"])
    return new


def _rows(folder: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of the ledgers, runs first, since origins refer to them."""
    path = folder / LEDGERS
    for kind in backup_tables.KINDS:
        with path.open(encoding="utf-8") as file:
            for line in file:
                row: dict[str, Any] = json.loads(line)
                if row.get("row") == kind:
                    yield backup_tables.TABLE.read(row)


def _is_done(root: Path, marks: list[list[Any]], *, has_plan: bool) -> bool:
    """True when the files were replaced. The replacement is atomic, so one file shows it."""
    for path, sha in marks:
        data = tracked_files.read_tracked_file(root, path)
        if (None if data is None else id_of("blob", data)) == sha:
            return True
    # Without changed files the import is complete once all conversations are there.
    return not marks and has_plan
