"""The review pass of a run: the memory files by themselves, to be made smaller.

It sees no history and moves no cursor. It comes before the batch, is bounded by a share of what
the run may take, and ends when it has taken out enough for one time. Whatever goes wrong in it
ends the pass and not the run: it counts as failed, and comes back in two runs.
"""

import time
from dataclasses import replace

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import WAITS, AgentError, Cancelled, CancelReason
from jenny.agent.messages import Message, Part, ToolUse, text_message
from jenny.workspace import seed
from jenny.workspace.errors import VersionsOff
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits, messages, tracked_files
from jenny.workspace.versions.write_log import RunNote
from memory import budgets, facts, files, text_similarity
from memory.dream import model_turn, outcome, prompt, report, rules, values
from memory.dream.model_turn import TurnResult
from memory.dream.run_context import BROKE, RunContext
from memory.dream.tools import WriteSession, toolbox
from memory.dream.values import INTERRUPTED_SUBJECT, Batch, ReviewResult

# Behind a run's name: what the write log calls its review.
SUFFIX = ":review"
# Once so many entries are gone, or such a share of a file, it is enough for one pass.
MOST_ENTRIES = 8
MOST_SHARE = 0.3


def review_interval(context: RunContext) -> int:
    """After how many runs a pass is due."""
    found: int = context.job.config.agents.defaults.dream.review_every_runs
    return found


def review_if_due(context: RunContext, snapshot: str) -> None:
    """Make a pass if one is due. *snapshot*: what became of the snapshot, in a sentence.

    Raises:
        LeaseLost, Cancelled: the run is over as a whole.
    """
    job, done = context.job, context.done
    due = outcome.review_due(outcome.load_counters(context.root), review_interval(context))
    if not due:
        return
    if why := model_turn.day_is_spent(job.config, job.used_today):
        done.notes.append(f"A review pass is due and waits. {why}")
        return
    done.review = found = ReviewResult(due=due, why=BROKE)
    job.store.reviewing(due)
    started = time.monotonic()
    try:
        with context.guarded("review"):
            _Pass(context, found, snapshot).run()
    finally:
        found.seconds = time.monotonic() - started
        done.usage += found.usage
        done.steps += found.steps
    job.store.reviewed(found)


class _Pass:
    def __init__(self, context: RunContext, found: ReviewResult, snapshot: str) -> None:
        self._context = context
        self._found = found
        self._snapshot = snapshot
        self._name = f"{context.job.run}{SUFFIX}"
        self._note = RunNote(self._name, messages.REVIEW, (context.done.cursor_from or 0, None))
        self._began = time.time()

    def run(self) -> None:
        """Ask the model, then apply the outcome."""
        context, found = self._context, self._found
        if not _has_anything(context):
            found.status, found.why, found.is_fault = "no_change", "", False
            return
        before = budgets.gauge(context.root)
        with context.guarded("version"), context.mine():
            commits.begin_run(context.root, self._note)
        session = WriteSession(
            open_workspace(context.root, Actor("review", run=self._name)),
            Batch(),
            fence=context.fence,
            run=self._name,
            kind="review",
            rests_on=context.job.rests_on,
            proposals=context.job.proposals,
            zone=context.job.zone,
        )
        bounds = ReviewBounds(session)
        try:
            turn = self._ask_model(session, bounds)
            found.usage, found.steps = turn.usage, turn.steps
        finally:
            # Also when something breaks in the middle: what was written, was written.
            found.attempts = tuple(session.attempts)
            context.done.notes += session.notes
            self._commit()
        context.done.notes += turn.notes
        self._set_outcome(turn, bounds, before)

    def _ask_model(self, session: WriteSession, bounds: "ReviewBounds") -> TurnResult:
        job = self._context.job
        own = model_turn.review_limits(job.config, used_today=job.used_today)
        watch = CancellationToken()
        # Its own time ends the pass alone; whatever ends the run ends it, too.
        watch.limit(own.seconds)
        watch.add_check(lambda: job.watch.reason)
        root = self._context.root
        box = toolbox(session, watch=watch, max_result_chars=own.max_result_chars)
        system = prompt.review_system_prompt(root, snapshot=self._snapshot)
        first = prompt.review_message(root, zone=job.zone)
        try:
            provider = job.model().counted_as("review")
            needs = model_turn.estimate_tokens(system, first, box.schemas())
            if why := model_turn.why_too_long(root, job.config, provider, needs):
                return TurnResult(ending="failed", why=why, is_outage=True)
            answer = model_turn.ask_model(
                provider=provider,
                system=system,
                first=first,
                toolbox=box,
                reminder=bounds,
                watch=watch,
                limits=own,
                spent=job.store.spent,
            )
            if answer.is_too_long:
                why = f"{answer.why} {model_turn.describe_largest_file(root)}"
                answer = replace(answer, why=why)
        except AgentError as error:
            answer = model_turn.failed_turn(error)
        if answer.ending == "lost" or job.watch.reason is not None:
            self._found.usage, self._found.steps = answer.usage, answer.steps
            raise self._broken_off(job.watch.reason or "lost")
        return answer

    def _broken_off(self, reason: CancelReason) -> Cancelled:
        """The run as a whole is over."""
        found = self._found
        found.is_fault = False
        if reason in WAITS:
            found.status, found.why = "paused", WAITS[reason]
        elif reason == "time":
            found.why = "The time of its run was over."
        else:
            found.why = values.REVIEW_INTERRUPTED
        self._note = replace(self._note, subject=INTERRUPTED_SUBJECT)
        return Cancelled(reason)

    def _commit(self) -> None:
        """Put what it wrote into a version of its own, and see what came of it."""
        context, found = self._context, self._found
        with context.guarded("version"), context.mine():
            try:
                commits.commit_run(context.root, self._note)
            except VersionsOff:
                return  # the run says so
            found.commits = report.commits_of(context.root, self._name, self._began)
        with context.guarded("archive"):
            if any(row.ok and row.removed for row in found.attempts):
                found.archived = report.archived_by(context.root, self._name)
        with context.guarded("report"):
            found.report = report.make_report(
                context.root,
                attempts=found.attempts,
                archived=found.archived,
                commits=found.commits,
                snapshot=context.done.snapshot,
            ).json

    def _set_outcome(
        self, answer: TurnResult, bounds: "ReviewBounds", before: tuple[budgets.Gauge, ...]
    ) -> None:
        found = self._found
        pairs = list(zip(before, budgets.gauge(self._context.root), strict=True))
        found.freed = sum((a.chars or 0) - (b.chars or 0) for a, b in pairs if a.budget)
        has_shrunk = any((a.chars or 0) > (b.chars or 0) for a, b in pairs)
        found.is_enough = bounds.has_ended
        refused = rules.open_refusals(found.attempts)
        found.is_fault = answer.ending == "failed"
        if answer.ending != "done" and not bounds.has_ended:
            found.status, found.why = "failed", answer.why
        elif refused and has_shrunk:
            found.status, found.why = "failed", outcome.refusals_text(refused)
        elif has_shrunk:
            found.status, found.why = "completed", ""
        else:
            waits = any(row.ok and row.waits for row in found.attempts)
            found.status, found.why = "waiting" if waits else "no_change", ""


class ReviewBounds:
    """Ends a pass that has taken out enough for one time: it is told so, and then it is over. No
    write is refused for it."""

    def __init__(self, session: WriteSession) -> None:
        self._session = session
        self._ends = False
        self._is_reported = False
        self.has_ended = False

    def step_finished(self, parts: tuple[Part, ...]) -> None:
        """A reply is whole: without a call in it, the answer is about to end."""
        self._ends = not any(isinstance(part, ToolUse) for part in parts)

    def inbox(self, step: int) -> list[Message]:
        """Return the messages to add before the step with that number."""
        if step == 1 or self._ends or self._session.has_finished or not self._is_enough():
            return []
        if self._is_reported:
            self.has_ended = True
            raise Cancelled("stop")
        self._is_reported = True
        text = "That is enough for one review. Call finish now; nothing else is carried out."
        return [text_message("user", text)]

    def _is_enough(self) -> bool:
        """True when enough lines are in no file any more, in these or nearly these words."""
        root = self._session.workspace.root
        now = [
            fact.text
            for path in files.BY_PATH
            for fact in facts.stated(tracked_files.read_tracked_file(root, path))
        ]
        index = text_similarity.Index(
            [*now, *(line for row in self._session.landed for line in row.added)]
        )
        gone = {
            path: [fact.text for fact in facts.stated(data) if index.find(fact.text) is None]
            for path, data in self._session.before.items()
        }
        return sum(map(len, gone.values())) >= MOST_ENTRIES or any(
            sum(map(len, texts)) >= MOST_SHARE * budgets.characters(self._session.before[path])
            for path, texts in gone.items()
            if texts
        )


def _has_anything(context: RunContext) -> bool:
    """True when a memory file has a text beyond its template."""
    for path in files.BY_PATH:
        data = tracked_files.read_tracked_file(context.root, path)
        if data and facts.stated(data) and not seed.is_untouched(path, data):
            return True
    return False
