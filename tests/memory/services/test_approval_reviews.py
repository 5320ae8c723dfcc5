"""Reviews under approval, and runs that were killed after they had taken much out of a file."""

from datetime import timedelta

from django.db.models.functions import Now

from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.history import open_history
from memory import archive
from memory.models import DreamRun
from memory.services import approvals, dream_recovery, dream_runs
from tests.memory.services.test_approval_edges import TEN
from tests.memory.services.test_review import archived, edit, make_due, write
from tests.model_server import Call
from tests.support.dreams import MEMORY, is_review

TEXT = "# Memory\n\n## Notes\n\n" + "".join(f"- {line}\n" for line in TEN)


def review(dreams, *calls):
    """A run that is due for a review, which makes these calls."""
    make_due(dreams)
    for call in calls:
        dreams.model.script(call, when=is_review)
    dreams.model.script(Call("finish", {}), when=is_review)
    dreams.model.script("All is well.", when=is_review)
    return dreams.run()


def test_what_a_review_would_take_out_waits(dreams):
    """``removals``: what a review rewords and archives waits; accepted, it goes to the archive as
    the review's, in a version of its own, and raises no notice, since a person agreed to it."""
    dreams.set(approve="removals")
    write(dreams, TEXT)
    run = review(
        dreams, archived(MEMORY, TEN[0], "date passed"), edit(MEMORY, TEN[1], "Beta is short.")
    )
    assert run.review["status"] == "waiting", run.full_message
    assert "waits for your approval" in run.full_message
    assert dreams.text() == TEXT
    hunks = approvals.waiting(dreams.workspace)
    assert all(row.by_review for row in hunks)
    outcomes = approvals.accept_all(dreams.workspace, account=dreams.workspace.owner)
    assert all(row.ok for row in outcomes), outcomes
    assert TEN[0] not in dreams.text()
    kept = {row.text: row for row in archive.listing(dreams.root)}[TEN[0]]
    assert (kept.events[-1].actor, kept.events[-1].run) == ("review", f"{run.name}:review")
    run.refresh_from_db()
    assert kept.id in run.archived
    with open_history(dreams.root) as versions:
        assert versions.resolve(run.commits[-1]).subject == "dream: approved changes"
    assert not approvals.large_prunes(dreams.workspace)


def test_a_review_that_takes_much_out_is_told(dreams):
    """Eight entries in one pass: the notice lists them, and one act brings them back."""
    write(dreams, TEXT)
    run = review(dreams, *(archived(MEMORY, line) for line in TEN[:8]))
    (found,) = approvals.large_prunes(dreams.workspace)
    assert [line.text for line in found.lines] == TEN[: len(found.lines)]
    done = approvals.bring_all_back(dreams.workspace, run.pk, account=dreams.workspace.owner)
    assert done.ok, done.message
    assert sorted(dreams.text().splitlines()) == sorted(TEXT.splitlines())


def test_a_killed_run_is_told_of_like_any_other(dreams):
    """Its process dies after it has taken most of a file out: whoever takes it over tells of it."""
    write(dreams, TEXT)
    run = DreamRun.begin(dreams.workspace, "manual")
    claimed = DreamRun.claim(run.pk, dream_runs.holder(), 600)
    mine = open_workspace(dreams.root, Actor("dream", run=claimed.name, sources=(1,)))
    mine.write(MEMORY, TEXT.replace("".join(f"- {line}\n" for line in TEN[:9]), "").encode())
    DreamRun.objects.filter(pk=run.pk).update(heartbeat_at=Now() - timedelta(minutes=5))
    dream_recovery.recover_runs()
    (found,) = approvals.large_prunes(dreams.workspace)
    assert (found.run_id, len(found.lines)) == (run.pk, 9)
    assert approvals.bring_all_back(dreams.workspace, run.pk, account=None).ok
    assert sorted(dreams.text().splitlines()) == sorted(TEXT.splitlines())
