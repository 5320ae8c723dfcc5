"""All calls to models are paused: Dream waits, and nothing counts against it."""

from datetime import timedelta

from django.utils import timezone

from jenny.accounts.services import usage
from jenny.workspace import config
from memory.dream import outcome
from memory.models import DreamRun, DreamSchedule
from memory.services import dream_scheduler
from tests.support.dreams import MEMORY, add, finish


def pause(dreams, *, on: bool) -> None:
    """Flip the switch."""
    config.change_config(
        dreams.root, lambda data: data.setdefault("privacy", {}).update(pauseModelCalls=on)
    )


def test_a_run_that_is_paused_in_the_middle_is_made_up_for(dreams, monkeypatch):
    """What it wrote is kept in a version, its place and the counts are as before, and the run that
    follows when calls are resumed begins where it stood."""
    monkeypatch.setattr("jenny.agent.cancellation.CHECK_SECONDS", 0.0)
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")

    def flip(request):
        # Asked the second time: the first write has landed.
        if len(dreams.model.requests) > 1:
            pause(dreams, on=True)
        return True

    dreams.model.script(add("- The bees are fed on Mondays.", one), when=flip)
    dreams.model.script("never heard", when=flip)
    run = dreams.run()
    assert (run.status, run.state) == ("paused", DreamRun.State.ENDED)
    assert "All model calls are paused" in run.message
    assert "- The bees are fed on Mondays." in dreams.text()
    assert run.commits
    assert dreams.cursor == 0
    assert dreams.counters == outcome.Counters()
    assert dream_scheduler.start_run(dreams.workspace, "manual").run is None

    DreamSchedule.objects.filter(pk=dreams.workspace.pk).delete()
    dream_scheduler.keep_schedule(dreams.workspace, timezone.now())
    pause(dreams, on=False)
    dream_scheduler.catch_up(dreams.workspace)
    begun: list[int] = []
    dream_scheduler.start_due_runs(begun.append, timezone.now() + timedelta(seconds=1))
    assert len(begun) == 1
    DreamRun.objects.filter(pk=begun[0]).delete()
    dreams.model.script(finish(saved=[one]))
    assert dreams.run().status in {"completed", "nothing_new"}
    assert dreams.cursor == one
    assert dreams.text(MEMORY).count("The bees are fed on Mondays.") == 1


def test_what_comes_due_meanwhile_is_put_off(dreams):
    """The clock begins nothing while calls are paused, and begins once when they are resumed."""
    dream_scheduler.keep_schedule(dreams.workspace, timezone.now())
    rows = DreamSchedule.objects.filter(pk=dreams.workspace.pk)
    begun: list[int] = []

    def tick_later() -> None:
        rows.update(next_dream_at=timezone.now())
        dream_scheduler.start_due_runs(begun.append, timezone.now() + timedelta(seconds=5))

    pause(dreams, on=True)
    assert usage.why_calls_wait(dreams.workspace)
    tick_later()
    assert not begun
    assert rows.get().next_dream_at <= timezone.now() + dream_scheduler.PAUSED_FOR * 2
    pause(dreams, on=False)
    tick_later()
    assert len(begun) == 1
