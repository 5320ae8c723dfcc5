"""Leases of runs, and the recovery of runs whose holder is dead.

The database row decides. A lease in Redis for each workspace makes a take-over known at once; when
Redis is down or empty, nobody loses a run. A take-over happens under the workspace's lock, which
every write of the holder takes as well: earlier writes are committed as those of an interrupted
run, and later ones are refused. Alarms and notifications that are missing are sent.
"""

import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Self

import redis
from django.db import DatabaseError, connections

from jenny.agent.cancellation import CancellationToken
from jenny.broker import redis_client
from jenny.workspace import config, paths, transactions
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from jenny.workspace.write_rules import Actor
from memory import signals
from memory.dream import outcome, report
from memory.dream.outcome import Alarm
from memory.dream.review import SUFFIX
from memory.dream.values import INTERRUPTED_SUBJECT, REVIEW_INTERRUPTED, ReviewResult
from memory.history import cursors
from memory.models import DreamRun, DreamState
from memory.models.dream import BEAT_SECONDS, DEAD_AFTER
from memory.services import large_prunes
from memory.services.dream_run_store import BEGUN

_LEASE_MS = int(DEAD_AFTER.total_seconds() * 1000)


def lease_key(workspace: object) -> str:
    return f"jenny:dream:{workspace}"


class LeaseRenewer:
    """Renews one run's lease during the block, and cancels the run when it is lost."""

    def __init__(self, run: DreamRun, watch: CancellationToken) -> None:
        self._run = run
        self._watch = watch
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"heart {run.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._lease()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=10)
        with contextlib.suppress(redis.RedisError):
            if redis_client().get(self._key) == self._value:
                redis_client().delete(self._key)

    @property
    def _key(self) -> str:
        return lease_key(self._run.workspace_id)

    @property
    def _value(self) -> bytes:
        return str(self._run.epoch).encode()

    def _beat(self) -> None:
        try:
            while not self._over.wait(BEAT_SECONDS):
                if not self._is_mine():
                    log.warning("dream.lost", extra={"run": self._run.pk})
                    self._watch.cancel("lost")
                    return
        finally:
            connections.close_all()

    def _is_mine(self) -> bool:
        """False when the run is known to be another holder's."""
        try:
            if not self._run.beat():
                return False
        except DatabaseError as error:
            # A holder without a heartbeat is dead after a while; every write checks again.
            log.warning("dream.beat_missed", extra={"cause": type(error).__name__})
        finally:
            connections.close_all()
        return self._lease()

    def _lease(self) -> bool:
        """Renew the lease. ``False``: a run with a later epoch has it."""
        try:
            found = redis_client().get(self._key)
            if isinstance(found, bytes) and found.isdigit() and int(found) > self._run.epoch:
                return False
            redis_client().set(self._key, self._value, px=_LEASE_MS)
        except redis.RedisError as error:
            log.info("dream.lease_missed", extra={"cause": type(error).__name__})
        return True


def store_alarms(run: DreamRun, standing: Sequence[Alarm], raised: Sequence[Alarm]) -> None:
    """Store the *standing* alarms for the pages, and send those that a run *raised*."""
    rows = [asdict(alarm) for alarm in standing]
    DreamState.objects.filter(workspace=run.workspace_id).update(alarms=rows)
    for alarm in raised:
        log.error(
            "dream.alarm",
            extra={"run": run.pk, "workspace": str(run.workspace_id), "alarm": alarm.kind},
        )
        try:
            signals.outcome_announced.send(
                sender=None,
                workspace=str(run.workspace_id),
                key=f"{run.name}:{alarm.kind}",
                message=alarm.message,
            )
        except Exception:  # the outermost edge: the alarm stands on every page all the same
            log.exception("dream.not_announced", extra={"run": run.pk})


log = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
_DEFAULT = 12
_CAUSE = "The process that ran the last one has died."


def take_over(run: DreamRun) -> bool:
    """End a run whose holder is dead. ``False``: it is alive, has ended, or is being taken over."""
    if not DreamRun.dead().filter(pk=run.pk).exists():
        return False
    run = DreamRun.objects.select_related("workspace").get(pk=run.pk)
    facts: dict[str, object] = {}
    try:
        root = paths.real_root(run.workspace.root)
        with transactions.lock_workspace(root, timeout=LOCK_SECONDS):
            if not run.take_over():
                return False
            facts = _seen_to(run)
    except FileMissing:
        if not run.take_over():
            return False
    except WorkspaceError as error:
        # The workspace is locked; the next attempt follows.
        log.warning("dream.not_taken_over", extra={"run": run.pk, "cause": type(error).__name__})
        return False
    log.error("dream.interrupted", extra={"run": run.pk, "workspace": str(run.workspace_id)})
    DreamRun.objects.filter(pk=run.pk).update(message=report.INTERRUPTED, **facts)
    run.refresh_from_db()
    large_prunes.note_large_prune(run)
    report_ended_run(run)
    return True


def _seen_to(run: DreamRun) -> dict[str, object]:
    """Commit what a dead run wrote to a version that says so, and count the run."""
    root = run.workspace.root
    facts: dict[str, object] = {"notes": []}
    before = run.cursor_from or 0
    try:
        now = cursors.dream_cursor(root)
        moved = now if run.cursor_from is not None and now != before else None
        facts["cursor_to"] = moved
        note = RunNote(run.name, INTERRUPTED_SUBJECT, (before, moved))
        # An interrupted review has a run name of its own.
        other = RunNote(f"{run.name}{SUFFIX}", INTERRUPTED_SUBJECT, (before, None))
        commits.commit_pending(root, runs=[note, other])
        since = run.started_at.timestamp() if run.started_at else 0.0
        names = (run.name, other.run)
        facts["commits"] = [c for name in names for c in report.commits_of(root, name, since)]
        facts["archived"] = [id_ for name in names for id_ in report.archived_by(root, name)]
    except WorkspaceError as error:
        facts["notes"] = [error.message]
    try:
        counted = outcome.load_counters(root)
        status = run.review.get("status")
        if status == BEGUN:
            facts["review"] = ReviewResult(due=run.review["due"], why=REVIEW_INTERRUPTED).json
        if status and status != "paused":
            failed = status in (BEGUN, "failed")
            counted = outcome.count_review(counted, run.review["due"], _every(root), failed=failed)
        raised = outcome.raise_alarms(counted, "fault", is_empty=None, cause=_CAUSE)
        counted = outcome.count_run(counted, "fault", is_empty=None, gave_up=False)
        outcome.store_counters(root, counted, Actor("pipeline", run=run.name))
        store_alarms(run, outcome.standing_alarms(counted, _CAUSE), raised)
    except WorkspaceError as error:
        log.warning("dream.not_counted", extra={"run": run.pk, "cause": type(error).__name__})
    return facts


def _every(root: Path) -> int:
    """Return after how many runs a review is due; the default when the settings cannot be read."""
    try:
        every: int = config.load_config(root).agents.defaults.dream.review_every_runs
    except WorkspaceError:
        return _DEFAULT
    return every


def report_ended_run(run: DreamRun) -> None:
    """Notify the requester; a failure is tried again later."""
    if run.is_reported:
        return
    try:
        signals.run_reported.send(sender=None, asker=run.asker, message=run.full_message)
    except Exception:  # the outermost edge: the run is over, whoever can be told of it
        log.exception("dream.not_told", extra={"run": run.pk})
        return
    DreamRun.objects.filter(pk=run.pk).update(is_reported=True)


def recover_runs() -> None:
    """Take over dead runs and send missing notifications."""
    for run in list(DreamRun.dead()[:50]):
        try:
            take_over(run)
        except Exception:  # one workspace's trouble is not the others'
            log.exception("dream.reap_broke", extra={"run": run.pk})
    for run in list(DreamRun.objects.filter(state=DreamRun.State.ENDED, is_reported=False)[:50]):
        report_ended_run(run)
