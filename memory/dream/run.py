"""One run of Dream from top to bottom, from the snapshot to the counters.

Snapshot, edits of others committed, batch, the model's turn, cursor rule, version, history kept
short, counters. Everything is read from disk when its turn comes. Each step after the model's turn
is guarded, so that one failure cannot hide the outcome. The run's holder may lose it at any moment;
whatever is written asks for that first, under the workspace's lock.
"""

import logging
import time
from dataclasses import replace

from jenny.agent.errors import WAITS, AgentError, Cancelled, CancelReason
from jenny.agent.limits import Limits
from jenny.agent.messages import Message
from jenny.agent.prompt import SystemPrompt
from jenny.agent.tokens import estimate, estimate_messages
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from memory import budgets
from memory.dream import model_turn, outcome, prompt, report, review, run_context
from memory.dream.batch import Digest, choose_batch, find_in_files, halve_batch
from memory.dream.model_turn import TurnResult
from memory.dream.outcome import Progress
from memory.dream.run_context import BROKE, LeaseLost, RunContext, RunInput, RunResult
from memory.dream.tools import Reminder, WriteSession, toolbox
from memory.dream.values import INTERRUPTED_SUBJECT, RUN_SUBJECTS, Decision, RunFacts
from memory.history import cursors, log
from memory.history.consolidator import CHUNK_CHARS
from memory.history.digest import Digester
from memory.history.entries import HistoryEntry

logger = logging.getLogger(__name__)


def run_dream(job: RunInput) -> RunResult:
    """Run it. Whatever goes wrong is in what is returned.

    Raises:
        LeaseLost: it was taken over.
    """
    return _Run(job).run()


class _Run(RunContext):
    def __init__(self, job: RunInput) -> None:
        super().__init__(job)
        self.progress: Progress = "fault"
        self.cause = ""
        self.snapshot_sentence = ""
        self.has_decided = False

    def run(self) -> RunResult:
        started = time.monotonic()
        try:
            self._run_steps()
        except LeaseLost:
            raise
        except Cancelled as cancelled:
            self._cancelled(cancelled.reason)
        except WorkspaceError as error:
            self._broke(error.message)
        except Exception:  # the run's edge: what breaks in between is an outcome, too
            logger.exception("dream.broke", extra={"run": self.job.run})
            self._broke(BROKE)
        finally:
            self.done.seconds = time.monotonic() - started
        finalize_run(self, self.progress, self.cause)
        self.done.seconds = time.monotonic() - started
        return self.done

    # --- Up to the model's turn -------------------------------------------------------------

    def _run_steps(self) -> None:
        job, done = self.job, self.done
        job.watch.limit(model_turn.run_limits(job.config, used_today=0).seconds)
        with self.guarded("snapshot"):
            done.snapshot, self.snapshot_sentence = job.snapshot()
            if not done.snapshot:
                done.notes.append(self.snapshot_sentence)
        done.cursor_from = cursors.dream_cursor(self.root)
        job.store.began(done.cursor_from, done.snapshot)
        self._begin()
        self.rest = run_context.record_files(self.root)
        review.review_if_due(self, self.snapshot_sentence)
        # Measured only now: others may have written until their edits were put into a version, and
        # the review has made room.
        near = tuple(row.file.path for row in budgets.gauge(self.root) if row.held_mark)
        chars = model_turn.chunk_chars(job.config, CHUNK_CHARS)
        digester = Digester(
            self.root, job.model, job.watch, job.store, zone=job.zone, chunk_chars=chars
        )
        # Nobody is asked to summarise anything once the day's tokens are used up, either.
        is_spent = bool(model_turn.day_is_spent(job.config, job.used_today + done.usage.total))
        digest: Digest = _as_it_is if is_spent else digester
        try:
            done.batch, cursor = choose_batch(self.root, job.store.lists(), digest)
        except AgentError as error:
            self._failed(model_turn.error_advice(error))
            return
        finally:
            done.usage += digester.usage
        facts = RunFacts(batch=done.batch, cursor=cursor, near_mark=near)
        if done.batch:
            facts = self._model_turn(facts)
        self._decide(facts)

    def _begin(self) -> None:
        """Put what others did into versions of theirs, and note what this run is."""
        note = RunNote(
            self.job.run, RUN_SUBJECTS[self.job.trigger], (self.done.cursor_from or 0, None)
        )
        try:
            with self.mine():
                commits.begin_run(self.root, note)
        except VersionsOff as error:
            self.done.notes.append(f"Versions are off. {error.message}")

    def _model_turn(self, facts: RunFacts) -> RunFacts:
        """Ask the model, unless it may not or cannot be asked."""
        job, done = self.job, self.done
        if why := model_turn.day_is_spent(job.config, job.used_today + done.usage.total):
            done.is_capped = True
            return replace(facts, ending="tokens", why=why, was_seen=False)
        already = self._staged()  # by the review
        session = self._new_session()
        try:
            turn = self._ask_model(session)
            smaller = halve_batch(done.batch)
            if turn.is_too_long and smaller:
                done.batch, done.usage = smaller, done.usage + turn.usage
                facts = replace(facts, batch=smaller)
                session = self._new_session()
                turn = self._ask_model(session)
        except AgentError as error:
            turn = model_turn.failed_turn(error)
        finally:
            # Also when something breaks in the middle: what was written, was written.
            done.attempts = tuple(session.attempts)
            done.notes += session.notes
        done.turn = turn
        done.usage += turn.usage
        done.steps += turn.steps
        done.notes += turn.notes
        if turn.ending in ("lost", "shutdown", "stopped", *WAITS):
            raise Cancelled(_reason(turn.ending))
        done.is_capped = bool(model_turn.describe_cap(turn.ending, Limits(max_run_tokens=0)))
        states = session.fact_states()
        return replace(
            facts,
            ending=turn.ending,
            why=turn.why,
            was_seen=turn.was_seen,
            is_outage=turn.is_outage,
            attempts=done.attempts,
            open_refusals=tuple(session.open_refusals),
            verdicts=tuple(session.verdicts.values()),
            staged=max(self._staged() - already, 0),
            # Only where a full file may hold the run is it asked; with many skills it takes long.
            known_in_files=find_in_files(self.root, done.batch, session.text)
            if facts.near_mark
            else frozenset(),
            uncovered={
                cursor: tuple((fact.name, fact.text) for fact in rows)
                for cursor, rows in states.uncovered.items()
            },
            landed_facts=states.landed,
        )

    def _new_session(self) -> WriteSession:
        """Return the write session for the batch as it is."""
        job = self.job
        return WriteSession(
            open_workspace(self.root, Actor("dream", run=job.run)),
            self.done.batch,
            fence=self.fence,
            run=job.run,
            rests_on=job.rests_on,
            proposals=job.proposals,
            zone=job.zone,
        )

    def _staged(self) -> int:
        """Count the run's changes that wait for approval so far."""
        proposals = self.job.proposals
        return proposals.count() if proposals is not None else 0

    def _ask_model(self, session: WriteSession) -> TurnResult:
        job = self.job
        bounds = model_turn.run_limits(
            job.config,
            used_today=job.used_today,
            used=self.done.usage.total,
            steps=self.done.steps,
        )
        box = toolbox(session, watch=job.watch, max_result_chars=bounds.max_result_chars)
        provider = job.model()
        system = prompt.system_prompt(
            self.root, batch=session.batch, snapshot=self.snapshot_sentence
        )
        first = prompt.first_message(session.batch, self.root, zone=job.zone)
        needs = model_turn.estimate_tokens(system, first, box.schemas())
        if why := model_turn.why_too_long(self.root, job.config, provider, needs):
            # No entry is to blame, and none has used up a try.
            return TurnResult(ending="failed", why=why, is_outage=True)
        turn = model_turn.ask_model(
            provider=provider,
            system=system,
            first=first,
            toolbox=box,
            reminder=Reminder(session),
            watch=job.watch,
            limits=bounds,
            spent=job.store.spent,
        )
        if turn.is_too_long and not _is_mostly_batch(system, first):
            why = f"{turn.why} {model_turn.describe_largest_file(self.root)}".strip()
            turn = replace(turn, why=why, was_seen=False, is_outage=True)
        return turn

    # --- From the outcome on ----------------------------------------------------------------

    def _decide(self, facts: RunFacts) -> None:
        """Apply the outcome. Entry states are saved before the cursor moves, so a crash in between
        loses no entry."""
        done = self.done
        self.has_decided = True
        decision = outcome.apply_cursor_rule(facts)
        done.decision = decision
        self.cause = decision.why
        self.progress = _progress_of(facts, decision)
        try:
            with self.mine():
                self.job.store.save_outcome(done.batch, decision)
                if decision.advance_to is not None:
                    cursors.set_dream_cursor(self.root, decision.advance_to, self.actor)
                    done.cursor_to = decision.advance_to
        except WorkspaceError as error:
            self._failed(f"Dream's place in the history could not be noted. {error.message}")

    # --- The edges ---------------------------------------------------------------------------

    def _failed(self, why: str) -> None:
        self.progress, self.cause = "fault", why
        self.done.decision = Decision(
            status="failed", why=why, verdicts=self.done.decision.verdicts
        )

    def _broke(self, why: str) -> None:
        """Fail the run. Entries that the model was shown come back as after any failed run, so that
        an entry at which things break every time is given up like others."""
        turn, batch = self.done.turn, self.done.batch
        self._failed(why)
        if turn is None or not turn.was_seen or turn.is_outage or self.has_decided:
            return
        facts = RunFacts(
            batch=batch,
            cursor=self.done.cursor_from or 0,
            ending="failed",
            why=why,
            attempts=self.done.attempts,
        )
        with self.guarded("decision"):
            self._decide(facts)

    def _cancelled(self, reason: CancelReason) -> None:
        """The process ends, or the run was lost."""
        if reason == "lost":
            raise LeaseLost
        if reason == "time":
            bounds = model_turn.run_limits(self.job.config, used_today=0)
            self.done.is_capped = True
            self._failed(model_turn.describe_cap("time", bounds))
            return
        if reason in WAITS:
            self.progress = "paused"
            self.done.decision = Decision(status="paused", why=WAITS[reason])
            return
        self.progress = "fault"
        why = "Jenny was shut down in the middle."
        self.done.decision = Decision(status="interrupted", why=why)


_REASONS: dict[str, CancelReason] = {"lost": "lost", "paused": "paused", "spent": "spent"}


def _is_mostly_batch(system: SystemPrompt, first: Message) -> bool:
    """True when a request was too long because of its entries, and not because of the files."""
    return estimate_messages([first]) > estimate(system.text)


def _as_it_is(entry: HistoryEntry) -> None:
    """A raw text is not summarised."""
    del entry


def _reason(ending: str) -> CancelReason:
    return _REASONS.get(ending, "shutdown")


def _progress_of(facts: RunFacts, decision: Decision) -> Progress:
    if decision.status == "nothing_pending":
        return "nothing"
    if decision.status in outcome.CAME_BACK or decision.status == "gave_up":
        return "fault" if facts.ending == "failed" else "stayed"
    return "advanced"


def finalize_run(context: RunContext, progress: Progress, cause: str) -> None:
    """Make the version, the report and the counts. The failure of one step stops no other."""
    done = context.done
    passed = done.review
    if progress == "nothing" and passed is not None and passed.counts and passed.is_fault:
        # With nothing to read, the review's fault is the run's.
        progress, cause = "fault", passed.why
    try:
        with context.guarded("version"):
            _commit(context)
        with context.guarded("archive"):
            if any(row.ok and row.removed for row in done.attempts):
                done.archived = report.archived_by(context.root, context.job.run)
        with context.guarded("rest"):
            if context.rest is not None:
                run_context.find_unexpected_changes(context.root, context.rest)
        with context.guarded("report"):
            done.report = report.make_report(
                context.root,
                attempts=done.attempts,
                verdicts=done.decision.verdicts,
                archived=done.archived,
                commits=done.commits,
                snapshot=done.snapshot,
            ).json
        with context.guarded("history"), context.mine():
            warning = log.compact(context.root).warning
            if warning:
                done.notes.append(warning)
    finally:
        with context.guarded("counters"):
            _count(context, progress, cause)


def _commit(context: RunContext) -> None:
    done = context.done
    subject = RUN_SUBJECTS[context.job.trigger]
    if done.decision.status in ("interrupted", "paused"):
        subject = INTERRUPTED_SUBJECT
    note = RunNote(context.job.run, subject, (done.cursor_from or 0, done.cursor_to))
    try:
        with context.mine():
            commits.commit_run(context.root, note)
    except VersionsOff as error:
        message = f"Versions are off. {error.message}"
        if message not in done.notes:
            done.notes.append(message)
        return
    done.commits = report.commits_of(context.root, context.job.run, context.began)


def _count(context: RunContext, progress: Progress, cause: str) -> None:
    """Count the run, and see whether a count has reached the alarm."""
    done = context.done
    tagged = [row for row in done.batch.entries if outcome.is_tagged(row)]
    known = {row.cursor for row in done.decision.verdicts if row.kind == "already_known"}
    is_empty = None
    was_shown = done.turn is not None and done.turn.was_seen
    if was_shown and any(row.cursor not in known for row in tagged):
        is_empty = not any(row.ok for row in done.attempts)
    with context.mine():
        before = outcome.load_counters(context.root)
        if done.review is not None and done.review.counts:
            every = context.job.config.agents.defaults.dream.review_every_runs
            failed = done.review.status == "failed"
            before = outcome.count_review(before, done.review.due, every, failed=failed)
        done.alarms = outcome.raise_alarms(
            before,
            progress,
            is_empty=is_empty,
            cause=cause,
            gave_up=bool(done.decision.set_aside),
        )
        gave_up = done.decision.status == "gave_up"
        now = outcome.count_run(before, progress, is_empty=is_empty, gave_up=gave_up)
        done.standing = outcome.standing_alarms(now, cause)
        outcome.store_counters(context.root, now, context.actor)
