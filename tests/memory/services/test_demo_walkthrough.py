"""Dreaming without a model: a person can walk through all of it with the demo model."""

from jenny.workspace.write_rules import Actor
from memory import archive
from memory.dream import outcome, report
from tests.support.dreams import MEMORY, add, finish


def test_facts_are_kept_corrected_and_the_old_wording_archived(dreams, settings):
    """Three facts, one run, and the difference is told; one is corrected, another run, and it is
    replaced in its place, the old wording in the archive with its id told; a third run has nothing
    to do. What happens is in the row."""
    settings.JENNY_API_BASE_URL = ""
    settings.JENNY_API_KEY = ""
    first = dreams.say(
        "- [durable] The user lives in Brno.",
        "- [permanent] The user's daughter is called Mia.\n"
        "- [durable] The deploy runs on Tuesdays.",
        "- [ephemeral] The user is tired today.",
    )
    run = dreams.run()
    assert (run.status, run.is_demo) == ("completed", True), run.full_message
    assert dreams.cursor == first[-1]
    assert [row["verdict"] for row in run.entries] == ["saved", "saved", "not_kept"]
    assert "+- The user lives in Brno." in run.full_message
    assert "3 entries: 2 saved, 1 not kept." in run.full_message
    assert f"`/dream-restore {run.commits[-1][:8]}` undoes it." in run.full_message
    assert "- The deploy runs on Tuesdays." in dreams.text(MEMORY)

    dreams.say(
        "- [correction] Actually the deploy runs on Thursdays, no longer on Tuesdays.",
        "- [durable] The user lives in Brno.",
    )
    run = dreams.run()
    assert run.status == "completed", run.full_message
    assert [row["verdict"] for row in run.entries] == ["saved", "already_known"]
    memory = dreams.text(MEMORY)
    assert "- The deploy runs on Thursdays, no longer on Tuesdays." in memory
    assert "runs on Tuesdays." not in memory
    assert dreams.text("USER.md").count("lives in Brno.\n") == 1
    (kept,) = archive.listing(dreams.root)
    assert kept.text == "The deploy runs on Tuesdays."
    assert run.archived == [kept.id]
    assert kept.id in run.full_message
    assert dreams.run().status == "nothing_pending"


def test_a_report_counts_only_what_the_run_wrote(dreams):
    """Not what the model says, nor what somebody else wrote in the meantime; a file that is no
    text is named, and not shown as if it were."""
    (dreams.root / "USER.md").write_bytes(b"\xff\xfe no text\n")
    (one,) = dreams.say(
        "- [durable] The bees are fed on Mondays.\n- [durable] The wasps are left alone."
    )
    dreams.model.script(add("- The bees are fed on Mondays.", one))
    dreams.model.script(add("- The wasps are left alone.", one, path="USER.md"))
    dreams.model.script(finish(saved=[one]))
    dreams.model.script("I have also rewritten SOUL.md and added 12 lines.")
    run = dreams.run()
    told = run.report
    assert [(row["path"], row["added"], row["removed"]) for row in told["files"]] == [
        (MEMORY, told["files"][0]["added"], 0)
    ]
    assert told["added"] == {MEMORY: ["## Notes", "- The bees are fed on Mondays."]}
    assert [(row["path"], row["rule"]) for row in told["refused"]] == [("USER.md", "edit")]
    assert run.status == "partly_written"
    assert "SOUL.md" not in run.full_message
    assert (dreams.root / "USER.md").read_bytes() == b"\xff\xfe no text\n"


def test_a_change_that_no_run_may_make_is_told(dreams):
    """Something changed below ``memory/`` while the model was asked: the run says so, with where
    to look, and goes on."""
    for number in range(60):
        (dreams.root / "memory" / f"note{number}.md").write_text("mine\n")
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")

    def stray(_request):
        (dreams.root / "memory" / "note7.md").write_text("not mine\n")
        return True

    dreams.model.script(add("- The bees are fed on Mondays.", one), when=stray)
    dreams.model.script(finish(saved=[one]))
    run = dreams.run()
    assert run.status == "completed"
    assert any("“memory/note7.md” changed, which no run may touch" in note for note in run.notes)
    assert report.make_report(dreams.root, attempts=()).markdown == ""


def test_a_review_can_be_watched(dreams, settings):
    """The demo model reviews by rule: a line that another one says with more in it is archived, one
    about the work moves out of the file about the person, all else stays; and /dream says so
    first."""
    settings.JENNY_API_BASE_URL = ""
    settings.JENNY_API_KEY = ""
    (dreams.root / "USER.md").write_text(
        "# User\n\n## Preferences and habits\n\n- Drinks coffee.\n"
        "- Drinks coffee black, at seven.\n- The server runs on Debian.\n"
        "- Likes rye bread and long walks by the river.\n"
    )
    outcome.store_counters(
        dreams.root, outcome.Counters(runs_since_review=12), Actor("pipeline", run="test")
    )
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert dreams.text("USER.md") == (
        "# User\n\n## Preferences and habits\n\n- Drinks coffee black, at seven.\n"
        "- Likes rye bread and long walks by the river.\n"
    )
    assert "- The server runs on Debian." in dreams.text(MEMORY)
    assert [row.text for row in archive.listing(dreams.root)] == ["Drinks coffee."]
    first = run.full_message.split("\n")[0]
    assert first.startswith("Review: ")
    assert "1 fact moved to the archive: `" in first
    assert "Nothing to do." in run.full_message
    outcome.store_counters(
        dreams.root, outcome.Counters(runs_since_review=12), Actor("pipeline", run="test")
    )
    assert dreams.run().review["status"] == "no_change"
