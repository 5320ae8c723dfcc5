"""The day's limit on what models may use is reached: Dream waits, and nothing counts against it."""

from datetime import timedelta

from django.utils import timezone

from jenny.accounts.models import Account, UsageDay
from memory.dream import outcome
from memory.models import DreamRun, DreamSchedule
from memory.services import dream_scheduler
from tests.support.dreams import MEMORY, add, finish


def limit(dreams, tokens: int | None) -> None:
    """Set the limit of the workspace's owner."""
    rows = Account.objects.filter(pk=dreams.workspace.owner_id)
    rows.update(max_tokens_per_day=tokens)


def test_a_run_ends_at_the_limit_and_is_made_up_for(dreams):
    """Between two requests: what it wrote is kept, its place and the counts are as before; none is
    begun, by hand or by the clock; with a higher limit the next one begins where it stood."""
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")
    limit(dreams, 1)
    dreams.model.script(add("- The bees are fed on Mondays.", one))
    run = dreams.run()
    assert (run.status, run.state) == ("paused", DreamRun.State.ENDED)
    assert "Today's limit on what models may use is reached" in run.message
    assert "- The bees are fed on Mondays." in dreams.text()
    assert dreams.cursor == 0
    assert dreams.counters == outcome.Counters()
    assert set(UsageDay.objects.values_list("kind", flat=True)) == {"dream"}
    asked = dream_scheduler.start_run(dreams.workspace, "manual")
    assert asked.run is None
    assert "limit of 1 token is used up" in asked.message
    DreamSchedule.objects.filter(pk=dreams.workspace.pk).delete()
    dream_scheduler.keep_schedule(dreams.workspace, timezone.now())
    DreamSchedule.objects.update(next_dream_at=timezone.now() - timedelta(minutes=1))
    begun: list[int] = []
    assert dream_scheduler.start_due_runs(begun.append, timezone.now()) == 0
    limit(dreams, None)
    dream_scheduler.catch_up(dreams.workspace)
    assert dream_scheduler.start_due_runs(begun.append, timezone.now() + timedelta(seconds=1)) == 1
    DreamRun.objects.filter(pk=begun[0]).delete()
    dreams.model.script(finish(saved=[one]))
    assert dreams.run().status in {"completed", "nothing_new"}
    assert dreams.cursor == one
    assert dreams.text(MEMORY).count("The bees are fed on Mondays.") == 1
