"""Taking a backup in.

Everything in it is looked at first. Then, in this order, each step safe to be cut short:

1. Conversations are added, some in each transaction, which notes in the job's row how to take them
   back.
2. The files are swapped, all at once, by the restore's engine, which takes a snapshot before.
3. Snapshots, versions and ledgers are joined with those that are here; again changes nothing.

Dies the process between 1 and 2, the conversations go again; dies it later, the rest is done by
whoever finds the dead job (``settling``).
"""

import contextlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from jenny.accounts.models import Job, Workspace
from jenny.chat.models import importing as chats
from jenny.chat.models.importing import Merged
from jenny.workspace import paths
from jenny.workspace.backup.checking import Backup
from jenny.workspace.errors import BackupRefused, RestoreRefused, WorkspaceError
from jenny.workspace.git.objects import id_of
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restoring.sources import Source
from memory.backup import fields as ledgers
from memory.management import restoring
from memory.management.snapshots import store_of
from memory.restore import engine
from memory.restore.values import Asked, Prepared, Restored
from settings_ui.management.backups import looking, settling
from settings_ui.management.backups.looking import Checked
from settings_ui.management.backups.renumbering import Renumbered
from settings_ui.management.backups.settling import LEDGERS, PLAN

log = logging.getLogger(__name__)

MOST_MARKS = 50
MOST_MARK_BYTES = 8_000_000

type Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Entered:
    """What came of it."""

    merged: Merged
    restored: Restored
    snapshots: int
    before: str


def enter(
    job: Job, workspace: Workspace, found: Checked, folder: Path, *, expect: str, progress: Progress
) -> Entered:
    """Import a backup that was looked at. *folder*: where its history was fetched to, and where
    what is needed to finish is kept; *expect*: the token of what a person agreed to, if any was
    shown.

    Raises:
        WorkspaceError: nothing was changed, and why.
    """
    prepared = looking.prepared_for(workspace, found)
    if expect and prepared.plan.token != expect:
        raise RestoreRefused(
            "Other files would change by now than those that you were shown. Nothing was changed. "
            "Look at what would happen once more, then confirm that."
        )
    same, marks = looking.has_same_entries(workspace, found), _marks(prepared)

    def keep(done: Merged) -> None:
        job.arguments |= {
            "workspace": str(workspace.pk), "undoing": done.undoing, "marks": marks,
        }  # fmt: skip
        Job.objects.filter(pk=job.pk).update(arguments=job.arguments)

    try:
        keep(Merged())
        progress(0, 100, "Conversations are added.")
        merged = chats.merge(workspace, found.talks(), keep)
        _note(found, folder, merged, same=same)
        source: Source = Renumbered(found.backup, merged)
        restored = _files(job, workspace, found, source, progress)
    except BaseException:
        # An act of the disk's or of a person's: what came before it goes again, or all is there.
        with contextlib.suppress(WorkspaceError):
            if settling.settle(job, workspace, folder):
                log.exception("backup.finished_late", extra={"job": job.pk})
        raise
    progress(98, 100, "Earlier states and ledgers are joined with those that are here.")
    new, notes = 0, restored.notes
    try:
        new = settling.finish(workspace, folder)
    except WorkspaceError as error:
        notes += (f"{error.sentence} Earlier states follow within minutes.",)
    else:
        _settled(job)
    return Entered(merged, replace(restored, notes=notes), new, restored.before.id)


def _files(
    job: Job, workspace: Workspace, found: Checked, source: Source, progress: Progress
) -> Restored:
    def source_of(_repo: Objects) -> Source:
        return source

    def check() -> None:
        job.progress(job.step, job.steps, f"{job.doing.rstrip('.…')}…")

    made = found.manifest.made[:16].replace("T", " ")
    done = engine.restore(
        paths.real_root(workspace.root),
        store_of(workspace),
        source_of,
        Asked(
            name=f"the backup of {made}",
            trigger="import",
            account=job.account_id,
            is_same=looking.is_same(workspace, found),
        ),
        hands=restoring.hands(workspace, check, then=lambda: made_at(found.manifest.made)),
        now=timezone.now(),
        progress=lambda percent, doing: progress(percent, 100, doing),
    )
    log.info("backup.entered", extra={"workspace": str(workspace.pk)})
    return done


def made_at(told: str) -> datetime:
    """When a backup was made, by its own word. One that tells no time is older than anything."""
    try:
        when = datetime.fromisoformat(told)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def _note(found: Checked, folder: Path, merged: Merged, *, same: bool) -> None:
    """Keep what ``settling.finish`` needs when nobody has the key any more."""
    history = found.history
    plan = {
        "snapshots": history.snapshots.refs if history.snapshots else {},
        "versions": history.versions.refs if history.versions else {},
        "turns": {str(theirs): ours for theirs, ours in merged.turns.items()},
        "same": same,
    }
    with (folder / LEDGERS).open("w", encoding="utf-8") as file:
        for name in ledgers.KINDS.values():
            for row in found.backup.lines(name):
                file.write(json.dumps(row) + "\n")
    temp = folder / f"{PLAN}.tmp"
    with temp.open("w", encoding="utf-8") as file:
        json.dump(plan, file)
        file.flush()
        os.fsync(file.fileno())
    temp.rename(folder / PLAN)


def _marks(prepared: Prepared) -> list[list[Any]]:
    """Files by which it is told afterwards whether the swap took place: a path, and the id of what
    is to be there (``None``: nothing)."""
    plan, now = prepared.plan, prepared.present.files
    found: list[list[Any]] = []
    for row in sorted((*plan.changed, *plan.added), key=lambda row: row.size)[:MOST_MARKS]:
        data = prepared.texts.get(row.path)
        sha = row.sha if data is None else id_of("blob", data)
        is_new = row.path not in now or now[row.path][1] != sha
        if is_new and row.size <= MOST_MARK_BYTES:
            found.append([row.path, sha])
    return found or [[row.path, None] for row in plan.removed[:1]]


def _settled(job: Job) -> None:
    job.arguments = {
        name: value for name, value in job.arguments.items() if name not in ("undoing", "marks")
    }
    Job.objects.filter(pk=job.pk).update(arguments=job.arguments)


def opened(path: Path, key: bytes | None) -> Backup:
    """A backup, open. :raises BackupRefused: it cannot be."""
    try:
        return Backup(path, key, looking.TABLES)
    except FileNotFoundError as error:
        raise BackupRefused("The backup is not there any more. Nothing was changed.") from error
