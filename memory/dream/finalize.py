"""What is done at the end of a run, whatever happened in it: each step by itself."""

from jenny.workspace.errors import VersionsOff
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from memory.dream import unexpected_changes
from memory.dream.outcome import counters, cursor_rule
from memory.dream.outcome.counters import Progress
from memory.dream.reports import artifacts, report
from memory.dream.run_context import RunContext
from memory.dream.values import Trigger
from memory.history import compaction

SUBJECTS: dict[Trigger, str] = {
    "manual": "dream: manual run",
    "command": "dream: manual run",
    "scheduled": "dream: scheduled run",
}
INTERRUPTED = "dream: interrupted run"


def finalize_run(ground: RunContext, course: Progress, cause: str) -> None:
    done = ground.done
    passed = done.review
    if course == "nothing" and passed is not None and passed.counts and passed.is_fault:
        # With nothing to read, the review's fault is the run's.
        course, cause = "fault", passed.why
    try:
        with ground.guarded("version"):
            _commit(ground)
        with ground.guarded("archive"):
            if any(row.ok and row.removed for row in done.attempts):
                done.archived = artifacts.archived_by(ground.root, ground.job.run)
        with ground.guarded("rest"):
            if ground.rest is not None:
                unexpected_changes.find_unexpected_changes(ground.root, ground.rest)
        with ground.guarded("report"):
            done.report = report.make_report(
                ground.root,
                attempts=done.attempts,
                verdicts=done.decision.verdicts,
                archived=done.archived,
                commits=done.commits,
                snapshot=done.snapshot,
            ).json
        with ground.guarded("history"), ground.mine():
            warning = compaction.compact(ground.root).warning
            if warning:
                done.notes.append(warning)
    finally:
        with ground.guarded("counters"):
            _count(ground, course, cause)


def _commit(ground: RunContext) -> None:
    done = ground.done
    subject = SUBJECTS[ground.job.trigger]
    if done.decision.status in ("interrupted", "paused"):
        subject = INTERRUPTED
    note = RunNote(ground.job.run, subject, (done.cursor_from or 0, done.cursor_to))
    try:
        with ground.mine():
            commits.commit_run(ground.root, note)
    except VersionsOff as error:
        message = f"Versions are off. {error.message}"
        if message not in done.notes:
            done.notes.append(message)
        return
    done.commits = artifacts.commits_of(ground.root, ground.job.run, ground.began)


def _count(ground: RunContext, course: Progress, cause: str) -> None:
    """Count the run, and see whether a count has reached the alarm."""
    done = ground.done
    tagged = [row for row in done.batch.entries if cursor_rule.is_tagged(row)]
    known = {row.cursor for row in done.decision.verdicts if row.kind == "already_known"}
    is_empty = None
    was_shown = done.said is not None and done.said.was_seen
    if was_shown and any(row.cursor not in known for row in tagged):
        is_empty = not any(row.ok for row in done.attempts)
    with ground.mine():
        before = counters.load(ground.root)
        if done.review is not None and done.review.counts:
            every = ground.job.config.get("agents.defaults.dream.reviewEveryRuns")
            failed = done.review.status == "failed"
            before = counters.reviewed(before, done.review.due, every, failed=failed)
        done.alarms = counters.reached(
            before,
            course,
            is_empty=is_empty,
            cause=cause,
            gave_up=bool(done.decision.set_aside),
        )
        gave_up = done.decision.status == "gave_up"
        now = counters.after(before, course, is_empty=is_empty, gave_up=gave_up)
        done.standing = counters.standing(now, cause)
        counters.store(ground.root, now, ground.actor)
