"""One run of Dream, from the snapshot to the counters, in the one order.

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
from memory.dream import finalize, limits, model_turn, request_size, unexpected_changes
from memory.dream.batching import batch as batching
from memory.dream.batching import selection
from memory.dream.batching.batch import Digest
from memory.dream.batching.digester import Digester
from memory.dream.model_turn import TurnResult
from memory.dream.outcome import cursor_rule
from memory.dream.outcome.counters import Progress
from memory.dream.prompts import prompt
from memory.dream.review import review_pass
from memory.dream.run_context import RunContext
from memory.dream.run_input import BROKE, LeaseLost, RunInput, RunResult
from memory.dream.tools import Reminder, WriteSession, toolbox
from memory.dream.values import Decision, RunFacts
from memory.history import cursors
from memory.history.consolidator import CHUNK_CHARS
from memory.history.entries import HistoryEntry

logger = logging.getLogger(__name__)


def run_dream(job: RunInput) -> RunResult:
    """Run it. Whatever goes wrong is in what is returned.

    Raises:
        Lost: it was taken over.
    """
    return _Cycle(job).run()


class _Cycle(RunContext):
    def __init__(self, job: RunInput) -> None:
        super().__init__(job)
        self.course: Progress = "fault"
        self.cause = ""
        self.snapshot_sentence = ""
        self.has_decided = False

    def run(self) -> RunResult:
        started = time.monotonic()
        try:
            self._through()
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
        finalize.finalize_run(self, self.course, self.cause)
        self.done.seconds = time.monotonic() - started
        return self.done

    # --- Up to the model's turn -------------------------------------------------------------

    def _through(self) -> None:
        job, done = self.job, self.done
        job.watch.limit(limits.limits(job.config, used_today=0).seconds)
        with self.guarded("snapshot"):
            done.snapshot, self.snapshot_sentence = job.snapshot()
            if not done.snapshot:
                done.notes.append(self.snapshot_sentence)
        done.cursor_from = cursors.dream_cursor(self.root)
        job.store.began(done.cursor_from, done.snapshot)
        self._begin()
        self.rest = unexpected_changes.record_files(self.root)
        review_pass.review_if_due(self, self.snapshot_sentence)
        # Measured only now: others may have written until their edits were put into a version, and
        # the review has made room.
        near = tuple(row.file.path for row in budgets.gauge(self.root) if row.held_mark)
        chars = request_size.chunk_chars(job.config, CHUNK_CHARS)
        digester = Digester(
            self.root, job.model, job.watch, job.store, zone=job.zone, chunk_chars=chars
        )
        # Nobody is asked to summarise anything once the day's tokens are used up, either.
        is_spent = bool(limits.day_is_spent(job.config, job.used_today + done.usage.total))
        digest: Digest = _as_it_is if is_spent else digester
        try:
            done.batch, cursor = selection.choose_batch(self.root, job.store.lists(), digest)
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
            self.job.run, finalize.SUBJECTS[self.job.trigger], (self.done.cursor_from or 0, None)
        )
        try:
            with self.mine():
                commits.begin_run(self.root, note)
        except VersionsOff as error:
            self.done.notes.append(f"Versions are off. {error.message}")

    def _model_turn(self, facts: RunFacts) -> RunFacts:
        """Ask the model, unless it may not or cannot be asked."""
        job, done = self.job, self.done
        if why := limits.day_is_spent(job.config, job.used_today + done.usage.total):
            done.is_capped = True
            return replace(facts, ending="tokens", why=why, was_seen=False)
        already = self._staged()  # by the review
        session = self._hand()
        try:
            said = self._asked(session)
            smaller = batching.halved(done.batch)
            if said.is_too_long and smaller:
                done.batch, done.usage = smaller, done.usage + said.usage
                facts = replace(facts, batch=smaller)
                session = self._hand()
                said = self._asked(session)
        except AgentError as error:
            said = model_turn.failed_turn(error)
        finally:
            # Also when something breaks in the middle: what was written, was written.
            done.attempts = tuple(session.attempts)
            done.notes += session.notes
        done.said = said
        done.usage += said.usage
        done.steps += said.steps
        done.notes += said.notes
        if said.ending in ("lost", "shutdown", "stopped", *WAITS):
            raise Cancelled(_reason(said.ending))
        done.is_capped = bool(limits.capped(said.ending, Limits(max_run_tokens=0)))
        states = session.fact_states()
        return replace(
            facts,
            ending=said.ending,
            why=said.why,
            was_seen=said.was_seen,
            is_outage=said.is_outage,
            attempts=done.attempts,
            open_refusals=tuple(session.open_refusals),
            verdicts=tuple(session.verdicts.values()),
            staged=max(self._staged() - already, 0),
            # Only where a full file may hold the run is it asked; with many skills it takes long.
            known_in_files=selection.in_files(self.root, done.batch, session.text)
            if facts.near_mark
            else frozenset(),
            uncovered={
                cursor: tuple((fact.name, fact.text) for fact in rows)
                for cursor, rows in states.uncovered.items()
            },
            landed_facts=states.landed,
        )

    def _hand(self) -> WriteSession:
        """What the run writes with, for the batch as it is."""
        job = self.job
        return WriteSession(
            open_workspace(self.root, Actor("dream", run=job.run)),
            self.done.batch,
            fence=self.fence,
            run=job.run,
            rests_on=job.rests_on,
            shelf=job.shelf,
            zone=job.zone,
        )

    def _staged(self) -> int:
        """How many changes of the run wait for approval so far."""
        shelf = self.job.shelf
        return shelf.count() if shelf is not None else 0

    def _asked(self, session: WriteSession) -> TurnResult:
        job = self.job
        bounds = limits.limits(
            job.config,
            used_today=job.used_today,
            used=self.done.usage.total,
            steps=self.done.steps,
        )
        box = toolbox(session, watch=job.watch, max_result_chars=bounds.max_result_chars)
        provider = job.model()
        system = prompt.system(self.root, batch=session.batch, snapshot=self.snapshot_sentence)
        first = prompt.first_message(session.batch, self.root, zone=job.zone)
        needs = request_size.tokens_of(system, first, box.schemas())
        if why := request_size.why_too_long(self.root, job.config, provider, needs):
            # No entry is to blame, and none has used up a try.
            return TurnResult(ending="failed", why=why, is_outage=True)
        said = model_turn.ask_model(
            provider=provider,
            system=system,
            first=first,
            toolbox=box,
            reminder=Reminder(session),
            watch=job.watch,
            limits=bounds,
            spent=job.store.spent,
        )
        if said.is_too_long and not _is_mostly_batch(system, first):
            why = f"{said.why} {request_size.largest(self.root)}".strip()
            said = replace(said, why=why, was_seen=False, is_outage=True)
        return said

    # --- From the outcome on ----------------------------------------------------------------

    def _decide(self, facts: RunFacts) -> None:
        """Let follow from the run what follows: first what is known of the entries, then Dream's
        place, so that whoever is stopped in between has lost nobody's entry."""
        done = self.done
        self.has_decided = True
        decision = cursor_rule.apply_cursor_rule(facts)
        done.decision = decision
        self.cause = decision.why
        self.course = _course(facts, decision)
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
        self.course, self.cause = "fault", why
        self.done.decision = Decision(
            status="failed", why=why, verdicts=self.done.decision.verdicts
        )

    def _broke(self, why: str) -> None:
        """Something broke. What the model was shown comes back as after any failed run, so that
        an entry at which things break every time is given up like others."""
        said, batch = self.done.said, self.done.batch
        self._failed(why)
        if said is None or not said.was_seen or said.is_outage or self.has_decided:
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
            bounds = limits.limits(self.job.config, used_today=0)
            self.done.is_capped = True
            self._failed(limits.capped("time", bounds))
            return
        if reason in WAITS:
            self.course = "paused"
            self.done.decision = Decision(status="paused", why=WAITS[reason])
            return
        self.course = "fault"
        why = "Jenny was shut down in the middle."
        self.done.decision = Decision(status="interrupted", why=why)


_REASONS: dict[str, CancelReason] = {"lost": "lost", "paused": "paused", "spent": "spent"}


def _is_mostly_batch(system: SystemPrompt, first: Message) -> bool:
    """Whether a request that was too long is so for its entries, and not for the files."""
    return estimate_messages([first]) > estimate(system.text)


def _as_it_is(entry: HistoryEntry) -> None:
    """A raw text is not summarised."""
    del entry


def _reason(ending: str) -> CancelReason:
    return _REASONS.get(ending, "shutdown")


def _course(facts: RunFacts, decision: Decision) -> Progress:
    if decision.status == "nothing_pending":
        return "nothing"
    if decision.status in cursor_rule.CAME_BACK or decision.status == "gave_up":
        return "fault" if facts.ending == "failed" else "stayed"
    return "advanced"
