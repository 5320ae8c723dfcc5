"""The review pass of a run: the memory files by themselves, to be made smaller.

It sees no history and moves no cursor. It comes before the batch, is bounded by a share of what the
run may take, and ends when it has taken out enough for one time. Whatever goes wrong in it ends the
pass and not the run: it counts as failed, and comes back in two runs.
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
from memory.dream import finalize, limits, model_turn, request_size
from memory.dream.model_turn import TurnResult
from memory.dream.outcome import counters, cursor_rule, refusals
from memory.dream.prompts import prompt
from memory.dream.reports import artifacts, report
from memory.dream.review import result
from memory.dream.review.result import ReviewResult
from memory.dream.run_context import RunContext
from memory.dream.run_input import BROKE
from memory.dream.tools import WriteSession, toolbox
from memory.dream.values import Batch

# Behind a run's name: what the write log calls its review.
SUFFIX = ":review"
# Once so many entries are gone, or such a share of a file, it is enough for one pass.
MOST_ENTRIES = 8
MOST_SHARE = 0.3
_EVERY = "agents.defaults.dream.reviewEveryRuns"


def review_interval(ground: RunContext) -> int:
    """After how many runs a pass is due."""
    found: int = ground.job.config.get(_EVERY)
    return found


def review_if_due(ground: RunContext, snapshot: str) -> None:
    """Make a pass if one is due. *snapshot*: what became of the snapshot, in a sentence.

    Raises:
        Lost, Cancelled: the run is over as a whole.
    """
    job, done = ground.job, ground.done
    due = counters.review_due(counters.load(ground.root), review_interval(ground))
    if not due:
        return
    if why := limits.day_is_spent(job.config, job.used_today):
        done.notes.append(f"A review pass is due and waits. {why}")
        return
    done.review = found = ReviewResult(due=due, why=BROKE)
    job.store.reviewing(due)
    started = time.monotonic()
    try:
        with ground.guarded("review"):
            _Pass(ground, found, snapshot).run()
    finally:
        found.seconds = time.monotonic() - started
        done.usage += found.usage
        done.steps += found.steps
    job.store.reviewed(found)


class _Pass:
    def __init__(self, ground: RunContext, found: ReviewResult, snapshot: str) -> None:
        self._ground = ground
        self._found = found
        self._snapshot = snapshot
        self._name = f"{ground.job.run}{SUFFIX}"
        self._note = RunNote(self._name, messages.REVIEW, (ground.done.cursor_from or 0, None))
        self._began = time.time()

    def run(self) -> None:
        """Ask the model, then let follow what follows."""
        ground, found = self._ground, self._found
        if not _has_anything(ground):
            found.status, found.why, found.is_fault = "no_change", "", False
            return
        before = budgets.gauge(ground.root)
        with ground.guarded("version"), ground.mine():
            commits.begin_run(ground.root, self._note)
        session = WriteSession(
            open_workspace(ground.root, Actor("review", run=self._name)),
            Batch(),
            fence=ground.fence,
            run=self._name,
            kind="review",
            rests_on=ground.job.rests_on,
            shelf=ground.job.shelf,
            zone=ground.job.zone,
        )
        bounds = Bounds(session)
        try:
            said_ = self._asked(session, bounds)
            found.usage, found.steps = said_.usage, said_.steps
        finally:
            # Also when something breaks in the middle: what was written, was written.
            found.attempts = tuple(session.attempts)
            ground.done.notes += session.notes
            self._keep()
        ground.done.notes += said_.notes
        self._judge(said_, bounds, before)

    def _asked(self, session: WriteSession, bounds: "Bounds") -> TurnResult:
        job = self._ground.job
        own = limits.review(job.config, used_today=job.used_today)
        with CancellationToken() as watch:
            # Its own time ends the pass alone; whatever ends the run ends it, too.
            watch.limit(own.seconds)
            watch.add_check(lambda: job.watch.reason)
            root = self._ground.root
            box = toolbox(session, watch=watch, max_result_chars=own.max_result_chars)
            system = prompt.review_system(root, snapshot=self._snapshot)
            first = prompt.review_message(root, zone=job.zone)
            try:
                provider = job.model().counted_as("review")
                needs = request_size.tokens_of(system, first, box.schemas())
                if why := request_size.why_too_long(root, job.config, provider, needs):
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
                    why = f"{answer.why} {request_size.largest(root)}"
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
            found.why = result.INTERRUPTED
        self._note = replace(self._note, subject=finalize.INTERRUPTED)
        return Cancelled(reason)

    def _keep(self) -> None:
        """Put what it wrote into a version of its own, and see what came of it."""
        ground, found = self._ground, self._found
        with ground.guarded("version"), ground.mine():
            try:
                commits.commit_run(ground.root, self._note)
            except VersionsOff:
                return  # the run says so
            found.commits = artifacts.commits_of(ground.root, self._name, self._began)
        with ground.guarded("archive"):
            if any(row.ok and row.removed for row in found.attempts):
                found.archived = artifacts.archived_by(ground.root, self._name)
        with ground.guarded("report"):
            found.report = report.make_report(
                ground.root,
                attempts=found.attempts,
                archived=found.archived,
                commits=found.commits,
                snapshot=ground.done.snapshot,
            ).json

    def _judge(
        self, answer: TurnResult, bounds: "Bounds", before: tuple[budgets.Gauge, ...]
    ) -> None:
        found = self._found
        pairs = list(zip(before, budgets.gauge(self._ground.root), strict=True))
        found.freed = sum((a.chars or 0) - (b.chars or 0) for a, b in pairs if a.budget)
        has_shrunk = any((a.chars or 0) > (b.chars or 0) for a, b in pairs)
        found.is_enough = bounds.has_ended
        refused = refusals.open_refusals(found.attempts)
        found.is_fault = answer.ending == "failed"
        if answer.ending != "done" and not bounds.has_ended:
            found.status, found.why = "failed", answer.why
        elif refused and has_shrunk:
            found.status, found.why = "failed", cursor_rule.refusals_text(refused)
        elif has_shrunk:
            found.status, found.why = "completed", ""
        else:
            waits = any(row.ok and row.waits for row in found.attempts)
            found.status, found.why = "waiting" if waits else "no_change", ""


class Bounds:
    """Ends a pass that has taken out enough for one time: it is told so, and then it is over. No
    write is refused for it."""

    def __init__(self, session: WriteSession) -> None:
        self._hand = session
        self._ends = False
        self._was_told = False
        self.has_ended = False

    def step_finished(self, parts: tuple[Part, ...]) -> None:
        """A reply is whole: without a call in it, the answer is about to end."""
        self._ends = not any(isinstance(part, ToolUse) for part in parts)

    def inbox(self, step: int) -> list[Message]:
        """What is folded in before the step with that number."""
        if step == 1 or self._ends or self._hand.has_finished or not self._is_enough():
            return []
        if self._was_told:
            self.has_ended = True
            raise Cancelled("stop")
        self._was_told = True
        text = "That is enough for one review. Call finish now; nothing else is carried out."
        return [text_message("user", text)]

    def _is_enough(self) -> bool:
        """Whether so much is in no file any more, in these or nearly these words."""
        root = self._hand.workspace.root
        now = [
            fact.text
            for path in files.BY_PATH
            for fact in facts.stated(tracked_files.read_tracked_file(root, path))
        ]
        index = text_similarity.Index(
            [*now, *(line for row in self._hand.landed for line in row.added)]
        )
        gone = {
            path: [fact.text for fact in facts.stated(data) if index.find(fact.text) is None]
            for path, data in self._hand.before.items()
        }
        return sum(map(len, gone.values())) >= MOST_ENTRIES or any(
            sum(map(len, texts)) >= MOST_SHARE * budgets.characters(self._hand.before[path])
            for path, texts in gone.items()
            if texts
        )


def _has_anything(ground: RunContext) -> bool:
    """Whether a memory file says anything: what is still the template is nobody's."""
    for path in files.BY_PATH:
        data = tracked_files.read_tracked_file(ground.root, path)
        if data and facts.stated(data) and not seed.is_untouched(path, data):
            return True
    return False
