"""Runs with failures, refusals, idle runs and crashes among them: what is counted, when a
review comes, what raises the alarm and what is given up, at every step.

The oracle knows the rules as they are written for people, and none of the code it checks.
"""

import json
import random
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jenny.workspace.files import Actor, open_workspace
from memory.dream import outcome
from memory.models import DreamEntry, DreamRun, DreamState
from memory.models.dream import DEAD_AFTER
from memory.services import dream_recovery, dream_scheduler
from memory.services.dream_run_store import DjangoRunStore
from tests.model_server import Call, Fail, Say, Stop
from tests.support.dreams import MEMORY, add, batch_of, finish, is_review

KINDS = [
    *["saves"] * 4,
    *["drops"] * 2,
    *["refused"] * 7,
    *["held"] * 2,
    *["declines"] * 3,
    *["is cut"] * 2,
    *["outage"] * 3,
    *["crash"] * 2,
    *["idle"] * 4,
]
REVIEWS = ["shrinks", "finds nothing", "declines", "outage", "crash"]


@dataclass
class Oracle:
    """What must be so after each run."""

    every: int
    since_review: int = 0
    stuck: int = 0
    forced_at: int = 0
    failures: int = 0
    empty: int = 0
    tries: int = 0
    given_up: list[int] = field(default_factory=list)
    place: int = 0
    raised: list[str] = field(default_factory=list)

    @property
    def alarms(self) -> set[str]:
        """The alarms that stand."""
        counts = {"stuck_runs": self.stuck, "failures": self.failures, "empty_runs": self.empty}
        return {name for name, count in counts.items() if count >= 4}

    def due(self) -> str:
        """Whether a review comes first."""
        if self.stuck in range(2, 10_000, 2) and self.stuck != self.forced_at:
            return "forced"
        return "due" if self.since_review >= self.every else ""

    def review(self, due: str, how: str) -> None:
        """A review went so."""
        self.since_review = 0 if how in ("shrinks", "finds nothing") else max(0, self.every - 2)
        if due == "forced":
            self.forced_at = self.stuck

    def run(self, kind: str, entry: int, *, review_fault: bool = False) -> None:
        """A run went so."""
        before = {
            "stuck_runs": self.stuck, "failures": self.failures, "empty_runs": self.empty
        }  # fmt: skip
        self.since_review += 1
        is_fault = kind in ("declines", "outage", "crash") or (kind == "idle" and review_fault)
        self.failures = self.failures + 1 if is_fault else 0
        if kind in ("drops", "refused", "held", "is cut"):
            self.empty += 1
        elif kind == "saves":
            self.empty = 0
        if kind in ("refused", "held", "is cut"):
            self.stuck += 1
        counted = {
            "stuck_runs": self.stuck, "failures": self.failures, "empty_runs": self.empty
        }  # fmt: skip
        self.raised = [k for k, count in counted.items() if count >= 4 > before[k]]
        if kind in ("refused", "held", "is cut", "declines"):
            self.tries += 1
        gives_up = self.tries == 4
        if gives_up:
            self.given_up.append(entry)
            if not any(count >= 4 for count in counted.values()):
                self.raised = ["gave_up"]
        if gives_up or kind in ("saves", "drops"):
            self.place, self.tries, self.stuck, self.forced_at = entry, 0, 0, 0


class Sixty:
    """The runs, as the model and the machine make them go."""

    def __init__(self, dreams, seed, every):
        self.dreams = dreams
        self.chance = random.Random(seed)
        self.oracle = Oracle(every)
        self.entry = 0
        self.fact = ""
        self.number = 0
        self.met = set()

    def step(self, caplog):
        """One run; what it was like."""
        self.number += 1
        dreams, oracle = self.dreams, self.oracle
        kind = self.chance.choice(KINDS)
        how = self.chance.choice(REVIEWS)
        if self.entry > oracle.place and kind == "idle":
            kind = "saves"
        if self.entry == oracle.place and kind != "idle":
            self.fact = f"Fact number {self.number} of them."
            (self.entry,) = dreams.say(f"- [durable] {self.fact}")
        due = oracle.due()
        caplog.clear()
        self.prepare(kind, due, how)
        if kind == "crash" or (due and how == "crash"):
            run = self.crash(due, in_review=bool(due) and how == "crash", how=how)
            if due:
                oracle.review(due, how)
            oracle.run("crash", self.entry)
            kind = "crash"
        else:
            run = dreams.run()
            if due:
                oracle.review(due, how)
            fault = bool(due) and how in ("outage", "declines")
            oracle.run(kind, self.entry, review_fault=fault)
        dreams.model._rules.clear()
        self.tidy()
        self.met |= {kind, due and f"{due} review {how}"}
        return run, kind, due, how

    def prepare(self, kind, due, how):
        """Let the model answer so."""
        model, entry = self.dreams.model, self.entry
        model._scripts.clear()
        if due and how == "shrinks":
            call = {"path": MEMORY, "old_text": self.filler(), "new_text": ""}
            model.script(Call("edit_file", call), when=is_review)
            model.script(Call("finish", {}), when=is_review)
        elif due:
            acts = {
                "finds nothing": [Say("All is well.")],
                "declines": [Say("No"), Stop("refusal")],
                "outage": [Fail(401)],
                "crash": [Fail(401)],
            }[how]
            model.always(is_review, *acts)
        match kind:
            case "saves":
                model.script(add(f"- {self.fact}", entry), when=batch_of)
                model.script(finish(saved=[entry]), when=batch_of)
            case "drops":
                model.script(finish(not_kept=[entry]), when=batch_of)
            case "refused":
                model.script(add("- " + "wide " * 700, entry), when=batch_of)
            case "held":
                text = "# User\n\n" + "- Something that fills the file up.\n" * 82
                self.write("USER.md", text)
                model.script(finish(not_kept=[entry]), when=batch_of)
            case "declines":
                model.always(batch_of, Say("No"), Stop("refusal"))
            case "is cut":
                model.always(batch_of, Say("I may not"), Stop("max_tokens"))
            case "outage":
                model.always(batch_of, Fail(401))

    def filler(self):
        """A line for a review to take out, put there now."""
        line = f"- A line number {self.number} that is over.\n"
        self.write(MEMORY, self.dreams.text() + line)
        return line

    def write(self, path, text):
        """Change a file as a chat does."""
        open_workspace(self.dreams.root, Actor("chat")).write(path, text.encode())

    def tidy(self):
        """Bring the files back to a size at which nothing is held."""
        self.write("USER.md", "# User\n\n- Called Ana.\n")
        if len(self.dreams.text()) > 1_500:
            self.write(MEMORY, "# Memory\n\n- Begun anew.\n")

    def crash(self, due, *, in_review, how):
        """A run whose process dies: in its review, or in its batch after the review ended so."""
        dreams = self.dreams
        queued = dream_scheduler.start_run(dreams.workspace, "manual").run
        run = DreamRun.claim(queued.pk, "somebody", 600)
        store = DjangoRunStore(run)
        store.began(dreams.cursor, "")
        found = outcome.review_due(outcome.load_counters(dreams.root), self.oracle.every)
        assert found == due
        if due:
            store.reviewing(found)
        if due and not in_review:
            # The pass itself was over, which the row says, and the counters do not say yet.
            from memory.dream.values import ReviewResult

            statuses = {"shrinks": "completed", "finds nothing": "no_change"}
            store.reviewed(ReviewResult(due=found, status=statuses.get(how, "failed")))
        DreamRun.objects.filter(pk=run.pk).update(
            heartbeat_at=Now() - DEAD_AFTER - timedelta(seconds=1)
        )
        dream_recovery.recover_runs()
        run.refresh_from_db()
        assert run.status == "interrupted"
        return run


@pytest.mark.parametrize(
    ("seed", "every", "count"),
    [
        pytest.param(10, 4, 16, id="few"),
        pytest.param(3, 12, 60, id="sixty", marks=pytest.mark.soak),
        pytest.param(20, 4, 60, id="sixty, often reviewed", marks=pytest.mark.soak),
    ],
)
def test_what_is_counted_in_many_runs(dreams, caplog, seed, every, count):
    """Cadence, stuck count, forced mark, alarm and giving up are as written at every step."""
    # As a person may write it by hand; the forms ask for a yes below 12.
    settings = {"agents": {"defaults": {"dream": {"reviewEveryRuns": every}}}}
    (dreams.root / "config.json").write_text(json.dumps(settings))
    sixty = Sixty(dreams, seed, every)
    sixty.tidy()
    sixty.write(MEMORY, "# Memory\n\n- Known from the beginning.\n")
    for number in range(count):
        run, kind, due, how = sixty.step(caplog)
        oracle = sixty.oracle
        where = f"run {number}: {kind}, {due or 'no'} review ({how}); {run.full_message}"
        written = json.loads((dreams.root / outcome.COUNTERS_PATH).read_text())
        assert written == {
            "runs_since_review": oracle.since_review,
            "stuck_runs": oracle.stuck,
            "forced_at_stuck": oracle.forced_at,
            "failures": oracle.failures,
            "empty_runs": oracle.empty,
        }, where
        assert dreams.cursor == oracle.place, where
        assert run.review.get("due", "") == due, where
        aside = DreamEntry.objects.filter(place="set_aside").order_by("cursor")
        assert list(aside.values_list("cursor", flat=True)) == oracle.given_up, where
        state = DreamState.objects.get()
        assert {row["kind"] for row in state.alarms} == oracle.alarms, where
        raised = [row.alarm for row in caplog.records if row.message == "dream.alarm"]
        assert raised == oracle.raised, where
    assert {"crash", "refused", "idle", "outage"} <= sixty.met
    assert sixty.oracle.given_up
    assert any(str(one).startswith("forced") for one in sixty.met)
    assert any(str(one).startswith("due") for one in sixty.met)
