"""The review pass of a run: over real files, versions and the ledger of origins."""

import pytest
from django.core.management import call_command

from jenny.workspace.versions.history import open_history
from jenny.workspace.write_rules import Actor
from memory import archive
from memory.dream import outcome
from memory.dream.outcome import Counters
from memory.models import DreamRun, DreamState
from memory.services import dream_recovery, origins
from tests.model_server import Call, Fail, Say, Stop
from tests.support.dreams import MEMORY, add, batch_of, finish, is_review, results

DUE = Counters(runs_since_review=12)


def make_due(dreams, **counts):
    """Let the next run begin with these counts."""
    outcome.store_counters(
        dreams.root, Counters(**({"runs_since_review": 12} | counts)), Actor("pipeline", run="test")
    )


def write(dreams, text, path=MEMORY):
    """Make a memory file say this."""
    (dreams.root / path).write_text(text)


def archived(path, entry, reason="over"):
    """A call that moves an entry to the archive."""
    return Call("move_entry", {"path": path, "entry": entry, "to": "archive", "reason": reason})


def edit(path, old, new=""):
    """A call that replaces a text."""
    return Call("edit_file", {"path": path, "old_text": old, "new_text": new})


def reviews(dreams):
    """The requests of review passes."""
    return [row for row in dreams.model.requests if is_review(row)]


def test_a_review_relocates_rewords_and_archives(dreams):
    """Said first, computed from its own writes: what was freed, where things moved, which texts
    are in the archive. It has a version of its own, and moves no cursor."""
    write(
        dreams,
        "# Memory\n\n## Projects\n\n- The boat's hull was sanded, and this was done, by 3 May.\n"
        "- Dentist on 2 March 2025 at 9.\n- The user is called Ana.\n"
        "- The keel is of oak, and was laid by the yard at Lysekil in 1964.\n"
        "- The engine is a two-cylinder diesel, serviced each April.\n",
    )
    make_due(dreams)
    (one,) = dreams.say("- [ephemeral] Rain.")
    move = {"path": MEMORY, "entry": "The user is called Ana.", "to": "USER.md"}
    dreams.model.script(Call("move_entry", move), when=is_review)
    dreams.model.script(
        edit(MEMORY, "was sanded, and this was done, by 3 May", "sanded by 3 May"), when=is_review
    )
    dreams.model.script(
        archived(MEMORY, "Dentist on 2 March 2025 at 9.", "date passed"), when=is_review
    )
    dreams.model.script(Call("finish", {}), when=is_review)
    dreams.model.script("All is well.", when=is_review)
    dreams.model.script(finish(not_kept=[one]), when=batch_of)
    run = dreams.run()
    assert (run.status, dreams.cursor) == ("nothing_new", one), run.full_message
    found = run.review
    assert (found["status"], found["due"]) == ("completed", "due")
    assert found["freed"] > 0
    rows = {row.text: row for row in archive.listing(dreams.root)}
    dentist = rows["Dentist on 2 March 2025 at 9."]
    assert dentist.events[0].reason == "date passed"
    assert dentist.events[0].actor == "review"
    assert set(found["archived"]) == {row.id for row in rows.values()}
    assert [(row["source"], row["target"]) for row in found["moved"]] == [(MEMORY, "USER.md")]
    assert run.full_message.startswith(
        f"Review: {found['freed']} characters freed. 2 facts moved to the "
    )
    assert f"`{dentist.id}`" in run.full_message.split("\n")[0]
    assert run.full_message.index("Moved:") < run.full_message.index(
        "Memory is up to date: nothing new."
    )
    with open_history(dreams.root) as versions:
        (sha,) = found["commits"]
        version = versions.resolve(sha)
        assert (version.subject, version.cursor) == ("dream: review pass", (0, None))
    assert not run.commits
    assert dreams.counters == Counters(runs_since_review=1)


def test_a_review_sees_no_history_and_has_tools_without_sources(dreams):
    """Nothing of what waits is in its requests; its tools ask for no entries; it has its own
    prompt, and the workspace's guide behind it."""
    write(dreams, "# Memory\n\n- Something known.\n")
    (dreams.root / "prompts/dream.md").write_text("Keep the colours of all boats.")
    make_due(dreams)
    dreams.say("- [durable] MARKED-FACT.")
    dreams.run()
    (request,) = reviews(dreams)
    assert b"MARKED-FACT" not in request.body
    tools = {tool["name"]: tool["input_schema"] for tool in request.json["tools"]}
    assert list(tools) == [
        "read_file", "edit_file", "apply_patch", "write_file", "move_entry", "finish",
    ]  # fmt: skip
    assert not any("sources" in tool["properties"] for tool in tools.values())
    system = str(request.json["system"])
    assert "Your one job" in system
    assert "Keep the colours of all boats." in system
    assert "sources" not in system
    assert b"MARKED-FACT" in dreams.shown()[0].body
    assert "This is a review" not in str(dreams.shown()[0].json["system"])


def test_the_first_finish_ends_the_review(dreams):
    """A model that would call ``finish`` for ever is not asked again; the pass has not failed."""
    write(dreams, "# Memory\n\n- Dentist on 2 March 2025 at 9.\n- The engine is a diesel.\n")
    make_due(dreams)
    gone = archived(MEMORY, "Dentist on 2 March 2025 at 9.", "date passed")
    dreams.model.always(is_review, gone, Call("finish", {}), Call("finish", {}))
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert len(reviews(dreams)) == 1


def test_what_replaces_a_line_rests_on_what_the_line_rested_on(dreams):
    """A line that a run wrote from an entry is reworded by a review: whoever asks why it stands
    there is still led to the entry."""
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")
    dreams.model.script(add("- The bees, they are fed on Mondays.", one))
    dreams.model.script(finish(saved=[one]))
    assert dreams.run().status == "completed"
    make_due(dreams)
    dreams.model.script(edit(MEMORY, "The bees, they are fed", "Bees are fed"), when=is_review)
    dreams.model.script(edit(MEMORY, "Bees are fed on Mondays", "Bees fed Mondays"), when=is_review)
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert [row["sources"] for row in run.review["writes"]] == [[one], [one]]
    from memory.facts import digest

    origins.save_origins(dreams.workspace)
    found = origins.writings(dreams.workspace, digest("Bees fed Mondays."))
    assert found[0].actor == "review"
    assert all(one in row.sources for row in found)


@pytest.mark.parametrize(
    ("acts", "why"),
    [
        ([Fail(401)], "key"),
        ([Say("No."), Stop("refusal")], "declined"),
        ([Say("Well"), Stop("max_tokens")], "length limit"),
        ([Call("edit_file", {"path": MEMORY, "old_text": "not in it", "new_text": "x"})], "same"),
    ],
)
def test_a_review_that_fails_ends_itself_alone_and_comes_back_in_two_runs(dreams, acts, why):
    """The batch is read all the same; the next run has no review, the one after it has."""
    write(dreams, "# Memory\n\n- Something known.\n")
    make_due(dreams)
    every = dreams.say(*[f"- [ephemeral] Rain {number}." for number in range(25)])
    dreams.model.always(is_review, *acts)
    dreams.model.script(finish(not_kept=every[:20]), when=batch_of)
    run = dreams.run()
    assert run.status == "nothing_new", run.full_message
    assert run.review["status"] == "failed"
    assert why in run.review["why"]
    assert run.full_message.startswith("Review: it was not clean, and comes back in two runs.")
    assert dreams.counters == Counters(runs_since_review=11)
    asked = len(reviews(dreams))
    assert dreams.run().review == {}
    assert len(reviews(dreams)) == asked
    assert dreams.run().review["status"] == "failed"
    assert len(reviews(dreams)) > asked


def test_a_refusal_that_stays_open_makes_it_fail(dreams):
    """What shrank, shrank, and is told; what a budget refused and never landed is counted."""
    write(dreams, "# Memory\n\n- A thing that is over.\n- " + "wide " * 60 + "\n")
    write(dreams, "# User\n\n" + "- A line of some length.\n" * 118, "USER.md")
    make_due(dreams)
    dreams.model.script(archived(MEMORY, "A thing that is over."), when=is_review)
    wide = {"path": MEMORY, "entry": "wide " * 60, "to": "USER.md"}
    dreams.model.script(Call("move_entry", wide), when=is_review)
    run = dreams.run()
    assert run.review["status"] == "failed", run.full_message
    assert [row["path"] for row in run.review["refused"]][:1] == ["USER.md"]
    assert "1 write was refused by a budget and never landed" in run.full_message.split("\n")[0]
    assert "characters freed" in run.full_message.split("\n")[0]
    assert "wide" in dreams.text()


def test_a_pass_that_has_taken_out_enough_is_ended(dreams):
    """No write is refused for it: it is told to finish, and is over; all that left is in the
    archive, word for word, pass after pass."""
    names = [f"Name {number} of a person that matters {number * 7}." for number in range(40)]
    write(dreams, "# Memory\n\n" + "".join(f"- {name}\n" for name in names))
    for name in names:
        dreams.model.script(archived(MEMORY, name), when=is_review)
    passes = 0
    while len(archive.listing(dreams.root)) < 30:
        make_due(dreams)
        run = dreams.run()
        passes += 1
        assert run.review["status"] == "completed", run.full_message
        assert 1 <= len(run.review["archived"]) <= 13
        assert run.review["ended_early"]
        assert "enough for one pass" in run.full_message
    assert passes >= 3
    kept = {row.text for row in archive.listing(dreams.root)}
    text = dreams.text()
    assert all((name in kept) != (f"- {name}\n" in text) for name in names)
    assert "enough for one review" in results(reviews(dreams)[-1]) + str(
        reviews(dreams)[-1].json["messages"]
    )


def test_a_shrinking_write_over_the_budget_is_taken(dreams):
    """A file far over its budget is made smaller though it stays over; a pin and what is forgotten
    are refused for good."""
    write(dreams, "# Memory\n\n" + "- Known thing that is long enough.\n" * 130)
    make_due(dreams)
    dreams.model.script(
        edit(MEMORY, "# Memory\n\n- Known thing that is long enough.\n", "# Memory\n\n"),
        when=is_review,
    )
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert run.review["freed"] == 35
    assert len(dreams.text()) > 3_000


def test_a_task_written_out_finds_its_place_in_a_skill(dreams):
    """It is made of the line that stood there, destination first; a task that no file spoke of is
    none."""
    steps = "To publish the site: run make build, copy site/ to alfa, restart caddy."
    write(dreams, f"# Memory\n\n- {steps}\n- Other.\n")
    make_due(dreams)
    skill = (
        "---\ndescription: Publishing the site, when a page has changed\n---\n\n"
        "1. Run make build in the folder.\n2. Copy site/ to the server alfa.\n"
    )
    other = skill.replace("Publishing the site", "Baking the weekly bread")
    call = {"path": "skills/bake-bread/SKILL.md", "content": other, "noted": "Bake bread weekly."}
    dreams.model.script(Call("write_file", call), when=is_review)
    call = {"path": "skills/publish-site/SKILL.md", "content": skill, "noted": steps}
    dreams.model.script(Call("write_file", call), when=is_review)
    dreams.model.script(archived(MEMORY, steps, "now a skill"), when=is_review)
    run = dreams.run()
    assert not (dreams.root / "skills/bake-bread").exists()
    assert "made-by: dream" in dreams.text("skills/publish-site/SKILL.md")
    assert steps not in dreams.text()
    assert run.review["freed"] == len(f"- {steps}\n")


def test_untouched_files_ask_nobody(dreams):
    """A workspace as it begins has nothing to be made smaller, whatever was counted."""
    make_due(dreams)
    run = dreams.run()
    assert run.review["status"] == "no_change"
    assert not dreams.model.requests
    assert run.full_message.startswith("Review: nothing had to be made smaller.\n\nNothing to do.")
    assert dreams.counters == Counters(runs_since_review=1)


def test_a_spent_day_puts_the_review_off(dreams):
    """It stays due, and says so."""
    write(dreams, "# Memory\n\n- Something known.\n")
    make_due(dreams)
    dreams.set(maxTokensPerDay=1)
    DreamRun.objects.create(
        workspace=dreams.workspace, trigger="manual", state="ended", input_tokens=9
    )
    run = dreams.run()
    assert run.review == {}
    assert "A review pass is due and waits." in run.full_message
    assert dreams.counters.runs_since_review == 13


def test_a_process_that_dies_in_a_review(dreams):
    """The pass counts as failed, and comes back in two runs; what it wrote is in the versions as an
    interrupted run's, and what it used counts for the day."""
    from datetime import timedelta

    from django.db.models.functions import Now

    from jenny.agent.tokens import Usage
    from jenny.workspace import config
    from jenny.workspace.files import open_workspace
    from memory.models.dream import DEAD_AFTER
    from memory.services import dream_runs, dream_scheduler
    from memory.services.dream_run_store import DjangoRunStore

    write(dreams, "# Memory\n\n- One.\n- Two.\n")
    make_due(dreams)
    queued = dream_scheduler.start_run(dreams.workspace, "manual").run
    run = DreamRun.claim(queued.pk, "somebody", 600)
    store = DjangoRunStore(run)
    store.began(0, "")
    store.reviewing("due")
    actor = Actor("review", run=f"{run.name}:review")
    open_workspace(dreams.root, actor).write(MEMORY, b"# Memory\n\n- One.\n")
    store.spent(Usage(input=70, output=7))
    DreamRun.objects.update(heartbeat_at=Now() - DEAD_AFTER - timedelta(seconds=1))
    dream_recovery.recover_runs()
    run.refresh_from_db()
    assert (run.status, run.review["status"]) == ("interrupted", "failed")
    assert dreams.counters == Counters(runs_since_review=11, failures=1)
    assert dream_runs.used_today(dreams.workspace, config.load_config(dreams.root)) == 77
    with open_history(dreams.root) as versions:
        assert versions.log(limit=1)[0].subject == "dream: interrupted run"
    assert run.archived
    assert DreamState.objects.get().alarms == []


def test_with_approval_what_it_takes_out_waits(dreams):
    """Nothing is gone before a person agreed; that a review waits says nothing about the batch of
    the same run, which is judged by its own writes."""
    dreams.set(approve="removals")
    write(dreams, "# Memory\n\n- Dentist on 2 March 2025.\n- The hives are blue, all four.\n")
    make_due(dreams)
    (one,) = dreams.say("- [durable] The bees are fed on Mondays.")
    dreams.model.script(archived(MEMORY, "Dentist on 2 March 2025."), when=is_review)
    dreams.model.script("Done.", when=is_review)
    dreams.model.script(add("- " + "wide " * 700, one), when=batch_of)
    run = dreams.run()
    assert run.review["status"] == "waiting", run.full_message
    assert run.full_message.startswith("Review: what it would change waits for your approval.")
    assert "- Dentist on 2 March 2025." in dreams.text()
    assert not archive.listing(dreams.root)
    assert (run.status, dreams.cursor) == ("wrote_nothing", 0), run.full_message


def test_a_pass_that_lost_its_run_writes_nothing(dreams):
    """Whoever was paused in a review and wakes up after the run was taken over is refused."""
    from datetime import timedelta

    from django.db.models.functions import Now

    from jenny.workspace.errors import WriteRefused
    from jenny.workspace.files import open_workspace
    from memory.models.dream import DEAD_AFTER
    from memory.services import dream_scheduler
    from memory.services.dream_run_store import held

    run = DreamRun.claim(
        dream_scheduler.start_run(dreams.workspace, "manual").run.pk, "somebody", 600
    )
    actor = Actor("review", run=f"{run.name}:review")
    with held(run):
        open_workspace(dreams.root, actor).write(MEMORY, b"# Memory\n\n- One.\n")
        DreamRun.objects.update(heartbeat_at=Now() - DEAD_AFTER - timedelta(seconds=1))
        dream_recovery.recover_runs()
        with pytest.raises(WriteRefused) as refused:
            open_workspace(dreams.root, actor).write(MEMORY, b"# Memory\n\n- Two.\n")
    assert refused.value.rule == "epoch"
    assert "- One." in dreams.text()


def test_a_review_is_undone_by_itself(dreams):
    """Its files are as they were, byte for byte; Dream's place, which it never moved, stays where
    the runs before and after it have put it."""
    dreams.say("- [ephemeral] Rain.", "- [ephemeral] Snow.")
    dreams.model.always(batch_of, "I know.")
    text = "# Memory\n\n- Dentist on 2 March 2025.\n- The hives are blue, all four of them.\n"
    write(dreams, text)
    assert (dreams.run().status, dreams.cursor) == ("nothing_new", 2)
    make_due(dreams)
    dreams.say("- [ephemeral] Hail.")
    dreams.model.script(archived(MEMORY, "Dentist on 2 March 2025."), when=is_review)
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert dreams.cursor == 3
    call_command("versions", "restore", run.review["commits"][0])
    assert dreams.text() == text
    assert dreams.cursor == 3


def test_a_full_file_gets_room_when_dream_is_stuck(dreams):
    """Two runs find no room for a fact; the third begins with a review, whose room is there when
    the fact is written. The counts begin anew, so that the next time it is stuck it is helped
    again."""
    old = [f"- Old thing number {number}, long over, {'x' * 70}.\n" for number in range(30)]
    write(dreams, ("# Memory\n\n" + "".join(old))[:2_950].rsplit("\n", 1)[0] + "\n")
    fact = "The bees are fed on Mondays, at eight, by the barn, and never by Bo himself."
    (one,) = dreams.say(f"- [durable] {fact}")
    for _ in range(2):
        dreams.model.script(add(f"- {fact} {'y' * 300}", one), when=batch_of)
        dreams.model.script("No room.", when=batch_of)
        dreams.model.script("None.", when=batch_of)
        assert dreams.run().status == "wrote_nothing"
    assert not reviews(dreams)
    for line in old[:6]:
        dreams.model.script(archived(MEMORY, line[2:-1]), when=is_review)
    dreams.model.script(add(f"- {fact}", one), when=batch_of)
    dreams.model.script(finish(saved=[one]), when=batch_of)
    run = dreams.run()
    assert (run.review["due"], run.review["status"]) == ("forced", "completed"), run.full_message
    assert (run.status, dreams.cursor) == ("completed", one), run.full_message
    assert fact in dreams.text()
    assert dreams.counters == Counters(runs_since_review=1)
