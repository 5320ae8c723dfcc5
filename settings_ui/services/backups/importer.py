"""Imports a checked backup in three steps, each of which can be interrupted.

1. Conversations are added in several transactions; the job's row records how to take them back.

2. The files are replaced all at once by the restore engine, which takes a snapshot first.

3. Snapshots, versions and ledgers are merged with those of the workspace; repeating this changes
nothing.

When the process dies between 1 and 2, the conversations are removed again; after 2,
the rest is completed.
"""

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from jenny.accounts.models import Job, Workspace
from jenny.chat.backup import rewritten
from jenny.chat.services import conversation_backup
from jenny.chat.services.conversation_backup import Merged
from jenny.workspace import bulk_replace_journal, paths, transactions
from jenny.workspace.backup import histories
from jenny.workspace.backup.bundles import Unbundled
from jenny.workspace.backup.rows import Row
from jenny.workspace.backup.validation import Backup
from jenny.workspace.errors import BackupRefused, RestoreRefused, WorkspaceError
from jenny.workspace.git.objects import id_of
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import Source
from jenny.workspace.snapshots.values import FileRow
from jenny.workspace.versions import commits, tracked_files
from memory import suppression
from memory.merge import is_history
from memory.restore import engine
from memory.restore.plan import Prepared, Restored, RestoreRequest
from memory.services import backup_tables, forgotten_facts, restores
from memory.services.snapshots import store_of
from settings_ui.services.backups import previews
from settings_ui.services.backups.previews import Checked

# Recovery of imports whose process died: they are finished or taken back.


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
            conversation_backup.undo(workspace, job.arguments["undoing"])
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


log = logging.getLogger(__name__)

MOST_MARKS = 50
MOST_MARK_BYTES = 8_000_000

type Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Entered:
    merged: Merged
    restored: Restored
    snapshots: int
    before: str


def enter(
    job: Job, workspace: Workspace, found: Checked, folder: Path, *, expect: str, progress: Progress
) -> Entered:
    """Import a checked backup.

    *folder* holds the backup's history and what recovery needs; *expect* is the token of the
    confirmed preview, if there was one.

    Raises:
        WorkspaceError: nothing was changed.
    """
    prepared = previews.prepared_for(workspace, found)
    if expect and prepared.plan.token != expect:
        raise RestoreRefused(
            "Other files would change by now than those that you were shown. Nothing was changed. "
            "Look at what would happen once more, then confirm that."
        )
    same, marks = previews.has_same_entries(workspace, found), _marks(prepared)

    def keep(done: Merged) -> None:
        job.arguments |= {
            "workspace": str(workspace.pk), "undoing": done.undoing, "marks": marks,
        }  # fmt: skip
        Job.objects.filter(pk=job.pk).update(arguments=job.arguments)

    try:
        keep(Merged())
        progress(0, 100, "Conversations are added.")
        merged = conversation_backup.merge(workspace, found.talks(), keep)
        _note(found, folder, merged, same=same)
        source: Source = Renumbered(found.backup, merged)
        restored = _files(job, workspace, found, source, progress)
    except BaseException:
        # The disk or a person stopped it: the earlier steps are taken back, or everything is
        # there.
        with contextlib.suppress(WorkspaceError):
            if recover_import(job, workspace, folder):
                log.exception("backup.finished_late", extra={"job": job.pk})
        raise
    progress(98, 100, "Earlier states and ledgers are joined with those that are here.")
    new, notes = 0, restored.notes
    try:
        new = finish(workspace, folder)
    except WorkspaceError as error:
        notes += (f"{error.message} Earlier states follow within minutes.",)
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
    root = paths.real_root(workspace.root)
    forgotten = suppression.list_tombstones(root)
    done = engine.restore(
        root,
        store_of(workspace),
        source_of,
        RestoreRequest(
            name=f"the backup of {made}",
            trigger="import",
            account=job.account_id,
            is_same=previews.is_same(workspace, found),
        ),
        services=restores.restore_services(
            workspace, check, then=lambda: made_at(found.manifest.made)
        ),
        now=timezone.now(),
        progress=lambda percent, doing: progress(percent, 100, doing),
    )
    # What the other side let be known again. Without it the import is whole all the same.
    with contextlib.suppress(WorkspaceError):
        forgotten_facts.requeue_lifted(workspace, forgotten)
    log.info("backup.entered", extra={"workspace": str(workspace.pk)})
    return done


def made_at(text: str) -> datetime:
    """Return the time at which a backup says it was made; a missing time counts as the oldest."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def _note(found: Checked, folder: Path, merged: Merged, *, same: bool) -> None:
    """Store what ``recovery.finish`` needs once nobody has the key any more."""
    history = found.history
    plan = {
        "snapshots": history.snapshots.refs if history.snapshots else {},
        "versions": history.versions.refs if history.versions else {},
        "turns": {str(theirs): ours for theirs, ours in merged.turns.items()},
        "same": same,
    }
    with (folder / LEDGERS).open("w", encoding="utf-8") as file:
        for name in backup_tables.KINDS.values():
            for row in found.backup.lines(name):
                file.write(json.dumps(row) + "\n")
    temp = folder / f"{PLAN}.tmp"
    with temp.open("w", encoding="utf-8") as file:
        json.dump(plan, file)
        file.flush()
        os.fsync(file.fileno())
    temp.rename(folder / PLAN)


def _marks(prepared: Prepared) -> list[list[Any]]:
    """Choose files that show afterwards whether the replacement took place: path and expected id
    (``None``: no file)."""
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
    """Open a backup.

    Raises:
        BackupRefused: it cannot be opened.
    """
    try:
        return Backup(path, key, previews.TABLES)
    except FileNotFoundError as error:
        raise BackupRefused("The backup is not there any more. Nothing was changed.") from error


class Renumbered:
    """A backup whose history entries carry the new numbers of conversations and messages."""

    def __init__(self, backup: Backup, merged: Merged) -> None:
        self._backup = backup
        self._data: dict[str, bytes] = {}
        self._rows: list[FileRow] = []
        for row in backup.rows():
            self._rows.append(self._changed(row, merged) if is_history(row.path) else row)

    def rows(self) -> Iterator[FileRow]:
        """Yield files and folders, each folder before its content."""
        yield from self._rows

    def below(self, folder: str) -> Iterator[FileRow]:
        return (row for row in self._rows if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        if row.path in self._data:
            yield self._data[row.path]
        else:
            yield from self._backup.content(row)

    def verify(self) -> None:
        """Do nothing: every byte was read when the backup was checked."""

    def _changed(self, row: FileRow, merged: Merged) -> FileRow:
        if row.is_folder or not row.path.endswith(".jsonl"):
            return row
        data = self._backup.read(row.path)
        own = rewritten(data, merged.chats, merged.numbers)
        if own == data:
            return row
        self._data[row.path] = own
        digest = hashlib.sha1(b"blob %d\0" % len(own), usedforsecurity=False)
        digest.update(own)
        return FileRow(row.path, False, len(own), row.mode, row.modified, digest.hexdigest())  # noqa: FBT003 - a value of the row
