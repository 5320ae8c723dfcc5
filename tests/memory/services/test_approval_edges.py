"""What waits, at the edges: skills, budgets, restores, runs and pages at once, the command; and
runs that take much out of a file."""

import io
import json
import threading

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from jenny.accounts.services import notices
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.undo import undo
from memory import archive, prompt_files, skills, suppression
from memory.approvals import overlay
from memory.history import prompt
from memory.models import DreamRun, LargePrune, StagedHunk
from memory.services import approvals, large_prunes
from memory.services import notices as memory_notices
from memory.services.why import why
from tests.memory.services.test_approvals import START, dream, edit, owner, waits
from tests.model_server import Call, Fail
from tests.support.dreams import MEMORY, add, finish, results

__all__ = ["owner", "waits"]

SKILL = """---
description: How the hives are fed in autumn, when asked about feeding
{always}---

1. Mix sugar and water in the shed.
2. Fill the feeders before dusk.
"""


def write_skill(dreams, text, path="skills/feed-the-hives/SKILL.md"):
    """A run that writes a skill of what was seen twice."""
    seen = dreams.say("- [durable] Feeding, once.", conversation="a")
    seen += dreams.say("- [durable] Feeding, again.", conversation="b")
    arguments = {"path": path, "content": text, "sources": seen}
    dreams.model.script(Call("write_file", arguments))
    dreams.model.script(finish(saved=seen))
    return dreams.run()


def call(*words):
    """What the command answers."""
    said = io.StringIO()
    call_command("approvals", *words, stdout=said)
    return said.getvalue()


def test_a_skill_waits_whole_and_then_for_its_yes(waits, owner):
    """A new skill is one hunk, listed to chats as waiting. Accepted, it is a file; with ``always``
    it is read in full only after a yes to just that text."""
    run = write_skill(waits, SKILL.format(always="always: true\n"))
    assert run.status == "waiting", run.message
    (hunk,) = approvals.waiting(waits.workspace)
    assert (hunk.kind, hunk.path) == ("skill", "skills/feed-the-hives/SKILL.md")
    assert not (waits.root / hunk.path).exists()
    listed = prompt_files.screened(waits.root, skills.blocks(waits.root)[1]).text
    assert "⟨it is no file yet, and waits for the user's approval⟩" in listed
    assert approvals.accept_hunk(waits.workspace, hunk.id, account=owner).ok
    (skill,) = approvals.skills_waiting(waits.workspace)
    assert "Mix sugar" not in skills.blocks(waits.root)[0].text
    stale = approvals.approve_skill(waits.workspace, skill.path, "0" * 64, account=owner)
    assert not stale.ok
    for _ in range(2):
        done = approvals.approve_skill(waits.workspace, skill.path, skill.version, account=owner)
        assert done.ok, done.message
    assert "Mix sugar" in skills.blocks(waits.root)[0].text
    file = waits.root / skill.path
    file.write_text(file.read_text().replace("dusk", "dawn"))
    assert "Mix sugar" not in skills.blocks(waits.root)[0].text
    (again,) = approvals.skills_waiting(waits.workspace)
    assert approvals.approve_skill(waits.workspace, again.path, again.version, account=owner).ok
    assert approvals.withdraw_skill(waits.workspace, again.path, account=owner).ok
    assert "Mix sugar" not in skills.blocks(waits.root)[0].text
    assert not approvals.approve_skill(waits.workspace, "skills/no/SKILL.md", "", account=owner).ok


def test_the_next_run_edits_a_skill_that_waits(waits, owner):
    """It reads the skill as it waits and changes it; one hunk is left, and the file is as both runs
    made it. A double of it under another name is refused."""
    write_skill(waits, SKILL.format(always=""))
    path = "skills/feed-the-hives/SKILL.md"
    dream(
        waits,
        lambda n: Call("read_file", {"path": path}) if n else None,
        lambda n: edit("before dusk", "before noon", n, path=path),
    )
    assert "1. Mix sugar" in results(waits.model.requests[-2])
    (hunk,) = approvals.waiting(waits.workspace)
    assert "before noon" in hunk.after
    write_skill(waits, SKILL.format(always=""), path="skills/feeding-the-hives/SKILL.md")
    assert "is for the same" in results(waits.model.requests[-1])
    assert approvals.accept_hunk(waits.workspace, hunk.id, account=owner).ok
    assert "made-by: dream" in waits.text(path)
    assert "before noon" in waits.text(path)


def test_room_that_waits_is_room_for_additions(dreams, owner):
    """``removals`` in a full file: the removal waits, and so does the addition that fits only after
    it; accepted together, what makes room comes first."""
    dreams.set(approve="removals", memoryBudgetChars=200)
    long = "- " + "A long line about nothing much at all. " * 3
    (dreams.root / MEMORY).write_text(f"# Memory\n\n## Notes\n\n{long}\n- Short.\n")
    news = "- " + "Something new about the hives and the orchard. " * 2
    _, run = dream(dreams, lambda n: edit(f"{long}\n", "", n), lambda n: add(news, n))
    assert run.status == "waiting", run.message
    assert long in dreams.text()
    added = next(row for row in approvals.waiting(dreams.workspace) if row.kind == "add")
    refused = approvals.accept_hunk(dreams.workspace, added.id, account=owner)
    assert not refused.ok
    assert "budget" in refused.message
    outcomes = approvals.accept_all(dreams.workspace, account=owner)
    assert [row.ok for row in outcomes] == [True, True]
    assert len(DreamRun.objects.get(pk=run.pk).commits) == 1
    assert long not in dreams.text()
    assert news.strip() in dreams.text()


def test_a_run_that_waits_is_never_held(waits):
    """A full file, a fact to be kept, and by the run's writes no file grew: it waits, and neither
    the count of held runs nor the alarm moves."""
    waits.set(memoryBudgetChars=60)
    _, run = dream(waits, lambda n: edit("painted red", "red", n))
    assert run.status == "waiting", run.message
    assert waits.counters.stuck_runs == 0


def test_a_failed_run_stages_and_its_entries_come_back(waits):
    """The model fails after it has written: what it wrote waits, the place stays, and the next run
    sees it as written."""
    (one,) = waits.say("- [durable] The hives stand in the orchard.")
    waits.model.script(add("- The hives stand in the orchard.", one))
    waits.model.script(Fail(400, "invalid_request_error", "no"))
    assert waits.run().status == "failed"
    assert waits.cursor == 0
    assert len(approvals.waiting(waits.workspace)) == 1
    waits.model.script(add("- The hives stand in the orchard.", one))
    waits.model.script(finish(already_known=[one]))
    run = waits.run()
    assert waits.cursor == one, run.message
    assert len(approvals.waiting(waits.workspace)) == 1


def test_switched_off_what_waits_still_waits(waits, owner):
    """Writes land again; what waits is not proposed twice, and goes on waiting."""
    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    waits.set(approve="off")
    _, run = dream(
        waits,
        lambda n: add("- The hives stand in the orchard.", n),
        lambda n: add("- Anna keeps the keys.", n),
    )
    assert run.status == "completed", run.message
    assert waits.text() == START + "- Anna keeps the keys.\n"
    (hunk,) = approvals.waiting(waits.workspace)
    assert approvals.accept_hunk(waits.workspace, hunk.id, account=owner).ok
    assert waits.text().count("orchard") == 1


def test_a_line_written_by_hand_settles_what_waits(waits):
    """The person writes the same line themselves: nothing waits any more, nothing is doubled."""
    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (waits.root / MEMORY).write_text(START + "- the hives stand in the orchard\n")
    assert not approvals.waiting(waits.workspace)
    assert StagedHunk.objects.get().state == "settled"
    assert "⟨" not in prompt_files.block("memory", waits.root).text


def test_the_summariser_knows_what_waits(waits):
    """A fact that waits is on record for the summariser, which does not take it down again."""
    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    assert "- The hives stand in the orchard." in prompt.known_facts_block(waits.root)


def test_undoing_what_was_accepted(waits, owner):
    """The version of an accepted change is undone like any other, and what was made of it is
    offered to Dream again."""
    one, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approvals.waiting(waits.workspace)
    approvals.accept_hunk(waits.workspace, hunk.id, account=owner)
    assert waits.cursor == one
    run = DreamRun.objects.get(pk=hunk.run_id)
    done = undo(waits.root, run.commits[-1], account=owner.pk)
    assert waits.text() == START, done
    assert waits.cursor == 0


def test_the_line_knows_its_run_and_entries(waits, owner):
    """``why`` of an accepted line names the run and the entries, and who agreed."""
    one, run = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approvals.waiting(waits.workspace)
    approvals.accept_hunk(waits.workspace, hunk.id, account=owner)
    found = why(waits.workspace, MEMORY, 7)
    assert (found.writes[0].actor, found.writes[0].run) == ("dream", run.name)
    assert found.writes[0].sources == (one,)
    assert found.writes[0].account == owner.pk


def test_a_page_decides_while_a_run_writes(waits, owner):
    """Verdicts from another thread between the writes of a run: each comes before or after one of
    them, the run goes on from it, and nothing is lost."""
    dream(waits, *[lambda n, i=i: add(f"- Thing number {i} of many.", n) for i in range(6)])
    numbers = [row.id for row in approvals.waiting(waits.workspace)]
    outcomes = []

    def decide():
        outcomes.extend(
            approvals.accept_hunk(waits.workspace, number, account=owner) for number in numbers
        )
        connection.close()

    other = threading.Thread(target=decide)
    (one,) = waits.say("\n".join(f"- [durable] Thing number {i} of many." for i in range(6, 12)))
    for i in range(6, 12):
        waits.model.script(add(f"- Thing number {i} of many.", one))
    waits.model.script(finish(saved=[one]))
    other.start()
    run = waits.run()
    other.join()
    assert run.status == "waiting", run.message
    assert all(row.ok for row in outcomes), outcomes
    for row in approvals.waiting(waits.workspace):
        assert approvals.accept_hunk(waits.workspace, row.id, account=owner).ok
    assert sorted(line for line in waits.text().splitlines() if "Thing" in line) == sorted(
        f"- Thing number {i} of many." for i in range(12)
    )


def test_the_command(waits):
    """List, accept with other words, reject, never, all of a run; 0 only when it was done."""
    _, run = dream(
        waits,
        lambda n: add("- One for the books.", n),
        lambda n: add("- Two for the books.", n),
        lambda n: add("- Three for the books.", n),
        lambda n: add("- Four for the books.", n),
    )
    listed = json.loads(call("list", "--json"))["hunks"]
    assert [row["after"] for row in listed] == [
        f"- {word} for the books." for word in ("One", "Two", "Three", "Four")
    ]
    numbers = [str(row["id"]) for row in listed]
    assert "+ - One for the books." in call("list", "--run", str(run.pk))
    call("accept", numbers[0], "--text", "- One, for us.")
    assert "note" in call("reject", numbers[1])
    assert "forgotten" in call("reject", numbers[2], "--never")
    with pytest.raises(CommandError, match="Say which changes"):
        call("accept")
    with pytest.raises(CommandError, match="for one change"):
        call("accept", "--all", "--text", "x")
    with pytest.raises(CommandError, match="no change with the number 999"):
        call("accept", "999")
    call("accept", "--run", str(run.pk))
    assert waits.text() == START + "- One, for us.\n- Four for the books.\n"
    assert call("list") == "Nothing waits for approval.\n"
    assert len(json.loads(call("list", "--decided", "--json"))["hunks"]) == 4
    with pytest.raises(SystemExit):
        call("accept", "999", "--json")


def test_the_check_tells_what_waits(waits):
    """``check_workspace`` says what waits and since when, and puts a lost mark right."""
    dream(waits, lambda n: edit("painted red", "painted green", n))
    overlay.clear_flag(waits.root, overlay.MARK)
    (waits.root / MEMORY).write_text(START.replace("painted red", "painted blue"))
    (found,) = memory_notices.check_approvals(waits.workspace, repair=False)
    assert "1 change of Dream's waits for approval, since 20" in found.message
    assert "1 of them found no place" in found.message
    assert "approvals list" in found.cure
    assert overlay.flag_is_set(waits.root, overlay.MARK)


def test_nobody_is_asked_where_nothing_waits(dreams, django_assert_num_queries):
    """A prompt of a workspace with nothing waiting asks no database; the mark comes and goes."""
    (dreams.root / MEMORY).write_text(START)
    with django_assert_num_queries(0):
        prompt_files.block("memory", dreams.root)
    dreams.set(approve="all")
    dream(dreams, lambda n: add("- The hives stand in the orchard.", n))
    assert overlay.waiting(dreams.root).staged
    assert any("to review" in row.text for row in notices.all_notices(dreams.workspace))
    (hunk,) = approvals.waiting(dreams.workspace)
    approvals.accept_hunk(dreams.workspace, hunk.id, account=dreams.workspace.owner)
    with django_assert_num_queries(0):
        prompt_files.block("memory", dreams.root)
    assert not any("to review" in row.text for row in notices.all_notices(dreams.workspace))


NAMES = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa"]
TEN = [f"{name} and {name}s stand for {name}ish things." for name in NAMES]


@pytest.fixture
def pruned(dreams):
    """A run took nine of ten lines out of a file, and one out of another."""
    text = "# Memory\n\n## Notes\n\n" + "".join(f"- {line}\n" for line in TEN)
    (dreams.root / MEMORY).write_text(text)
    (dreams.root / "SOUL.md").write_text("# Soul\n\n- Speaks plainly.\n- " + "x" * 200 + "\n")
    gone = "".join(f"- {line}\n" for line in TEN[:9])
    _, run = dream(
        dreams,
        lambda n: edit(gone, "", n),
        lambda n: edit("- Speaks plainly.\n", "", n, path="SOUL.md"),
    )
    return dreams, run, text


def test_a_large_prune_is_told_and_comes_back_at_once(pruned):
    """The notice lists what went; one act brings all of it back, under its heading, also into a
    file that has no archive, and also what was forgotten since; then the notice is gone."""
    dreams, run, text = pruned
    (soul, memory) = sorted(approvals.large_prunes(dreams.workspace), key=lambda row: row.path)
    assert memory.path == MEMORY
    assert [line.text for line in memory.lines] == TEN[:9]
    assert len(memory.archive_ids) == 9
    assert soul.lines[0].text == "Speaks plainly."
    told = [row for row in notices.all_notices(dreams.workspace) if row.key == f"prune:{run.pk}"]
    assert "9 entries out of memory/MEMORY.md" in told[0].text
    suppression.forget(dreams.root, TEN[0], Actor("browser"))
    person = dreams.workspace.owner
    done = approvals.bring_all_back(dreams.workspace, run.pk, account=person)
    assert done.ok, done.message
    assert sorted(dreams.text().splitlines()) == sorted(text.splitlines())
    assert "- Speaks plainly." in dreams.text("SOUL.md")
    assert not approvals.large_prunes(dreams.workspace)
    assert approvals.bring_all_back(dreams.workspace, run.pk, account=person).ok
    assert sorted(dreams.text().splitlines()) == sorted(text.splitlines())
    assert not approvals.bring_all_back(dreams.workspace, 999, account=person).ok


def test_a_prune_is_dismissed_for_good(pruned):
    """The notice goes and does not return; the archive keeps the lines."""
    dreams, run, _ = pruned
    assert approvals.dismiss(dreams.workspace, run.pk, account=dreams.workspace.owner).ok
    large_prunes.note_large_prune(DreamRun.objects.get(pk=run.pk))
    assert not approvals.large_prunes(dreams.workspace)
    assert archive.count(dreams.root) == 9
    assert LargePrune.objects.count() == 2


def test_what_was_reworded_moved_or_little_is_no_prune(dreams):
    """Rewording half of a file, moving lines, and taking one of ten out: no notice."""
    text = "# Memory\n\n## Notes\n\n" + "".join(f"- {line}\n" for line in TEN)
    (dreams.root / MEMORY).write_text(text)
    move = {"path": MEMORY, "entry": TEN[9], "to": "USER.md", "heading": "Things"}
    dream(
        dreams,
        *[
            lambda n, line=line: edit(line, line.replace("stand for", "mean"), n)
            for line in TEN[:6]
        ],
        lambda n: Call("move_entry", move | {"sources": [n]}),
        lambda n: edit(f"- {TEN[8]}\n", "", n),
    )
    assert not LargePrune.objects.exists()


def test_a_folder_that_is_not_there_settles_nothing(waits, owner):
    """The workspace's volume is gone for a while: a sentence, and everything waits as before."""
    dream(waits, lambda n: edit("- The bees are fed on Mondays.\n", "", n))
    (hunk,) = approvals.waiting(waits.workspace)
    aside = waits.root.with_name("aside")
    waits.root.rename(aside)
    try:
        (gone,) = approvals.waiting(waits.workspace)
        assert gone.state == "conflict"
        assert not approvals.accept_hunk(waits.workspace, hunk.id, account=owner).ok
    finally:
        aside.rename(waits.root)
    (back,) = approvals.waiting(waits.workspace)
    assert back.state == "waiting"
    (waits.root / MEMORY).unlink()
    assert [row.state for row in approvals.waiting(waits.workspace)] == ["conflict"]


def test_hostile_numbers_and_texts(waits, owner):
    """Numbers of nobody, endless words, control characters: a sentence, and nothing written."""
    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approvals.waiting(waits.workspace)
    assert not approvals.accept_hunk(waits.workspace, -1, account=owner).ok
    for text in ("", "   \n", "- a\u200bb\u202e line", "- " + "word " * 9_000):
        made = approvals.accept_hunk(waits.workspace, hunk.id, account=owner, text=text)
        assert not made.ok, text[:20]
        assert made.message
    assert waits.text() == START
    open_workspace(waits.root, Actor("browser")).delete(MEMORY)
    (gone,) = approvals.waiting(waits.workspace)
    assert gone.state == "conflict"
    (waits.root / MEMORY).write_bytes(b"\xff\xfe no text")
    (broken,) = approvals.waiting(waits.workspace)
    assert broken.state == "conflict"
    assert not approvals.accept_hunk(waits.workspace, hunk.id, account=owner, text="- x y z.").ok
