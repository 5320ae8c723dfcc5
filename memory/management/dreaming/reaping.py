"""Runs whose holder is dead are taken over, and outcomes that nobody was told of are told.

Taking over happens under the workspace's lock, which every write of the holder takes as well: it
has written before, and that is committed as an interrupted run's; or it wakes up later and writes
nothing.
"""

import logging
from pathlib import Path

from jenny.workspace import acts, config, paths
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.rules import Actor
from jenny.workspace.versions import record
from jenny.workspace.versions.writes import RunNote
from memory.dream import aftermath
from memory.dream.judging import counters
from memory.dream.reporting import outcomes, telling, traces
from memory.dream.reviewing.review import SUFFIX
from memory.dream.reviewing.reviewed import INTERRUPTED, Reviewed
from memory.history import cursors
from memory.management import pruning
from memory.management.dreaming import alarms
from memory.management.dreaming.book import BEGUN
from memory.models import DreamRun

log = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
_EVERY = "agents.defaults.dream.reviewEveryRuns"
_DEFAULT = 12
_CAUSE = "The process that ran the last one has died."


def take_over(run: DreamRun) -> bool:
    """End a run whose holder is dead. ``False``: it lives, has ended, or is being taken over."""
    if not DreamRun.dead().filter(pk=run.pk).exists():
        return False
    run = DreamRun.objects.select_related("workspace").get(pk=run.pk)
    facts: dict[str, object] = {}
    try:
        root = paths.real_root(run.workspace.root)
        with acts.locked(root, timeout=LOCK_SECONDS):
            if not run.take_over():
                return False
            facts = _seen_to(run)
    except FileMissing:
        if not run.take_over():
            return False
    except WorkspaceError as error:
        # Somebody is at work in the workspace; the next look tries again.
        log.warning("dream.not_taken_over", extra={"run": run.pk, "cause": type(error).__name__})
        return False
    log.error("dream.interrupted", extra={"run": run.pk, "workspace": str(run.workspace_id)})
    DreamRun.objects.filter(pk=run.pk).update(sentence=outcomes.INTERRUPTED, **facts)
    run.refresh_from_db()
    pruning.note(run)
    tell(run)
    return True


def _seen_to(run: DreamRun) -> dict[str, object]:
    """Put what a dead run wrote into a version that says so, and count the run."""
    root = run.workspace.root
    facts: dict[str, object] = {"notes": []}
    before = run.cursor_from or 0
    try:
        now = cursors.dream_cursor(root)
        moved = now if run.cursor_from is not None and now != before else None
        facts["cursor_to"] = moved
        note = RunNote(run.name, aftermath.INTERRUPTED, (before, moved))
        # A review that was under way has a name of its own.
        other = RunNote(f"{run.name}{SUFFIX}", aftermath.INTERRUPTED, (before, None))
        record.commit_pending(root, runs=[note, other])
        since = run.started_at.timestamp() if run.started_at else 0.0
        names = (run.name, other.run)
        facts["commits"] = [c for name in names for c in traces.commits_of(root, name, since)]
        facts["archived"] = [id_ for name in names for id_ in traces.archived_by(root, name)]
    except WorkspaceError as error:
        facts["notes"] = [error.sentence]
    try:
        counted = counters.load(root)
        status = run.review.get("status")
        if status == BEGUN:
            facts["review"] = Reviewed(due=run.review["due"], why=INTERRUPTED).json
        if status and status != "paused":
            failed = status in (BEGUN, "failed")
            counted = counters.reviewed(counted, run.review["due"], _every(root), failed=failed)
        raised = counters.reached(counted, "fault", is_empty=None, cause=_CAUSE)
        counted = counters.after(counted, "fault", is_empty=None, gave_up=False)
        counters.store(root, counted, Actor("pipeline", run=run.name))
        alarms.keep(run, counters.standing(counted, _CAUSE), raised)
    except WorkspaceError as error:
        log.warning("dream.not_counted", extra={"run": run.pk, "cause": type(error).__name__})
    return facts


def _every(root: Path) -> int:
    """After how many runs a review is due, by the settings or, where they cannot be read, by
    default."""
    try:
        every: int = config.load(root).get(_EVERY)
    except WorkspaceError:
        return _DEFAULT
    return every


def tell(run: DreamRun) -> None:
    """Tell whoever asked; what fails is tried again by the next look."""
    if run.was_told:
        return
    try:
        telling.tell(run.asker, run.told)
    except Exception:  # the outermost edge: the run is over, whoever can be told of it
        log.exception("dream.not_told", extra={"run": run.pk})
        return
    DreamRun.objects.filter(pk=run.pk).update(was_told=True)


def reap() -> None:
    """Take dead runs over, and tell of outcomes that nobody was told of."""
    for run in list(DreamRun.dead()[:50]):
        try:
            take_over(run)
        except Exception:  # one workspace's trouble is not the others'
            log.exception("dream.reap_broke", extra={"run": run.pk})
    for run in list(DreamRun.objects.filter(state=DreamRun.State.ENDED, was_told=False)[:50]):
        tell(run)
