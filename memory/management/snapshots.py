"""Snapshots of the instance's workspaces: taken, let go, watched over."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.accounts.zones import zone
from jenny.workspace import config, paths
from jenny.workspace.check import Finding
from jenny.workspace.errors import LockTimeout, WorkspaceError
from jenny.workspace.snapshots import pruning, retention, shelf, timing, verifying
from jenny.workspace.snapshots.scan import scan
from jenny.workspace.snapshots.store import LOCK_SECONDS, Store
from jenny.workspace.snapshots.taking import create
from jenny.workspace.snapshots.values import Outcome, Plan, Pruned, Trigger
from jenny.workspace.swap import staging
from jenny.workspace.versions.record import commit_pending
from memory.models import SnapshotState

log = logging.getLogger(__name__)

PRUNE_EVERY = timedelta(hours=24)
# A Dream run does not wait longer for somebody else's snapshot.
DREAM_SECONDS = 20.0


@dataclass(frozen=True)
class Attempt:
    """What became of a snapshot that something else was not to fail for.

    ``outcome`` is ``None`` when there is none; ``sentence`` says what happened in either case.
    """

    outcome: Outcome | None
    sentence: str


def store_of(workspace: Workspace) -> Store:
    """The store of a workspace's snapshots."""
    return Store(settings.JENNY_DATA.snapshots / f"{workspace.pk}.git")


def take(
    workspace: Workspace,
    trigger: Trigger,
    *,
    now: datetime | None = None,
    label: str = "",
    reread: bool = False,
    timeout: float = LOCK_SECONDS,
) -> Outcome:
    """Take a snapshot, unless the newest one holds the same, and note it.

    :raises WorkspaceError: none was taken, and why; that is noted too.
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
        row.note_failure(error.sentence, now)
        raise
    row.note(timing.taken(row.seen, outcome.fingerprint, now))
    row.note_failure("", now)
    log.info(
        "snapshot.taken" if outcome.is_new else "snapshot.unchanged",
        extra={"workspace": str(workspace.pk), "snapshot": outcome.snapshot.id, "trigger": trigger},
    )
    return outcome


def before_dream(workspace: Workspace, *, now: datetime | None = None) -> Attempt:
    """The snapshot at the beginning of a Dream run; its failure is a value, never an error."""
    return _attempt(workspace, "dream", "this run", now)


def before_tidying(workspace: Workspace, *, now: datetime | None = None) -> Attempt:
    """The snapshot before the gardener writes pages; its failure is a value, never an error."""
    return _attempt(workspace, "tidy", "the gardener", now)


def _attempt(workspace: Workspace, trigger: Trigger, what: str, now: datetime | None) -> Attempt:
    none = f"There is no snapshot of the state before {what}"
    try:
        outcome = take(workspace, trigger, now=now, timeout=DREAM_SECONDS)
    except WorkspaceError as error:
        return Attempt(None, f"{none}. {error.sentence}")
    except (OSError, DatabaseError) as error:
        log.exception("snapshot.failed", extra={"workspace": str(workspace.pk)})
        return Attempt(None, f"{none} ({type(error).__name__}).")
    return Attempt(outcome, outcome.sentence)


def before_upgrade(now: datetime | None = None) -> list[str]:
    """A snapshot of every workspace, before the database is migrated; what went wrong.

    The tables are still the old ones, so nothing is noted in any, and only what every version
    has is read.
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
            troubles.append(f"{slug}: {error.sentence}")
    return troubles


def look(row: SnapshotState, now: datetime) -> Outcome | None:
    """Look at a workspace, and take the snapshot that is due.

    :raises WorkspaceError: it is due and was not taken.
    """
    try:
        seen, trigger = timing.look(row.seen, scan(row.workspace.root).fingerprint, now)
    except WorkspaceError as error:
        row.note_failure(error.sentence, now)
        raise
    row.note(seen)
    outcome = None
    if trigger is not None:
        _keep_versions(row.workspace)
        # Whoever holds the store takes the same snapshot; the next look sees it.
        with contextlib.suppress(LockTimeout):
            outcome = take(row.workspace, trigger, now=now, timeout=0)
    if row.pruned_at is None or not timedelta(0) <= now - row.pruned_at < PRUNE_EVERY:
        _let_go(row.workspace, now)
    return outcome


def _keep_versions(workspace: Workspace) -> None:
    """Edits of the memory files that nobody dreamed of get their versions when it is quiet, so
    that a file can be had as of any day."""
    try:
        commit_pending(workspace.root)
    except WorkspaceError as error:
        log.warning(
            "versions.failed",
            extra={"workspace": str(workspace.pk), "cause": type(error).__name__},
        )


def _let_go(workspace: Workspace, now: datetime) -> None:
    """Keep to the rules; what stands in the way is noted, and tried again the next day."""
    row = SnapshotState.of(workspace, now)
    with contextlib.suppress(OSError, WorkspaceError):
        # What restores that are over, or were cut short, left in the workspace.
        staging.sweep(paths.real_root(workspace.root))
    try:
        keep_to_the_rules(workspace, now)
    except LockTimeout:
        return  # the next look tries again
    except WorkspaceError as error:
        row.note_failure(error.sentence, now)
        row.pruned_at = now
        row.save(update_fields=["pruned_at"])


def plan(workspace: Workspace, *, now: datetime | None = None, keep_for: str = "") -> Plan:
    """What pruning would delete, by the workspace's setting or as if it were *keep_for*.

    :raises WorkspaceError: the store cannot be used.
    """
    kept = config.load(workspace.root)
    store = store_of(workspace)
    shots = shelf.snapshots(store)
    pinned: frozenset[str] = frozenset()
    if shots:
        with store.open() as repo:
            pinned = frozenset(store.pinned(repo).values())
    return retention.plan(
        shots,
        keep_for or str(kept.get("snapshots.keepFor")),
        now=now or timezone.now(),
        zone=zone(str(kept.get("agents.defaults.timezone") or workspace.owner.time_zone)),
        pinned=pinned,
    )


def prune(workspace: Workspace, agreed: Plan, *, now: datetime | None = None) -> Pruned:
    """Delete what a person agreed to, and hold to that horizon from now on.

    :raises WorkspaceError: not all of it was deleted, and why.
    """
    now = now or timezone.now()
    row = SnapshotState.of(workspace, now)
    done = pruning.prune(store_of(workspace), agreed)
    row.agreed_keep_for, row.pruned_at = agreed.keep_for, now
    row.save(update_fields=["agreed_keep_for", "pruned_at"])
    return done


def agree(workspace: Workspace, keep_for: str) -> None:
    """Note a horizon that a person chose and that deletes nothing now."""
    row = SnapshotState.of(workspace, timezone.now())
    row.agreed_keep_for = keep_for
    row.save(update_fields=["agreed_keep_for"])


def keep_to_the_rules(workspace: Workspace, now: datetime) -> Pruned | None:
    """Delete what the rules let go. Under a horizon that is shorter than the one agreed to,
    nothing is deleted by it before a person was told what (``waiting``).

    :raises WorkspaceError: not all of it was deleted, and why.
    """
    row = SnapshotState.of(workspace, now)
    wanted = plan(workspace, now=now)
    if waiting(row, wanted):
        wanted = plan(workspace, now=now, keep_for=row.agreed_keep_for or "forever")
    store = store_of(workspace)
    done = pruning.prune(store, wanted) if store.exists else None
    row.agreed_keep_for, row.pruned_at = wanted.keep_for, now
    row.save(update_fields=["agreed_keep_for", "pruned_at"])
    return done


def waiting(row: SnapshotState, wanted: Plan) -> bool:
    """Whether *wanted* deletes by a horizon that nobody agreed to yet."""
    return bool(wanted.expired) and retention.is_shorter(
        wanted.keep_for, row.agreed_keep_for or "forever"
    )


def check(workspace: Workspace, *, repair: bool) -> Iterator[Finding]:
    """What is wrong with a workspace's snapshots, for ``check_workspace``."""
    store = store_of(workspace)
    path = str(store.path.relative_to(settings.JENNY_DATA.root))
    sentences = _broken(store)
    if sentences and repair:
        yield from _repaired(workspace, path, sentences)
    else:
        for sentence in sentences:
            cure = "Repair saves anew what the workspace still has; older content may be lost."
            yield Finding(path, sentence, cure)
    row = SnapshotState.objects.filter(workspace=workspace).first()
    if row is None:
        return
    if row.failure:
        told = f"{row.failed_at:%Y-%m-%d %H:%M} UTC"
        sentence = f"The last snapshot failed ({told}): {row.failure}"
        yield Finding(path, sentence, "Put that right; it is tried again every five minutes.")
    with contextlib.suppress(WorkspaceError):
        wanted = plan(workspace)
        if waiting(row, wanted):
            cure = "Agree with: python manage.py snapshot prune --yes. Until then they stay."
            yield Finding(path, f"The horizon was shortened. {wanted.sentence}", cure, "note")


def _broken(store: Store) -> list[str]:
    """What is damaged in a store."""
    try:
        return list(verifying.check(store))
    except WorkspaceError as error:
        return [error.sentence]


def _repaired(workspace: Workspace, path: str, before: list[str]) -> Iterator[Finding]:
    """Save everything anew, and say what is right again and what is lost."""
    try:
        pruning.set_aside_broken(store_of(workspace))
        take(workspace, "manual", label="repair", reread=True)
    except WorkspaceError as error:
        yield Finding(path, error.sentence, "Look into it, then repair again.")
        return
    left = _broken(store_of(workspace))
    for sentence in before:
        is_right = sentence not in left
        cure = "Saved anew." if is_right else "It is in no file any more; delete that snapshot."
        yield Finding(path, sentence, cure, repaired=is_right)
