"""Restores from a snapshot: preview, job, and the restore itself."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.errors import JobLost
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.workspace import paths, transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.names import shown
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import SnapshotSource
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from memory import signals
from memory.dream.values import INTERRUPTED_SUBJECT
from memory.history import cursors
from memory.models import DreamEntry, DreamRun, DreamState, SnapshotState, StagedHunk
from memory.restore import engine, plan
from memory.restore.plan import (
    Prepared,
    Progress,
    Restored,
    RestoreRequest,
    RestoreServices,
    entries_sentence,
    ledger_sentence,
    left_out,
    prepare,
    restored_text,
    voided_sentence,
)
from memory.services import approvals, dream_recovery
from memory.services.dream_run_store import queue_entries
from memory.services.proposals import keep_marks, open_rows
from memory.services.snapshots import store_of

log = logging.getLogger(__name__)

KIND = "restore"
_BY_COMMAND = "restore-by-command"
_LOCK_SECONDS = 20.0
_ROWS = 100
_STOPPED = (
    "Stopped, since the workspace was restored meanwhile. What it had written is in a version of "
    "its own; its notes will be tried again."
)


def preview(workspace: Workspace, asked: str, path: str = "") -> tuple[Snapshot, Prepared]:
    """Preview the restore of *path* (empty: everything) from a snapshot by id, number or
    ``latest``.

    Raises:
        WorkspaceError: there is nothing to restore from.
    """
    store = store_of(workspace)
    name = store.resolve(asked)
    with store.open() as repo:
        shot = store.get(repo, name)
        source = SnapshotSource(repo, shot, path)
        root = paths.real_root(workspace.root)
        return shot, prepare(root, store, repo, source, path=source.path)


def note_edits(workspace: Workspace) -> None:
    """Record edits made outside, as a restore does first: what they removed from the memory stays
    away and may change the plan."""
    with contextlib.suppress(WorkspaceError):
        commits.commit_pending(workspace.root)


def waiting_hunks(workspace: Workspace) -> int:
    return StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING).count()


def start_restore(
    workspace: Workspace, account: Account | None, name: str, path: str, *, token: str
) -> Job:
    """Enqueue the restore that was previewed (``Plan.token``), or return the job under way."""
    arguments = {"snapshot": name, "path": path, "token": token}
    return jobs.begin_job(workspace, account, KIND, arguments)


def run_restore(job: Job) -> jobs.JobEnd:
    """Run the restore of a job."""
    name, path = str(job.arguments["snapshot"]), str(job.arguments["path"])
    done = restore(
        job.workspace,
        name,
        path,
        account=job.account_id,
        expect=str(job.arguments.get("token", "")),
        pin=_pin(job),
        progress=lambda percent, doing: job.progress(percent, 100, doing),
        check=lambda: _still_mine(job),
    )
    store = store_of(job.workspace)
    with store.open() as repo:
        source = described(job.workspace, store.get(repo, name))
    message = plan.restored_text(source, path, done)
    return jobs.JobEnd(message, _result(done, name, path))


def described(workspace: Workspace, shot: Snapshot) -> str:
    """Name a snapshot by its time, in the owner's zone, and its reason."""
    when = shot.when.astimezone(ZoneInfo(workspace.owner.time_zone))
    return f"the snapshot of {when:%-d %B %Y, %H:%M}, taken {shot.why}"


def _still_mine(job: Job) -> None:
    """Check that the job is still this process's.

    Raises:
    JobLost: the job was taken for dead meanwhile."""
    if not job.beat():
        raise JobLost


def by_command(workspace: Workspace, name: str, path: str, *, progress: Progress) -> Restored:
    """Restore in this process.

    Raises:
        WorkspaceError: nothing was changed.
    """
    return restore(workspace, name, path, pin=_BY_COMMAND, progress=progress)


def restore(
    workspace: Workspace,
    name: str,
    path: str,
    *,
    pin: str,
    progress: Progress,
    account: int | None = None,
    expect: str = "",
    check: Callable[[], None] = lambda: None,
) -> Restored:
    """Restore from the snapshot *name*, which is protected from pruning meanwhile."""
    store = store_of(workspace)
    plain = path.strip("/")

    def source(repo: Objects) -> SnapshotSource:
        return SnapshotSource(repo, store.get(repo, name), plain)

    store.pin(name, pin)
    try:
        done = engine.restore(
            workspace.root,
            store,
            source,
            RestoreRequest(name=f"snapshot {name}", path=plain, account=account, expect=expect),
            services=restore_services(workspace, check, then=lambda: _when(store, name)),
            now=timezone.now(),
            progress=progress,
        )
    finally:
        with contextlib.suppress(WorkspaceError):
            store.unpin(pin)
    _note_taken(workspace)
    log.info("snapshot.restored", extra={"workspace": str(workspace.pk), "snapshot": name})
    return done


def _when(store: Store, name: str) -> datetime:
    with store.open() as repo:
        return store.get(repo, name).when


def _note_taken(workspace: Workspace) -> None:
    """Count the snapshot before the restore as the daily one; later changes are new."""
    now = timezone.now()
    row = SnapshotState.of(workspace, now)
    row.note(replace(row.seen, taken_at=now))


def restore_services(
    workspace: Workspace, check: Callable[[], None], *, then: Callable[[], datetime]
) -> RestoreServices:
    """Return the services that a restore or an import needs. *then* is the time of its files."""
    staged = ApprovalInvalidation(workspace)

    def note_changes(found: Iterable[str]) -> None:
        files = tuple(found)
        signals.files_restoring.send(sender=None, workspace=workspace, files=files, then=then())

    return RestoreServices(
        stop=lambda: stop_dream(workspace),
        requeue=lambda entries: queue_entries(workspace, entries),
        invalidate=staged.invalidate,
        revalidate=staged.take_back,
        check=check,
        note_changes=note_changes,
    )


def stop_dream(workspace: Workspace) -> str:
    """End a Dream run under way, commit what it wrote, and return a sentence about it.

    Call it under the workspace's lock, under which the run's next write is refused.
    """
    run = DreamRun.objects.filter(workspace=workspace, state=DreamRun.State.RUNNING).first()
    if run is None:
        return ""
    root, before = workspace.root, run.cursor_from or 0
    facts: dict[str, object] = {}
    with contextlib.suppress(WorkspaceError):
        now = cursors.dream_cursor(root)
        moved = now if run.cursor_from is not None and now != before else None
        facts["cursor_to"] = moved
        commits.commit_run(root, RunNote(run.name, INTERRUPTED_SUBJECT, (before, moved)))
    mine = DreamRun.objects.filter(pk=run.pk, state=DreamRun.State.RUNNING)
    state = DreamRun.State.ENDED
    won = mine.update(state=state, status="interrupted", ended_at=Now(), message=_STOPPED, **facts)
    if not won:
        return ""
    DreamState.objects.filter(workspace=workspace).update(epoch=F("epoch") + 1)
    log.info("dream.stopped_for_restore", extra={"run": run.pk})
    run.refresh_from_db()
    dream_recovery.report_ended_run(run)
    return "A memory update that was under way was stopped; its notes will be tried again."


def after_death(job: Job) -> str:
    """Complete or revert the restore of a dead process and return a sentence about it."""
    workspace = job.workspace
    name, path = str(job.arguments["snapshot"]), str(job.arguments["path"])
    with contextlib.suppress(WorkspaceError):
        store_of(workspace).unpin(_pin(job))
    root = paths.real_root(workspace.root)
    with transactions.lock_workspace(root, timeout=_LOCK_SECONDS):
        with contextlib.suppress(WorkspaceError):
            commits.commit_pending(root)
        _, prepared = preview(workspace, name, path)
    if prepared.is_nothing:
        but = plan.forgotten_sentence(prepared)
        if but:
            same = "every file is as it was in the snapshot, but for what you had forgotten."
            return f"The restore itself is finished: {same} {but}"
        return "The restore itself is finished: every file is as it was in the snapshot."
    if prepared.plan.token != (job.arguments.get("token") or prepared.plan.token):
        return (
            "Other files differ from the snapshot now than when it was asked for, so it cannot be "
            "told whether it was done before. Look at what differs before you ask for it again; "
            "the newest snapshot before a restore holds how everything was."
        )
    return (
        "Nothing was changed by it. Ask for it again; the newest snapshot before a restore holds "
        "how everything was."
    )


def _pin(job: Job) -> str:
    return f"restore-{job.pk}"


def _result(done: Restored, name: str, path: str) -> dict[str, Any]:
    links = []
    query = f"?{urlencode({'path': path})}" if path else ""
    if not done.prepared.is_nothing:
        undo = reverse("snapshot_restore", args=[done.before.id])
        diff = reverse("snapshot_diff", args=[done.before.id])
        links = [
            {"href": f"{undo}{query}", "label": "Undo this restore…"},
            {"href": f"{diff}{query}", "label": "What changed"},
        ]
    lists = []
    if rows := plan.left_out(done.prepared):
        title = "Left out, since you had it forgotten"
        lists.append(
            {"title": title, "rows": [f"{file}: {text}" for file, text, _ in rows[:_ROWS]]}
        )
        # That page unsuppresses the lines one by one before another restore.
        page = reverse("snapshot_restore", args=[name])
        links.append({"href": f"{page}{query}", "label": "Bring them back…"})
    if done.prepared.plan.left:
        rows_left = [row.message for row in done.prepared.plan.left[:_ROWS]]
        lists.append({"title": "Left as it is", "rows": rows_left})
    return {"links": links, "lists": lists, "before": done.before.id}


ABOUT = jobs.JobKind("memory.restore", "Restore", ("/snapshots/", "Snapshots"), after_death)


log = logging.getLogger(__name__)


@dataclass
class ApprovalInvalidation:
    """The invalidation by one restore. All of it happens under the workspace's lock."""

    workspace: Workspace
    _rows: list[int] = field(default_factory=list)
    _offered: set[int] = field(default_factory=set)

    def invalidate(self) -> int:
        """Invalidate everything pending and return the count."""
        self._rows = list(open_rows(self.workspace).values_list("pk", flat=True))
        if not self._rows:
            return 0
        before = set(self._entries().values_list("cursor", flat=True))
        count, offered = approvals.invalidate(self.workspace)
        self._offered = set(offered) - before
        return count

    def take_back(self) -> None:
        """Make everything pending again and requeue nothing: no file was changed. On a full disk
        this may fail, and entries are shown once too often."""
        if not self._rows:
            return
        state = StagedHunk.State
        rows = StagedHunk.objects.filter(pk__in=self._rows, state=state.VOID)
        try:
            with transaction.atomic():
                rows.update(state=state.WAITING, decided_at=None)
                self._entries().filter(cursor__in=self._offered).delete()
        except DatabaseError as error:
            log.warning("approval.stays_void", extra={"cause": type(error).__name__})
        keep_marks(self.workspace)

    def _entries(self) -> "QuerySet[DreamEntry]":
        return DreamEntry.objects.filter(workspace=self.workspace)


# Files of each kind that a plan lists on a terminal.
MOST_NAMES = 200

type Answer = dict[str, Any]


def answer(workspace: Workspace, options: dict[str, Any]) -> tuple[Snapshot, Answer]:
    """Return the snapshot and the command's answer.

    Raises:
        WorkspaceError: nothing was changed.
    """
    path = options["path"].strip("/")
    note_edits(workspace)
    shot, found = preview(workspace, options["snapshot"], path)
    waiting = waiting_hunks(workspace) if found.touches_memory else 0
    report_facts: Answer = {"path": path} | _plan_facts(found)
    lines = _plan_lines(found, waiting)
    if not options["yes"]:
        if not found.is_nothing:
            lines.append("Nothing was changed. Do it with: snapshot restore … --yes")
        return shot, report_facts | {"message": "\n".join(lines), "restored": False}
    done = by_command(workspace, shot.id, path, progress=_silent)
    said = restored_text(described(workspace, shot), path, done)
    if not done.prepared.is_nothing:
        said += f"\nBack again: snapshot restore {done.before.id} --yes"
    return shot, report_facts | _plan_facts(done.prepared) | {
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
        for path, text, _ in left_out(found)
    ]
    report_facts = (
        ledger_sentence(found),
        entries_sentence(found.reoffer, done=False),
        voided_sentence(waiting),
    )
    return [*lines, *filter(None, report_facts)]


def _plan_facts(found: Prepared) -> Answer:
    plan = found.plan
    return {
        "changed": [row.path for row in plan.changed],
        "added": [row.path for row in plan.added],
        "removed": [row.path for row in plan.removed],
        "same": plan.same,
        "left": [asdict(row) for row in plan.left],
        "left_out": [
            {"path": path, "text": text, "id": one} for path, text, one in left_out(found)
        ],
        "merged": sorted(found.merged.files),
        "reoffered": list(found.reoffer),
    }
