"""The review pass of a run: the memory files by themselves, to be made smaller.

It sees no history and moves no cursor. It comes before the batch, is bounded by a share of what the
run may take, and ends when it has taken out enough for one time. Whatever goes wrong in it ends the
pass and not the run: it counts as failed, and comes back in two runs.
"""

import time
from dataclasses import replace

from jenny.agent.errors import WAITS, AgentError, Cancelled, CancelReason
from jenny.agent.messages import Message, Part, ToolUse, said
from jenny.agent.watch import Watch
from jenny.workspace import seed
from jenny.workspace.errors import VersionsOff
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import messages, record, scan
from jenny.workspace.versions.writes import RunNote
from memory import budgets, facts, files, near
from memory.dream import aftermath, limits, turn
from memory.dream.ground import Ground
from memory.dream.job import BROKE
from memory.dream.judging import counters, refusals, verdict
from memory.dream.prompting import prompt
from memory.dream.reporting import report, traces
from memory.dream.reviewing import reviewed
from memory.dream.reviewing.reviewed import Reviewed
from memory.dream.tools import Hand, toolbox
from memory.dream.turn import Said
from memory.dream.values import Batch

# Behind a run's name: what the write log calls its review.
SUFFIX = ":review"
# Once so many entries are gone, or such a share of a file, it is enough for one pass.
MOST_ENTRIES = 8
MOST_SHARE = 0.3
_EVERY = "agents.defaults.dream.reviewEveryRuns"


def every(ground: Ground) -> int:
    """After how many runs a pass is due."""
    found: int = ground.job.config.get(_EVERY)
    return found


def look(ground: Ground, snapshot: str) -> None:
    """Make a pass if one is due. *snapshot*: what became of the snapshot, in a sentence.

    Raises:
        Lost, Cancelled: the run is over as a whole.
    """
    job, done = ground.job, ground.done
    due = counters.review_due(counters.load(ground.root), every(ground))
    if not due:
        return
    if why := limits.day_is_spent(job.config, job.used_today):
        done.notes.append(f"A review pass is due and waits. {why}")
        return
    done.review = found = Reviewed(due=due, why=BROKE)
    job.book.reviewing(due)
    started = time.monotonic()
    try:
        with ground.guarded("review"):
            _Pass(ground, found, snapshot).run()
    finally:
        found.seconds = time.monotonic() - started
        done.usage += found.usage
        done.steps += found.steps
    job.book.reviewed(found)


class _Pass:
    """The state of one pass."""

    def __init__(self, ground: Ground, found: Reviewed, snapshot: str) -> None:
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
            record.begin_run(ground.root, self._note)
        hand = Hand(
            open_workspace(ground.root, Actor("review", run=self._name)),
            Batch(),
            fence=ground.fence,
            run=self._name,
            kind="review",
            rests_on=ground.job.rests_on,
            shelf=ground.job.shelf,
        )
        bounds = Bounds(hand)
        try:
            said_ = self._asked(hand, bounds)
            found.usage, found.steps = said_.usage, said_.steps
        finally:
            # Also when something breaks in the middle: what was written, was written.
            found.attempts = tuple(hand.attempts)
            self._keep()
        ground.done.notes += said_.notes
        self._judge(said_, bounds, before)

    def _asked(self, hand: Hand, bounds: "Bounds") -> Said:
        job = self._ground.job
        own = limits.review(job.config, used_today=job.used_today)
        with Watch() as watch:
            # Its own time ends the pass alone; whatever ends the run ends it, too.
            watch.limit(own.seconds)
            watch.heed(lambda: job.watch.reason)
            try:
                answer = turn.ask(
                    provider=job.model().counted_as("review"),
                    system=prompt.review_system(self._ground.root, snapshot=self._snapshot),
                    first=prompt.review_message(),
                    toolbox=toolbox(hand, watch=watch, max_result_chars=own.max_result_chars),
                    reminder=bounds,
                    watch=watch,
                    limits=own,
                    spent=job.book.spent,
                )
            except AgentError as error:
                answer = turn.fault(error)
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
            found.why = reviewed.INTERRUPTED
        self._note = replace(self._note, subject=aftermath.INTERRUPTED)
        return Cancelled(reason)

    def _keep(self) -> None:
        """Put what it wrote into a version of its own, and see what came of it."""
        ground, found = self._ground, self._found
        with ground.guarded("version"), ground.mine():
            try:
                record.commit_run(ground.root, self._note)
            except VersionsOff:
                return  # the run says so
            found.commits = traces.commits_of(ground.root, self._name, self._began)
        with ground.guarded("archive"):
            if any(row.ok and row.removed for row in found.attempts):
                found.archived = traces.archived_by(ground.root, self._name)
        with ground.guarded("report"):
            found.report = report.make(
                ground.root,
                attempts=found.attempts,
                archived=found.archived,
                commits=found.commits,
                snapshot=ground.done.snapshot,
            ).json

    def _judge(self, answer: Said, bounds: "Bounds", before: tuple[budgets.Gauge, ...]) -> None:
        """How it went, by what became of the files."""
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
            found.status, found.why = "failed", verdict.refusals_told(refused)
        elif has_shrunk:
            found.status, found.why = "completed", ""
        else:
            waits = any(row.ok and row.waits for row in found.attempts)
            found.status, found.why = "waiting" if waits else "no_change", ""


class Bounds:
    """Ends a pass that has taken out enough for one time: it is told so, and then it is over. No
    write is refused for it."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
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
        return [said("user", text)]

    def _is_enough(self) -> bool:
        """Whether so much is in no file any more, in these or nearly these words."""
        root = self._hand.workspace.root
        now = [
            fact.text for path in files.BY_PATH for fact in facts.stated(scan.content(root, path))
        ]
        index = near.Index([*now, *(line for row in self._hand.landed for line in row.added)])
        gone = {
            path: [fact.text for fact in facts.stated(data) if index.find(fact.text) is None]
            for path, data in self._hand.before.items()
        }
        return sum(map(len, gone.values())) >= MOST_ENTRIES or any(
            sum(map(len, texts)) >= MOST_SHARE * budgets.characters(self._hand.before[path])
            for path, texts in gone.items()
            if texts
        )


def _has_anything(ground: Ground) -> bool:
    """Whether a memory file says anything: what is still the template is nobody's."""
    for path in files.BY_PATH:
        data = scan.content(ground.root, path)
        if data and facts.stated(data) and not seed.is_untouched(path, data):
            return True
    return False
