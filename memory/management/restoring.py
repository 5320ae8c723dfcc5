"""Restoring from a snapshot: planned, asked for, done by a worker or a command."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import F
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from jenny.accounts.errors import JobLost
from jenny.accounts.management import working
from jenny.accounts.models import Account, Job, Workspace
from jenny.workspace import acts, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restoring.sources import SnapshotSource
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions import record
from jenny.workspace.versions.writes import RunNote
from memory.dream import aftermath
from memory.history import cursors
from memory.management.dreaming import reaping
from memory.management.snapshots import store_of
from memory.management.voiding import Voiding
from memory.models import DreamEntry, DreamRun, DreamState, SnapshotState, StagedHunk
from memory.restore import engine, telling
from memory.restore.preparing import prepare
from memory.restore.values import Asked, Hands, Prepared, Progress, Restored

log = logging.getLogger(__name__)

KIND = "restore"
_BY_COMMAND = "restore-by-command"
_LOCK_SECONDS = 20.0
_ROWS = 100
_ROWS_AT_ONCE = 500
# Who else keeps books on files that a restore may take back.
type Touched = Callable[[Workspace, Iterable[str], datetime], None]
_TOUCHED: list[Touched] = []
_STOPPED = (
    "Stopped, since the workspace was restored meanwhile. What it had written is in a version of "
    "its own; its entries come again."
)


def register_touched(hear: Touched) -> None:
    """Have *hear* told, under the workspace's lock and before they land, which files become again
    what they were at a time."""
    if hear not in _TOUCHED:
        _TOUCHED.append(hear)


def preview(workspace: Workspace, asked: str, path: str = "") -> tuple[Snapshot, Prepared]:
    """What restoring *path* (empty: everything) from a snapshot would do now, by its id, its number
    or ``latest``.

    :raises WorkspaceError: there is nothing to restore from, and why.
    """
    store = store_of(workspace)
    name = store.resolve(asked)
    with store.open() as repo:
        shot = store.get(repo, name)
        source = SnapshotSource(repo, shot, path)
        root = paths.real_root(workspace.root)
        return shot, prepare(root, store, repo, source, path=source.path)


def note_edits(workspace: Workspace) -> None:
    """Have edits that were made outside noted, as a restore does first: what a hand took out of the
    memory stays away, so the plan may be another one then."""
    with contextlib.suppress(WorkspaceError):
        record.commit_pending(workspace.root)


def waiting_hunks(workspace: Workspace) -> int:
    """How many changes wait for a person's yes."""
    return StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING).count()


def begin(
    workspace: Workspace, account: Account | None, name: str, path: str, *, token: str
) -> Job:
    """Ask for a restore as it was shown (``Plan.token``); the job of one that is under way
    already, if there is one."""
    arguments = {"snapshot": name, "path": path, "token": token}
    return working.begin(workspace, account, KIND, arguments)


def work(job: Job) -> working.Ended:
    """Do what a job asks for."""
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
    sentence = telling.told(f"snapshot {name}", path, done)
    return working.Ended(sentence, _result(done, path))


def _still_mine(job: Job) -> None:
    """:raises JobLost: the job was taken for dead meanwhile."""
    if not job.beat():
        raise JobLost


def by_command(workspace: Workspace, name: str, path: str, *, progress: Progress) -> Restored:
    """Restore in this process.

    :raises WorkspaceError: nothing was changed, and why.
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
    """Restore from the snapshot with the id *name*, which is kept from being pruned meanwhile."""
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
            Asked(name=f"snapshot {name}", path=plain, account=account, expect=expect),
            hands=hands(workspace, check, then=lambda: _when(store, name)),
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
    """The snapshot before counts as one of the day; what came after it is a change to be saved."""
    now = timezone.now()
    row = SnapshotState.of(workspace, now)
    row.note(replace(row.seen, taken_at=now))


def hands(
    workspace: Workspace, check: Callable[[], None], *, then: Callable[[], datetime]
) -> Hands:
    """What a restore or an import needs of the database. *then*: of when its files are."""
    staged = Voiding(workspace)

    def hear(found: Iterable[str]) -> None:
        files = tuple(found)
        for one in _TOUCHED:
            one(workspace, files, then())

    return Hands(
        stop=lambda: stop_dream(workspace),
        offer=lambda entries: _offer(workspace, entries),
        void=staged.void,
        unvoid=staged.take_back,
        check=check,
        hear=hear,
    )


def _offer(workspace: Workspace, entries: tuple[int, ...]) -> None:
    """Have entries shown to Dream again; there may be very many."""
    place = DreamEntry.Place.REOFFERED
    DreamEntry.objects.bulk_create(
        [DreamEntry(workspace=workspace, cursor=cursor, place=place) for cursor in entries],
        _ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["workspace", "cursor"],
        update_fields=["place", "tries", "last_status"],
    )


def stop_dream(workspace: Workspace) -> str:
    """End a run of Dream that is under way, with a version of what it wrote; what there is to say
    of it, if any was. The workspace's lock is held, under which its next write is refused."""
    run = DreamRun.objects.filter(workspace=workspace, state=DreamRun.State.RUNNING).first()
    if run is None:
        return ""
    root, before = workspace.root, run.cursor_from or 0
    facts: dict[str, object] = {}
    with contextlib.suppress(WorkspaceError):
        now = cursors.dream_cursor(root)
        moved = now if run.cursor_from is not None and now != before else None
        facts["cursor_to"] = moved
        record.commit_run(root, RunNote(run.name, aftermath.INTERRUPTED, (before, moved)))
    mine = DreamRun.objects.filter(pk=run.pk, state=DreamRun.State.RUNNING)
    state = DreamRun.State.ENDED
    won = mine.update(state=state, status="interrupted", ended_at=Now(), sentence=_STOPPED, **facts)
    if not won:
        return ""
    DreamState.objects.filter(workspace=workspace).update(epoch=F("epoch") + 1)
    log.info("dream.stopped_for_restore", extra={"run": run.pk})
    run.refresh_from_db()
    reaping.tell(run)
    return "A run of Dream that was under way was stopped; its entries come again."


def after_death(job: Job) -> str:
    """What is so when the process of a restore has died: what it had begun is settled first."""
    workspace = job.workspace
    name, path = str(job.arguments["snapshot"]), str(job.arguments["path"])
    with contextlib.suppress(WorkspaceError):
        store_of(workspace).unpin(_pin(job))
    root = paths.real_root(workspace.root)
    with acts.locked(root, timeout=_LOCK_SECONDS):
        with contextlib.suppress(WorkspaceError):
            record.commit_pending(root)
        _, prepared = preview(workspace, name, path)
    if prepared.is_nothing:
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


def _result(done: Restored, path: str) -> dict[str, Any]:
    """What a job's page shows and links to."""
    links = []
    if not done.prepared.is_nothing:
        query = f"?{urlencode({'path': path})}" if path else ""
        undo = reverse("snapshot_restore", args=[done.before.id])
        diff = reverse("snapshot_diff", args=[done.before.id])
        links = [
            {"href": f"{undo}{query}", "label": "Undo this restore…"},
            {"href": f"{diff}{query}", "label": "What changed"},
        ]
    lists = []
    if rows := telling.left_out(done.prepared):
        title = "Left out, since you had it forgotten"
        lists.append(
            {"title": title, "rows": [f"{file}: {text}" for file, text, _ in rows[:_ROWS]]}
        )
    if done.prepared.plan.left:
        rows_left = [row.sentence for row in done.prepared.plan.left[:_ROWS]]
        lists.append({"title": "Left as it is", "rows": rows_left})
    return {"links": links, "lists": lists, "before": done.before.id}


ABOUT = working.Kind("memory.restore", "Restore", ("/snapshots/", "Snapshots"), after_death)
