"""Snapshots of workspaces: taking, pruning and checking."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.agent.clock import zone_of
from jenny.workspace import bulk_replace_journal, config, paths
from jenny.workspace.check import Finding
from jenny.workspace.errors import LockTimeout, WorkspaceError
from jenny.workspace.snapshots import reader, retention
from jenny.workspace.snapshots.create import create, note_snapshot, read_activity
from jenny.workspace.snapshots.scan import scan
from jenny.workspace.snapshots.store import LOCK_SECONDS, Store
from jenny.workspace.snapshots.values import Outcome, Plan, Pruned, Trigger
from jenny.workspace.versions.commits import commit_pending
from memory.models import SnapshotState
from memory.services import dream_scheduler

log = logging.getLogger(__name__)

PRUNE_EVERY = timedelta(hours=24)
# Longest wait of a Dream run for another snapshot.
DREAM_SECONDS = 20.0
# Workspaces and seconds of one scan; the other workspaces wait for the next one.
SCAN_WORKSPACES = 2000
SCAN_SECONDS = 200.0
# One scan at a time in a process: a large workspace may take longer than the interval, and the
# queue's other thread is for urgent tasks (``chat.reap``).
_SCANNING = threading.Lock()


@dataclass(frozen=True)
class SnapshotAttempt:
    """The result of a snapshot whose failure must not stop the caller.

    ``outcome`` is ``None`` without a snapshot; ``message`` describes either case.
    """

    outcome: Outcome | None
    message: str


def store_of(workspace: Workspace) -> Store:
    return Store(settings.JENNY_DATA.snapshots / f"{workspace.pk}.git")


def take_snapshot(
    workspace: Workspace,
    trigger: Trigger,
    *,
    now: datetime | None = None,
    label: str = "",
    reread: bool = False,
    timeout: float = LOCK_SECONDS,
) -> Outcome:
    """Take a snapshot unless the newest one holds the same, and record it.

    Raises:
        WorkspaceError: none was taken; that is recorded, too.
    """
    now = now or timezone.now()
    row = SnapshotState.of(workspace, now)
    try:
        outcome = create(
            store_of(workspace),
            workspace.root,
            trigger,
            now=now,
            label=label,
            reread=reread,
            timeout=timeout,
        )
    except LockTimeout:
        raise  # another process is taking one
    except WorkspaceError as error:
        row.note_failure(error.message, now)
        raise
    row.note(note_snapshot(row.seen, outcome.fingerprint, now))
    row.note_failure("", now)
    log.info(
        "snapshot.taken" if outcome.is_new else "snapshot.unchanged",
        extra={"workspace": str(workspace.pk), "snapshot": outcome.snapshot.id, "trigger": trigger},
    )
    return outcome


def before_dream(workspace: Workspace, *, now: datetime | None = None) -> SnapshotAttempt:
    """Take the snapshot before a Dream run; failure is a value, never an error."""
    return _attempt(workspace, "dream", "this run", now)


def before_tidying(workspace: Workspace, *, now: datetime | None = None) -> SnapshotAttempt:
    """Take the snapshot before the gardener writes; failure is a value, never an error."""
    return _attempt(workspace, "tidy", "the gardener", now)


def _attempt(
    workspace: Workspace, trigger: Trigger, what: str, now: datetime | None
) -> SnapshotAttempt:
    none = f"There is no snapshot of the state before {what}"
    try:
        outcome = take_snapshot(workspace, trigger, now=now, timeout=DREAM_SECONDS)
    except WorkspaceError as error:
        return SnapshotAttempt(None, f"{none}. {error.message}")
    except (OSError, DatabaseError) as error:
        log.exception("snapshot.failed", extra={"workspace": str(workspace.pk)})
        return SnapshotAttempt(None, f"{none} ({type(error).__name__}).")
    return SnapshotAttempt(outcome, outcome.message)


def before_upgrade(now: datetime | None = None) -> list[str]:
    """Take a snapshot of every workspace before migrations; return the problems.

    The tables are still the old ones, so nothing is stored and only columns of every version are
    read.
    """
    troubles = []
    for key, slug in Workspace.objects.order_by("slug").values_list("pk", "slug"):
        root = settings.JENNY_DATA.workspaces / slug
        if not root.is_dir():
            continue
        store = Store(settings.JENNY_DATA.snapshots / f"{key}.git")
        try:
            create(store, root, "upgrade", now=now or timezone.now(), timeout=DREAM_SECONDS)
        except WorkspaceError as error:
            troubles.append(f"{slug}: {error.message}")
    return troubles


def take_due_snapshots(row: SnapshotState, now: datetime) -> Outcome | None:
    """Scan a workspace and take a snapshot when it is due.

    Raises:
        WorkspaceError: it is due and was not taken.
    """
    try:
        seen, trigger = read_activity(row.seen, scan(row.workspace.root).fingerprint, now)
    except WorkspaceError as error:
        row.note_failure(error.message, now)
        raise
    row.note(seen)
    outcome = None
    if trigger is not None:
        _keep_versions(row.workspace)
        # The process that has the store takes the same snapshot; the next scan sees it.
        with contextlib.suppress(LockTimeout):
            outcome = take_snapshot(row.workspace, trigger, now=now, timeout=0)
    if row.pruned_at is None or not timedelta(0) <= now - row.pruned_at < PRUNE_EVERY:
        _let_go(row.workspace, now)
    return outcome


def _keep_versions(workspace: Workspace) -> None:
    """Commit quiet edits of the memory files to versions, so that each day has its state."""
    try:
        commit_pending(workspace.root)
    except WorkspaceError as error:
        log.warning(
            "versions.failed",
            extra={"workspace": str(workspace.pk), "cause": type(error).__name__},
        )


def _let_go(workspace: Workspace, now: datetime) -> None:
    """Prune by the rules; problems are recorded, and the next day tries again."""
    row = SnapshotState.of(workspace, now)
    with contextlib.suppress(OSError, WorkspaceError):
        # Left by restores that are over or were interrupted.
        bulk_replace_journal.sweep(paths.real_root(workspace.root))
    try:
        keep_to_the_rules(workspace, now)
    except LockTimeout:
        return  # the next look tries again
    except WorkspaceError as error:
        row.note_failure(error.message, now)
        row.pruned_at = now
        row.save(update_fields=["pruned_at"])


def plan(workspace: Workspace, *, now: datetime | None = None, keep_for: str = "") -> Plan:
    """Plan the pruning by the workspace's setting or by *keep_for*.

    Raises:
        WorkspaceError: the store cannot be used.
    """
    kept = config.load_config(workspace.root)
    store = store_of(workspace)
    shots = reader.list_snapshots(store)
    pinned: frozenset[str] = frozenset()
    if shots:
        with store.open() as repo:
            pinned = frozenset(store.pinned(repo).values())
    return retention.plan_retention(
        shots,
        keep_for or str(kept.snapshots.keep_for),
        now=now or timezone.now(),
        zone=zone_of(str(kept.agents.defaults.timezone or workspace.owner.time_zone)),
        pinned=pinned,
    )


def prune(workspace: Workspace, agreed: Plan, *, now: datetime | None = None) -> Pruned:
    """Delete what a person confirmed, and keep to that retention from now on.

    Raises:
        WorkspaceError: not all of it was deleted.
    """
    now = now or timezone.now()
    row = SnapshotState.of(workspace, now)
    done = retention.prune_snapshots(store_of(workspace), agreed)
    row.agreed_keep_for, row.pruned_at = agreed.keep_for, now
    row.save(update_fields=["agreed_keep_for", "pruned_at"])
    return done


def agree_retention(workspace: Workspace, keep_for: str) -> None:
    """Record a retention that a person chose and that deletes nothing now."""
    row = SnapshotState.of(workspace, timezone.now())
    row.agreed_keep_for = keep_for
    row.save(update_fields=["agreed_keep_for"])


def keep_to_the_rules(workspace: Workspace, now: datetime) -> Pruned | None:
    """Prune by the rules. A retention shorter than the confirmed one deletes nothing before a
    person confirmed it (``waiting``).

    Raises:
        WorkspaceError: not all of it was deleted.
    """
    row = SnapshotState.of(workspace, now)
    wanted = plan(workspace, now=now)
    if waiting(row, wanted):
        wanted = plan(workspace, now=now, keep_for=row.agreed_keep_for or "forever")
    store = store_of(workspace)
    done = retention.prune_snapshots(store, wanted) if store.exists else None
    row.agreed_keep_for, row.pruned_at = wanted.keep_for, now
    row.save(update_fields=["agreed_keep_for", "pruned_at"])
    return done


def waiting(row: SnapshotState, wanted: Plan) -> bool:
    """True when *wanted* deletes by a retention that is not confirmed."""
    return bool(wanted.expired) and retention.keeps_shorter(
        wanted.keep_for, row.agreed_keep_for or "forever"
    )


def check_snapshots(workspace: Workspace, *, repair: bool) -> Iterator[Finding]:
    store = store_of(workspace)
    path = str(store.path.relative_to(settings.JENNY_DATA.root))
    sentences = _broken(store)
    if sentences and repair:
        yield from _repaired(workspace, path, sentences)
    else:
        for message in sentences:
            cure = "Repair saves anew what the workspace still has; older content may be lost."
            yield Finding(path, message, cure)
    row = SnapshotState.objects.filter(workspace=workspace).first()
    if row is None:
        return
    if row.failure and row.failed_at is not None:
        own = zone_of(workspace.owner.time_zone)
        when = f"{row.failed_at.astimezone(own):%Y-%m-%d %H:%M}"
        sentence = f"The last snapshot failed ({when}): {row.failure}"
        yield Finding(path, sentence, "Put that right; it is tried again every five minutes.")
    with contextlib.suppress(WorkspaceError):
        wanted = plan(workspace)
        if waiting(row, wanted):
            cure = "Agree with: python manage.py snapshot prune --yes. Until then they stay."
            yield Finding(path, f"The horizon was shortened. {wanted.message}", cure, "note")


def _broken(store: Store) -> list[str]:
    try:
        return list(reader.check_snapshots(store))
    except WorkspaceError as error:
        return [error.message]


def _repaired(workspace: Workspace, path: str, before: list[str]) -> Iterator[Finding]:
    """Save everything again and report what is repaired and what is lost."""
    try:
        retention.set_aside_broken(store_of(workspace))
        take_snapshot(workspace, "manual", label="repair", reread=True)
    except WorkspaceError as error:
        yield Finding(path, error.message, "Look into it, then repair again.")
        return
    left = _broken(store_of(workspace))
    for message in before:
        is_right = message not in left
        cure = "Saved anew." if is_right else "It is in no file any more; delete that snapshot."
        yield Finding(path, message, cure, repaired=is_right)


def scan_due_workspaces() -> None:
    """Scan the workspaces that are due and take the snapshots that are due.

    While a scan runs in this process, another one does nothing; its workspaces are scanned five
    minutes later.
    """
    if not _SCANNING.acquire(blocking=False):
        return
    try:
        _scan_due_workspaces()
    finally:
        _SCANNING.release()


def _scan_due_workspaces() -> None:
    now = timezone.now()
    ends = time.monotonic() + SCAN_SECONDS
    SnapshotState.make_missing(now, most=SCAN_WORKSPACES)
    for row in SnapshotState.due(now, most=SCAN_WORKSPACES):
        if time.monotonic() > ends:
            return
        if not row.claim(now):
            continue
        try:
            # Settings that were edited by hand or restored move the deadline as well.
            with contextlib.suppress(WorkspaceError):  # the snapshot meets and logs it, too
                dream_scheduler.keep_schedule(row.workspace, timezone.now())
            take_due_snapshots(row, timezone.now())
        except WorkspaceError as error:
            log.warning(
                "snapshot.failed",
                extra={"workspace": str(row.pk), "cause": type(error).__name__},
            )
        except Exception:  # trouble in one workspace must not stop the others
            log.exception("snapshot.failed", extra={"workspace": str(row.pk)})
