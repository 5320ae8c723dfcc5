"""Takes over runs whose holder is dead, and sends notifications that are missing.

It happens under the workspace's lock, which every write of the holder takes as well: earlier
writes are committed as those of an interrupted run, and later ones are refused.
"""

import logging
from pathlib import Path

from jenny.workspace import config, paths, transactions
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from jenny.workspace.write_rules import Actor
from memory.dream import finalize
from memory.dream.outcome import counters
from memory.dream.reports import artifacts, notifications, outcomes
from memory.dream.review.result import INTERRUPTED, ReviewResult
from memory.dream.review.review_pass import SUFFIX
from memory.history import cursors
from memory.models import DreamRun
from memory.services import large_prunes
from memory.services.dream import alerts
from memory.services.dream.run_store import BEGUN

log = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
_EVERY = "agents.defaults.dream.reviewEveryRuns"
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
    DreamRun.objects.filter(pk=run.pk).update(message=outcomes.INTERRUPTED, **facts)
    run.refresh_from_db()
    large_prunes.note_large_prune(run)
    notify_untold(run)
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
        note = RunNote(run.name, finalize.INTERRUPTED, (before, moved))
        # An interrupted review has a run name of its own.
        other = RunNote(f"{run.name}{SUFFIX}", finalize.INTERRUPTED, (before, None))
        commits.commit_pending(root, runs=[note, other])
        since = run.started_at.timestamp() if run.started_at else 0.0
        names = (run.name, other.run)
        facts["commits"] = [c for name in names for c in artifacts.commits_of(root, name, since)]
        facts["archived"] = [id_ for name in names for id_ in artifacts.archived_by(root, name)]
    except WorkspaceError as error:
        facts["notes"] = [error.message]
    try:
        counted = counters.load(root)
        status = run.review.get("status")
        if status == BEGUN:
            facts["review"] = ReviewResult(due=run.review["due"], why=INTERRUPTED).json
        if status and status != "paused":
            failed = status in (BEGUN, "failed")
            counted = counters.reviewed(counted, run.review["due"], _every(root), failed=failed)
        raised = counters.reached(counted, "fault", is_empty=None, cause=_CAUSE)
        counted = counters.after(counted, "fault", is_empty=None, gave_up=False)
        counters.store(root, counted, Actor("pipeline", run=run.name))
        alerts.store_alarms(run, counters.standing(counted, _CAUSE), raised)
    except WorkspaceError as error:
        log.warning("dream.not_counted", extra={"run": run.pk, "cause": type(error).__name__})
    return facts


def _every(root: Path) -> int:
    """Return after how many runs a review is due; the default when the settings cannot be read."""
    try:
        every: int = config.load_config(root).get(_EVERY)
    except WorkspaceError:
        return _DEFAULT
    return every


def notify_untold(run: DreamRun) -> None:
    """Notify the requester; a failure is tried again later."""
    if run.was_told:
        return
    try:
        notifications.notify_requester(run.asker, run.told)
    except Exception:  # the outermost edge: the run is over, whoever can be told of it
        log.exception("dream.not_told", extra={"run": run.pk})
        return
    DreamRun.objects.filter(pk=run.pk).update(was_told=True)


def recover_runs() -> None:
    """Take over dead runs and send missing notifications."""
    for run in list(DreamRun.dead()[:50]):
        try:
            take_over(run)
        except Exception:  # one workspace's trouble is not the others'
            log.exception("dream.reap_broke", extra={"run": run.pk})
    for run in list(DreamRun.objects.filter(state=DreamRun.State.ENDED, was_told=False)[:50]):
        notify_untold(run)
