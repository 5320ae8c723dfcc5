"""Lines of Dream and of a review must follow from what they were shown: anything else is asked
about once, then waits for the person."""

import json

import pytest

from memory.dream.outcome import Counters
from memory.services import approvals
from tests.memory.services.test_review import archived, edit, make_due, write
from tests.model_server import Call
from tests.support.dreams import MEMORY, add, batch_of, finish, is_review, results

ASKED = "Nothing was written yet. Is this meant so?"


def change(old, new, *sources, path="USER.md"):
    """A call that replaces a text, resting on entries."""
    arguments = {"path": path, "old_text": old, "new_text": new, "sources": list(sources)}
    return Call("edit_file", arguments)


def dream(dreams, said, *calls):
    """A run over one entry that makes these calls (made of its number)."""
    (one,) = dreams.say(said)
    for call in calls:
        dreams.model.script(call(one), when=batch_of)
    dreams.model.script(finish(saved=[one]), when=batch_of)
    return dreams.run()


@pytest.mark.parametrize(
    ("said", "line", "words"),
    [
        ("- [durable] The user likes figs.", "- Vegan since 2015.", ("Vegan", "2015")),
        ("- [durable] The user likes figs.", "- Likes figs and hates horses.", ("horses",)),
        ("- [durable] The user does not eat pork.", "- Eats pork.", ("pork",)),
        ("- [durable] The user eats pork.", "- Does not eat pork.", ("pork",)),
        ("- [durable] The rent is 850 euros.", "- Rent: 580 euros.", ("580",)),
        ("- [durable] Der Nutzer isst kein Schweinefleisch.", "- Isst Schweinefleisch.", ("Schw",)),
        ("- [durable] ユーザーは紅茶が好き。", "- 珈琲が好き。", ("珈琲",)),
    ],
)
def test_what_no_entry_says_is_asked_about_once_and_then_waits(dreams, said, line, words):
    """The answer names the words; the model insists, and the line is a proposal and in no file."""
    same = [lambda n: add(line, n, path="USER.md")] * 2
    run = dream(dreams, said, *same)
    assert line not in dreams.text("USER.md")
    told = results(dreams.model.requests[-1])
    assert ASKED in told
    assert all(word in told for word in words)
    (hunk,) = approvals.waiting(dreams.workspace)
    assert hunk.after.endswith(line)
    assert run.status == "waiting", run.message
    assert any("waits for your approval" in note for note in run.notes)


def test_what_was_asked_about_and_put_right_is_written(dreams):
    """Nothing waits, and the run is clean."""
    run = dream(
        dreams,
        "- [durable] The user's daughter Mia started school in Linden.",
        lambda n: add("- Daughter Lea started school in Linden.", n, path="USER.md"),
        lambda n: add("- Daughter Mia started school in Linden.", n, path="USER.md"),
    )
    assert run.status == "completed", run.full_message
    assert "Daughter Mia started school" in dreams.text("USER.md")
    assert not approvals.waiting(dreams.workspace)


def test_what_was_asked_about_and_left_is_no_failed_run(dreams):
    """A line that the model does not insist on leaves nothing open."""
    run = dream(
        dreams,
        "- [ephemeral] It rains.",
        lambda n: add("- Owns a castle in Wales.", n, path="USER.md"),
    )
    assert run.status == "nothing_new", run.full_message
    assert "castle" not in dreams.text("USER.md")


def test_an_honest_run_makes_no_request_more(dreams):
    """Rewordings, inflections, corrections and merges: one request for the writes, one for the
    account."""
    write(
        dreams,
        "# User\n\n- Lives in Brno, near the dam.\n- Rent: 850 euros, on the 3rd.\n",
        "USER.md",
    )
    said = (
        "- [durable] The user moved from Brno to Graz on 1 November 2026.\n"
        "- [correction] The rent is now 900 euros, it was 850.\n"
        "- [durable] The user does not eat pork."
    )
    (one,) = dreams.say(said)
    dreams.model.script(
        change("Lives in Brno, near the dam.", "Lives in Graz since 1 November 2026.", one),
        change("Rent: 850 euros", "Rent: 900 euros", one),
        add("- Avoids pork.", one, path="USER.md"),
        when=batch_of,
    )
    dreams.model.script(finish(saved=[one]), when=batch_of)
    run = dreams.run()
    assert run.status == "completed", run.full_message
    assert ASKED not in results(dreams.model.requests[-1])
    assert not approvals.waiting(dreams.workspace)


def test_the_other_half_of_a_corrected_line_is_asked_about(dreams):
    """A number that the new line lost is named; what the entry replaces is not."""
    old = "Deploys run on Tuesdays with release script 3.2."
    write(dreams, f"# Memory\n\n- {old}\n")
    dream(
        dreams,
        "- [correction] The deploy runs on Thursdays, no longer on Tuesdays.",
        lambda n: change(old, "Deploys run on Thursdays.", n, path=MEMORY),
        lambda n: change(old, "Deploys run on Thursdays with release script 3.2.", n, path=MEMORY),
    )
    told = results(dreams.model.requests[-1])
    assert "“3.2”, which no line says any more" in told
    assert "“Tuesdays”, which" not in told
    assert "- Deploys run on Thursdays with release script 3.2." in dreams.text()


def test_a_permanent_fact_goes_only_with_a_correction(dreams):
    """A line that a run wrote of a permanent fact is to be archived: asked, then it waits; with a
    correction it goes."""
    line = "Mother Helena was born on 14 May 1951."
    run = dream(dreams, f"- [permanent] {line}", lambda n: add(f"- {line}", n, path="USER.md"))
    assert run.status == "completed", run.full_message
    move = {"path": "USER.md", "entry": line, "to": "archive", "reason": "not used lately"}
    gone = [lambda n: Call("move_entry", move | {"sources": [n]})]
    run = dream(dreams, "- [ephemeral] It rains.", *gone * 2)
    assert line in dreams.text("USER.md")
    assert "rests on a fact marked permanent" in results(dreams.model.requests[-1])
    (hunk,) = approvals.waiting(dreams.workspace)
    assert hunk.kind == "remove"
    approvals.reject_hunk(dreams.workspace, hunk.id, account=dreams.workspace.owner)


def test_a_correction_takes_a_permanent_fact_out(dreams):
    line = "Is allergic to penicillin."
    dream(dreams, f"- [permanent] {line}", lambda n: add(f"- {line}", n, path="USER.md"))
    run = dream(
        dreams,
        "- [correction] The user is not allergic to penicillin; that was a friend.",
        lambda n: change(f"- {line}\n", "", n),
    )
    assert line not in dreams.text("USER.md")
    assert not approvals.waiting(dreams.workspace), run.full_message


def test_a_review_that_lets_one_word_cover_two_lines_is_asked_and_both_stay(dreams):
    """The words that changed what they belong to are named; insisted on, the merge waits."""
    text = "# Memory\n\n- Allergic to bee stings.\n- Allergic to nuts (serious).\n"
    write(dreams, text)
    make_due(dreams)
    old = "- Allergic to bee stings.\n- Allergic to nuts (serious).\n"
    for _ in range(2):
        dreams.model.script(
            edit(MEMORY, old, "- Serious allergies: nuts and bee stings.\n"), when=is_review
        )
    dreams.model.script(Call("finish", {}), when=is_review)
    run = dreams.run()
    asked = results([row for row in dreams.model.requests if is_review(row)][-1])
    assert "joins what was said apart" in asked
    assert dreams.text() == text
    (hunk,) = approvals.waiting(dreams.workspace)
    assert "Serious allergies" in hunk.after
    assert run.review["status"] == "waiting", run.full_message


def test_an_honest_review_is_not_asked(dreams):
    """It merges with every detail, moves and archives."""
    write(
        dreams,
        "# Memory\n\n- Is allergic to penicillin.\n- Penicillin allergy (rash, 2019).\n"
        "- Flight to Oslo on 3 March 2026 at 07:40.\n",
    )
    make_due(dreams)
    old = "- Is allergic to penicillin.\n- Penicillin allergy (rash, 2019).\n"
    new = "- Is allergic to penicillin (rash, 2019).\n"
    dreams.model.script(edit(MEMORY, old, new), when=is_review)
    dreams.model.script(
        archived(MEMORY, "Flight to Oslo on 3 March 2026 at 07:40.", "date passed"), when=is_review
    )
    dreams.model.script(Call("finish", {}), when=is_review)
    run = dreams.run()
    assert run.review["status"] == "completed", run.full_message
    assert dreams.text() == f"# Memory\n\n{new}"
    assert dreams.counters == Counters(runs_since_review=1)
    assert not approvals.waiting(dreams.workspace)


def test_what_waits_waits_whole_where_only_removals_do(dreams):
    """An addition that nobody can account for does not land because additions do."""
    dreams.set(approve="removals")
    line = "- Owns a castle in Wales."
    dream(dreams, "- [ephemeral] It rains.", *[lambda n: add(line, n)] * 2)
    assert line not in dreams.text()
    (hunk,) = approvals.waiting(dreams.workspace)
    assert hunk.after.endswith(line)


def rewordings(count):
    """Lines of single facts with a number each, a text that holds them, and shorter ones."""
    places = ["Graz", "Linz", "Wels", "Bonn", "Trier", "Emden", "Gera", "Celle", "Fulda", "Hagen"]
    old = [f"Rents a cellar in {place} as number {20 + at}." for at, place in enumerate(places)]
    return old[:count], [f"Rents a cellar in {place}." for place in places[:count]]


def test_a_loss_that_could_no_longer_be_asked_about_waits(dreams):
    """A run is asked so often and no more; a further line that loses a number stays as it was."""
    old, new = rewordings(10)
    write(dreams, "# User\n\n" + "".join(f"- {line}\n" for line in old), "USER.md")
    calls = [
        lambda n, was=was, now=now: change(was, now, n) for was, now in zip(old, new, strict=True)
    ]
    dream(dreams, "- [ephemeral] It rains.", *calls)
    text = dreams.text("USER.md")
    assert all(line in text for line in old), text
    waiting = "".join(hunk.before for hunk in approvals.waiting(dreams.workspace))
    assert [line for line in old if line in waiting] == old[8:]


def test_a_loss_is_asked_about_for_each_line(dreams):
    """That the same word of another line was asked about is no answer for this one."""
    old = ["Ana swims in hall 4.", "Ben rows in boat 4."]
    write(dreams, "# User\n\n" + "".join(f"- {line}\n" for line in old), "USER.md")
    dream(
        dreams,
        "- [ephemeral] It rains.",
        *[lambda n: change(old[0], "Ana swims in a hall.", n)] * 2,
        lambda n: change(old[1], "Ben rows in a boat.", n),
    )
    assert old[1] in dreams.text("USER.md")
    assert f"“{old[1]}” goes, and with it “4”" in results(dreams.model.requests[-1])


def test_a_permanent_fact_behind_many_other_lines_is_not_lost(dreams):
    """However many lines a write takes out, each is compared with the permanent facts."""
    line = "Mother Helena was born on 14 May 1951."
    dream(dreams, f"- [permanent] {line}", lambda n: add(f"- {line}", n, path="USER.md"))
    others = "".join(f"- Note about the weather, page {at}.\n" for at in range(60))
    write(dreams, f"# User\n\n{others}- {line}\n", "USER.md")
    again = [lambda n: change(f"{others}- {line}", "- Likes figs.", n)] * 2
    dream(dreams, "- [durable] The user likes figs.", *again)
    assert line in dreams.text("USER.md")
    assert f"“{line}” goes, though it rests on a fact marked permanent" in results(
        dreams.model.requests[-1]
    )


def test_a_line_that_contradicts_one_that_stays_is_asked_about_once(dreams):
    """The other line is named; what the model sends again is written, since both may hold."""
    write(dreams, "# User\n\n- The boiler room is locked at 9 in the evening.\n", "USER.md")
    line = "- The boiler room is locked at 8 in the evening."
    run = dream(
        dreams,
        "- [correction] The boiler room is locked at 8 in the evening.",
        *[lambda n: add(line, n, path="USER.md")] * 2,
    )
    told = results(dreams.model.requests[-1])
    assert "contradicts “The boiler room is locked at 9 in the evening.”, which stays" in told
    assert line in dreams.text("USER.md")
    assert run.status == "completed", run.full_message
    assert not approvals.waiting(dreams.workspace)


def test_another_line_that_contradicts_the_same_one_is_asked_about_too(dreams):
    """That one line was asked about is no answer for a different one."""
    write(dreams, "# User\n\n- The boiler room is locked at 9 in the evening.\n", "USER.md")
    lines = [f"- The boiler room is locked at {hour} in the evening." for hour in (8, 7)]
    dream(
        dreams,
        "- [correction] The boiler room is locked at 8 in the evening.\n"
        "- [correction] The boiler room is locked at 7 in the evening.",
        *[lambda n, line=line: add(line, n, path="USER.md") for line in lines],
    )
    told = results(dreams.model.requests[-1])
    assert told.count("contradicts “The boiler room is locked at 9") == 2
    assert all(line not in dreams.text("USER.md") for line in lines)


def test_relative_days_count_from_the_day_of_their_own_entry(dreams):
    """A date that only follows from the day of another entry of the batch is asked about."""
    early, late = dreams.say(
        "- [durable] The user starts the new job tomorrow.", "- [durable] The user likes figs."
    )
    history = dreams.root / "memory/history.jsonl"
    rows = [json.loads(row) for row in history.read_text().splitlines()]
    for row, day in zip(rows, ("2026-10-01", "2026-10-20"), strict=True):
        row["timestamp"] = f"{day} 10:00"
    history.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for day in (21, 2):
        call = add(f"- Starts the new job on {day} October 2026.", early, path="USER.md")
        dreams.model.script(call, when=batch_of)
    dreams.model.script(finish(saved=[early], not_kept=[late]), when=batch_of)
    dreams.run()
    told = results(dreams.model.requests[-1])
    assert ASKED in told
    assert "21 October" not in dreams.text("USER.md")
    assert "- Starts the new job on 2 October 2026." in dreams.text("USER.md")


def test_a_text_in_odd_letters_does_not_end_a_run(dreams):
    """Letters that only look like others, and raised digits, are letters and digits of the text."""
    line = "- MİN. 30 dakika, die erſte Auflage, halb 3²."
    run = dream(dreams, f"- [durable] {line[2:]}", *[lambda n: add(line, n, path="USER.md")] * 2)
    assert run.status == "completed", run.full_message
    assert line in dreams.text("USER.md")


SKILL = """---
description: How the site is deployed, when a deploy is asked for
---

1. Run `make release` on the build host {host}.
2. Wait {wait} minutes, then {check} the status page.
"""
SEEN = (
    "- [durable] For a deploy the user runs `make release` on the build host Merkur, waits 10 "
    "minutes and checks the status page."
)


def write_skill(dreams, *texts):
    """A run that writes these texts as one skill, one after the other."""
    seen = dreams.say(SEEN, conversation="a") + dreams.say(SEEN, conversation="b")
    for text in texts:
        arguments = {"path": "skills/deploy/SKILL.md", "content": text, "sources": seen}
        dreams.model.script(Call("write_file", arguments), when=batch_of)
    dreams.model.script(finish(saved=seen), when=batch_of)
    return dreams.run()


def test_an_honest_skill_is_made_at_once(dreams):
    """Its steps may say in more words what is to be done."""
    run = write_skill(dreams, SKILL.format(host="Merkur", wait=10, check="open and read"))
    assert "build host Merkur" in dreams.text("skills/deploy/SKILL.md"), run.full_message
    assert ASKED not in results(dreams.model.requests[-1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SKILL.format(host="Saturn", wait=10, check="check"), "Saturn"),
        (SKILL.format(host="Merkur", wait=15, check="check"), "15"),
        (SKILL.format(host="Merkur", wait=10, check="do not check"), "check"),
        (
            SKILL.replace("release", "wipe").format(host="Merkur", wait=10, check="check"),
            "make wipe",
        ),
        (
            SKILL.format(host="Merkur", wait=10, check="check")
            + "3. Report to https://status.example/x when it is done.\n",
            "https://status.example/x",
        ),
    ],
)
def test_a_skill_with_what_nobody_said_is_asked_about_and_waits(dreams, text, words):
    """A name, a number, a command, an address or a “not”: the model is asked once, then the person
    decides."""
    write_skill(dreams, text, text)
    told = results(dreams.model.requests[-1])
    assert ASKED in told
    assert words in told
    assert not (dreams.root / "skills/deploy/SKILL.md").exists()
    (hunk,) = approvals.waiting(dreams.workspace)
    assert hunk.kind == "skill"


def change_skill(dreams, *changes):
    """A run that makes these changes of the skill and insists on them."""
    seen = dreams.say(SEEN, conversation="a") + dreams.say(SEEN, conversation="b")
    for old, new in changes:
        call = change(old, new, *seen, path="skills/deploy/SKILL.md")
        dreams.model.script(call, call, when=batch_of)
    dreams.model.script(finish(saved=seen), when=batch_of)
    return dreams.run()


READ = "2. Wait 10 minutes, then check the status page.\n"


def test_what_waits_for_a_skill_waits_on_when_a_run_changes_other_lines_of_it(dreams):
    """A later change of other lines, made without what waits, takes nothing of it away; one of the
    same lines takes its place."""
    write_skill(dreams, SKILL.format(host="Merkur", wait=10, check="check"))
    change_skill(dreams, (READ, f"{READ}3. Report to https://status.example/x at the end.\n"))
    (first,) = approvals.waiting(dreams.workspace)
    change_skill(dreams, ("host Merkur", "host Saturn"))
    assert [hunk.id for hunk in approvals.waiting(dreams.workspace)][:1] == [first.id]
    (second,) = approvals.waiting(dreams.workspace)[1:]
    assert "Saturn" in second.after
    assert "status.example" not in second.after
    change_skill(dreams, ("host Merkur", "host Pluto"))
    hunks = approvals.waiting(dreams.workspace)
    assert hunks[0].id == first.id
    assert [("Pluto" in hunk.after, "Saturn" in hunk.after) for hunk in hunks[1:]] == [
        (True, False)
    ]
