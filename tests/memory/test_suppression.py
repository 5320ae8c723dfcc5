"""What the user takes out stays out: of every file that Dream writes, of prompts, of recall."""

import datetime as dt
from pathlib import Path

import pytest

from jenny.chat.tools import toolbox_for
from jenny.workspace.errors import WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.versions.commits import commit_pending
from memory import archive, checks, paraphrases, pins, prompt_files, suppression, write_rules
from memory.errors import NotArchived, NotForgotten
from memory.history import log
from memory.history import prompt as pending
from memory.history.entries import NewHistoryEntry
from memory.recall import recall
from memory.suppression import write_rule

NUTS = b"- Allergic to nuts since childhood, says Ana\n"
OTHER_WORDS = "- Cannot eat walnuts\n"
SKILL = b"---\nname: cake\ndescription: Baking\n---\n1. Take flour.\n2. Take nuts.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace whose person is allergic, which is known in several places."""
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    browser = open_workspace(folder, Actor("browser"))
    browser.write("USER.md", b"# User\n\n## Health\n\n- Likes tea\n" + NUTS)
    browser.write("memory/MEMORY.md", b"# Memory\n")
    browser.write("SOUL.md", b"# Soul\n\n- Be kind\n")
    browser.write("skills/cake/SKILL.md", SKILL)
    commit_pending(folder)
    return folder


def by(root: Path, kind: str, **more: str) -> Workspace:
    """The workspace as an actor sees it."""
    return open_workspace(root, Actor(kind, **more))


def without_line(root: Path, how: str) -> None:
    """The person takes the line out."""
    less = (root / "USER.md").read_bytes().replace(NUTS, b"")
    if how == "browser":
        by(root, "browser").write("USER.md", less)
    elif how == "outside":
        (root / "USER.md").write_bytes(less)
        commit_pending(root)
    else:
        suppression.forget(root, NUTS.decode(), Actor("chat" if how == "tool" else how))


def refused(root: Path, path: str, text: str, kind: str = "dream") -> bool:
    """Whether a run may not add the text to the file, and is told that this is final."""
    before = (root / path).read_bytes() if (root / path).exists() else None
    rule = ""
    try:
        by(root, kind).edit(path, lambda old: (old or b"") + text.encode())
    except WriteRefused as error:
        rule = error.rule if "final" in error.message else "?"
    after = (root / path).read_bytes() if (root / path).exists() else None
    assert rule in {"", "forgotten"}
    assert (before == after) == bool(rule)
    return bool(rule)


@pytest.mark.parametrize("how", ["browser", "outside", "tool", "command"])
def test_a_removed_fact_does_not_return(root, how):
    """DRE5: with the same words, nearly the same, and in any file or skill, Dream and its review
    are refused; a fact in other words is not (the prompt's list is what keeps it away)."""
    without_line(root, how)
    assert NUTS not in (root / "USER.md").read_bytes()
    same = "- allergic to NUTS since childhood; says Ana.\n"
    near = "- Allergic to nuts since her childhood, says Ana\n"
    inside = "- Bakes. Allergic to nuts since childhood, says Ana. Sings a lot.\n"
    header = "---\nname: x\ndescription: Allergic to nuts since childhood, says Ana\n---\n"
    for kind in ("dream", "review"):
        for path in ("USER.md", "memory/MEMORY.md", "SOUL.md", "skills/cake/SKILL.md"):
            for text in (same, near, inside, "\nProse: " + same[2:]):
                assert refused(root, path, text, kind)
        assert refused(root, "skills/new/SKILL.md", header, kind)
    assert not refused(root, "USER.md", OTHER_WORDS)
    assert not refused(root, "USER.md", "- Not allergic to nuts since childhood, says Ana\n")
    assert refused(root, "USER.md", NUTS.decode(), "chat")
    assert not refused(root, "wikis/health/nuts.md", NUTS.decode(), "chat")


def test_lines_that_were_merged_are_not_forgotten(root):
    """A person who takes out a line that another one says as well has forgotten nothing: the other
    line stays before every model."""
    browser = by(root, "browser")
    browser.edit(
        "USER.md", lambda old: (old or b"") + b"- Likes green tea with milk\n- Drives a car\n"
    )
    browser.edit("USER.md", lambda old: (old or b"").replace(b"- Likes tea\n", b""))
    browser.edit("USER.md", lambda old: (old or b"").replace(b"Drives a car", b"Drives a red car"))
    assert suppression.list_tombstones(root) == ()
    user = prompt_files.block("user", root)
    assert user is not None
    assert "green tea" in user.text


def test_what_is_no_forgetting(root):
    """Slips corrected, lines moved within or between files, headings, rewordings, and the chat's
    ordinary edits are no tombstones."""
    browser = by(root, "browser")
    browser.edit("USER.md", lambda old: (old or b"").replace(b"childhood", b"childhoood"))
    browser.edit("USER.md", lambda old: (old or b"").replace(b"childhoood", b"childhood"))
    browser.edit("USER.md", lambda old: NUTS + (old or b"").replace(NUTS, b""))
    browser.edit("memory/MEMORY.md", lambda old: (old or b"") + NUTS)
    browser.edit("USER.md", lambda old: (old or b"").replace(NUTS, b"").replace(b"## Health", b""))
    browser.write_many({"SOUL.md": NUTS + b"- Be kind\n", "memory/MEMORY.md": b"# Memory\n"})
    by(root, "chat").write("USER.md", b"# User\n")
    by(root, "dream").write("SOUL.md", NUTS)
    assert suppression.list_tombstones(root) == ()


def test_one_sentence_of_a_line_is_forgotten_alone(root):
    """A sentence taken out of a paragraph is forgotten; its neighbours are not."""
    browser = by(root, "browser")
    browser.write(
        "SOUL.md", b"Ana sings in a choir. Ana is afraid of very big dogs. She is tall.\n"
    )
    browser.write("SOUL.md", b"Ana sings in a choir. She is tall.\n")
    assert {row.text for row in suppression.list_tombstones(root)} == {
        "Ana is afraid of very big dogs.",
        "Be kind",
    }
    assert refused(root, "USER.md", "- Ana is afraid of very big dogs\n")
    assert not refused(root, "USER.md", "- Ana sings in a choir.\n")


def test_it_does_not_return_as_a_heading(root):
    """There it would be read in every conversation all the same; other headings may be made."""
    without_line(root, "browser")
    assert refused(root, "memory/MEMORY.md", "## " + NUTS.decode().removeprefix("- "))
    assert refused(root, "skills/cake/SKILL.md", "# " + NUTS.decode().removeprefix("- "))
    assert not refused(root, "memory/MEMORY.md", "## Health\n\n- Sleeps well\n")


def test_an_older_edit_that_is_found_later_lifts_nothing(root):
    """Somebody wrote a line with an editor of their own and then had it forgotten: that the edit
    is found only when a version is made does not count as writing it again."""
    line = b"- Plays chess on Mondays\n"
    with (root / "USER.md").open("ab") as file:
        file.write(line)
    suppression.forget(root, "Plays chess on Mondays", Actor("command"))
    commit_pending(root)
    assert line not in (root / "USER.md").read_bytes()
    assert [row.text for row in suppression.list_tombstones(root)] == ["Plays chess on Mondays"]
    assert refused(root, "USER.md", line.decode())


@pytest.mark.parametrize("how", ["browser", "outside", "click", "said", "entry"])
def test_how_it_may_be_known_again(root, how):
    """By writing it again, by a click, by saying it in a newer message; never by an older one."""
    without_line(root, "browser")
    before = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=1)
    assert suppression.restated(root, NUTS.decode(), before) == ()
    (row,) = suppression.list_tombstones(root)
    now = dt.datetime.now(dt.UTC)
    if how == "browser":
        by(root, "browser").edit("memory/MEMORY.md", lambda old: (old or b"") + NUTS)
    elif how == "outside":
        (root / "USER.md").write_bytes((root / "USER.md").read_bytes() + b"\n" + NUTS)
        commit_pending(root)
    elif how == "click":
        suppression.lift_tombstone(root, row.id, Actor("browser"))
    elif how == "said":
        said = "By the way: I'm allergic to nuts since my childhood, as Ana says!"
        assert suppression.restated(root, said, now) == (row,)
    else:
        entry = f"- [durable] User is {NUTS.decode()[2:].lower()}- [skip] nothing"
        assert suppression.restated(root, entry, now) == (row,)
    assert suppression.list_tombstones(root) == ()
    assert not refused(root, "USER.md", NUTS.decode())


@pytest.mark.parametrize(
    "said",
    [
        "Am I allergic to nuts since childhood, says Ana?",
        "Please forget that I am allergic to nuts since childhood, says Ana.",
        "Vergiss: allergic to nuts since childhood, says Ana",
        "> allergic to nuts since childhood, says Ana",
        "I am not allergic to nuts since childhood, says Ana.",
        "I like nuts.",
        "",
    ],
)
def test_what_says_nothing_of_the_kind(root, said):
    """Questions, quotations, asking to forget, the contrary: it stays forgotten."""
    without_line(root, "browser")
    assert suppression.restated(root, said, dt.datetime.now(dt.UTC)) == ()
    assert len(suppression.list_tombstones(root)) == 1


def test_prompts_pending_history_and_recall_leave_it_out(root):
    """Where it still stands (SOUL.md, a skill, the history, the archive), nobody is shown it."""
    by(root, "chat").edit("SOUL.md", lambda old: (old or b"") + NUTS)
    content = f"- [durable] {NUTS.decode()[2:]}- [durable] Plays chess"
    log.append(
        root,
        [
            NewHistoryEntry(content),
            NewHistoryEntry(f"[RAW] 1\nUSER: I'm {NUTS.decode()[2:]}", "raw"),
        ],
    )
    without_line(root, "browser")
    assert (
        suppression.list_tombstones(root) == ()
    )  # it stands in SOUL.md: moved, as far as is known
    by(root, "browser").edit("SOUL.md", lambda old: (old or b"").replace(NUTS, b""))
    (root / "SOUL.md").write_bytes((root / "SOUL.md").read_bytes() + NUTS)
    soul, waiting = prompt_files.block("soul", root), pending.block(root)
    assert soul is not None
    assert waiting is not None
    assert "Be kind" in soul.text
    assert "Plays chess" in waiting.text
    assert "nuts" not in soul.text + waiting.text
    found = recall(root, "nuts childhood")
    assert (found.facts, found.entries, found.hidden) == ((), (), 4)
    filtered = suppression.without(root, (root / "SOUL.md").read_text())
    assert NUTS.decode() not in filtered.text
    assert [text for text, _ in filtered.left_out] == [NUTS.decode()[2:].strip()]
    suppression.lift_tombstone(root, suppression.list_tombstones(root)[0].id, Actor("browser"))
    soul, waiting = prompt_files.block("soul", root), pending.block(root)
    assert soul is not None
    assert waiting is not None
    assert "nuts" in soul.text
    assert "nuts" in waiting.text
    assert recall(root, "nuts childhood").facts


def test_forget_asks_again_when_words_mean_too_much(root):
    """Words that stand in many lines are no description of one thing; nothing is changed."""
    lines = b"".join(b"- Task %d for the garden\n" % number for number in range(9))
    by(root, "browser").write("memory/MEMORY.md", lines)
    for text in ("garden", "", "?!", "x" * 5_000):
        with pytest.raises(NotForgotten):
            suppression.forget(root, text, Actor("command"))
    assert (root / "memory" / "MEMORY.md").read_bytes() == lines
    done = suppression.forget(root, "garden 7", Actor("command"))
    assert done.removed == {"memory/MEMORY.md": ("Task 7 for the garden",)}
    done = suppression.forget(root, "Ana has a red bicycle", Actor("command"))
    assert (done.removed, len(done.ids)) == ({}, 1)
    assert refused(root, "USER.md", "- Ana has a red bicycle.\n")


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("Ana lent Ben 50 euros", "Ben lent Ana 50 euros"),
        ("My sister lives by the lake", "My brother lives by the lake"),
        ("Prefers tea over coffee", "Prefers coffee over tea"),
        ("राम का पोता डॉक्टर है", "राम का पिता डॉक्टर है"),
        ("田中さんは医者です", "田村さんは医者です"),
        ("Does not like coffee", "like coffee"),
        ("Ana lent Ben 50 euros in May", "Ben lent Ana"),
    ],
)
def test_a_line_that_is_only_close_stays(root, line, asked):
    """What differs in a name, an order, an opposite or a negation is not taken out, and may be
    written; lines that are close are named."""
    by(root, "browser").write("memory/MEMORY.md", f"- {line}\n".encode())
    done = suppression.forget(root, asked, Actor("command"))
    assert done.removed == {}
    assert line in (root / "memory" / "MEMORY.md").read_text()
    if len(line.split()) == len(asked.split()):
        assert line in done.message
    assert not refused(root, "USER.md", f"- {line}\n")
    done = suppression.forget(root, line.upper(), Actor("command"))
    assert done.removed == {"memory/MEMORY.md": (line,), "USER.md": (line,)}


def test_words_that_stand_in_two_lines_ask_which(root):
    """Nothing goes when several lines may be meant."""
    by(root, "browser").write("memory/MEMORY.md", b"- Likes tea with milk\n- Buys milk daily\n")
    with pytest.raises(NotForgotten, match="Say which one"):
        suppression.forget(root, "milk", Actor("command"))
    assert suppression.list_tombstones(root) == ()


@pytest.mark.parametrize(
    ("gone", "again"),
    [
        ("Plays the viola", "The user plays the viola"),
        ("The user plays the viola", "Plays the viola"),
        ("Spielt Bratsche", "Der Nutzer spielt Bratsche"),
        ("ビオラを弾く", "ユーザーはビオラを弾く"),
        ("拉中提琴", "用户拉中提琴"),
        ("Играет на альте", "Пользователь играет на альте"),
    ],
)
def test_a_forgotten_line_does_not_return_with_its_subject(root, gone, again):
    """A fact with "The user" in front is no other fact; that of the user's sister is."""
    suppression.forget(root, gone, Actor("command"))
    assert refused(root, "USER.md", f"- {again}\n")
    assert not refused(root, "USER.md", "- The user's sister plays the viola\n")


def test_torn_and_strange_lines_survive(root):
    """A line cut short, a stranger's keys, line ends: all of it stays, byte for byte, and what is
    whole holds."""
    path = root / "memory" / ".forgotten.jsonl"
    strange = b'{"id": "0123456789ab", "text": "Likes opera", "at": "2026-01-01", "mine": [1]}\r\n'
    path.write_bytes(strange + b'[1]\n\xff\n{"id": "x", "te')
    without_line(root, "browser")
    assert path.read_bytes().startswith(strange + b'[1]\n\xff\n{"id": "x", "te\n')
    assert [row.text for row in suppression.list_tombstones(root)] == [
        "Likes opera",
        NUTS.decode()[2:-1],
    ]
    assert refused(root, "USER.md", "- likes opera\n")


def test_a_list_that_cannot_be_read_stops_dream_alone(root):
    """With a folder in the place of the list Dream writes nothing; a chat goes on."""
    (root / "memory" / ".forgotten.jsonl").mkdir()
    assert "forgotten" in refusal(root, "- x\n")
    by(root, "chat").edit("USER.md", lambda old: (old or b"") + b"- y\n")
    with pytest.raises(WorkspaceError):
        without_line(root, "browser")
    assert NUTS in (root / "USER.md").read_bytes()


def refusal(root: Path, text: str) -> str:
    """The rule by which Dream is refused."""
    with pytest.raises(WriteRefused) as error:
        by(root, "dream").edit("USER.md", lambda old: (old or b"") + text.encode())
    return error.value.rule


def test_every_store_of_a_text_is_known(root):
    """Whoever looks for every copy of a text finds the files that hold one: none is outside."""
    log.append(root, [NewHistoryEntry(f"- [durable] {NUTS.decode()[2:]}")])
    pins.pin(root, "USER.md", 6, Actor("browser"))
    without_line(root, "command")
    holding = {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts and b"since childhood" in path.read_bytes()
    }
    assert holding > {"memory/history.jsonl", "memory/.forgotten.jsonl", "memory/.pins.jsonl"}
    assert holding <= set(checks.stores(root))


def test_listening_is_by_sentences():
    """The words of a fact spread over several sentences do not say it."""
    ears = paraphrases.ParaphraseMatcher(
        ["User plays chess on Fridays with Bo", "User likes 3 sugars"]
    )
    assert ears.stated("On Fridays I play chess with Bo.") == {0}
    assert ears.stated("I play the violin. Bo likes chess. Fridays are nice.") == set()
    assert ears.stated("I like 4 sugars in it") == set()
    assert ears.stated("I like 3 sugars in my coffee") == {1}


BROTHER = "Brother: Tom, dentist in Ghent (plays golf; allergic to nuts)."


@pytest.mark.parametrize(
    ("line", "asked", "left"),
    [
        (BROTHER, "plays golf", "Brother: Tom, dentist in Ghent (allergic to nuts)."),
        (BROTHER, "Tom plays golf", "Brother: Tom, dentist in Ghent (allergic to nuts)."),
        (BROTHER, "dentist", "Brother: Tom (plays golf; allergic to nuts)."),
        ("Brother: Tom, dentist (plays golf)", "golf", "Brother: Tom, dentist"),
        (
            "Husband Jan, architect, likes Riesling, allergic to cats",
            "likes Riesling",
            "Husband Jan, architect, allergic to cats",
        ),
        ("Hobbies: sailing, golf and chess", "chess", "Hobbies: sailing and golf"),
        ("Hobbies: sailing, golf and chess", "sailing", "Hobbies: golf and chess"),
        ("Allergic to nuts and cats", "allergic to cats", "Allergic to nuts"),
        ("Spielt Geige, wohnt in Graz und mag Katzen", "Graz", "Spielt Geige und mag Katzen"),
        (
            "弟：太郎、歯科医（ゴルフをする、卵アレルギー）。",
            "ゴルフ",
            "弟：太郎、歯科医（卵アレルギー）。",
        ),
        ("Frère : Luc, dentiste (joue au golf)", "joue au golf", "Frère : Luc, dentiste"),
    ],
)
def test_a_clause_is_forgotten_without_its_line(root, line, asked, left):
    """The rest stays as it was, the answer has the old and the new line, and the clause does not
    return, while the rest may be written."""
    by(root, "chat").write("memory/MEMORY.md", f"# Memory\n\n- {line}\n".encode())
    done = suppression.forget(root, asked, Actor("command"))
    assert (root / "memory" / "MEMORY.md").read_text() == f"# Memory\n\n- {left}\n"
    (row,) = done.lines
    assert suppression.describe(row) == f"“{line}” becomes “{left}”"
    assert refused(root, "SOUL.md", f"- {line}\n")
    assert not refused(root, "SOUL.md", f"- {left}\n")


@pytest.mark.parametrize(
    ("line", "asked", "left"),
    [
        (b"- Likes  tea.  Plays golf.\n", "plays golf", b"- Likes tea.\n"),
        (b"- Tom,  dentist (plays golf).\n", "plays golf", b"- Tom, dentist.\n"),
        (b"- Caf\xe9 in Graz, open on Mondays\n", "open on Mondays", b"- Caf\xe9 in Graz\n"),
        (b"- Runs a caf\xe9. Plays golf.\r\n", "Plays golf", b"- Runs a caf\xe9.\r\n"),
        (b"1. Likes tea.\n   Plays\n   golf.\n", "plays golf", b"1. Likes tea.\n"),
        (b"Likes tea. Plays\ngolf. Sings.  \n", "plays golf", b"Likes tea. Sings.  \n"),
        (b"-\n  Likes tea. Plays golf.\n", "plays golf", b"-\n  Likes tea.\n"),
        (
            b"```sh\nmake test\n\n  echo Ana plays golf\n```\n",
            "echo Ana plays golf",
            b"```sh\nmake test\n\n```\n",
        ),
    ],
)
def test_the_rest_of_a_line_stays_however_it_is_written(root, line, asked, left):
    """With double spaces, bytes that are not UTF-8, wrapped lines and code, only what is to be
    forgotten goes, from the file and from a restored one; with the whole text, all of it goes."""
    path = "memory/MEMORY.md"
    before, after = b"# Memory\n\n" + line + b"\n- Sails\n", b"# Memory\n\n" + left + b"\n- Sails\n"
    by(root, "chat").write(path, before)
    (row,) = suppression.forget(root, asked, Actor("command")).lines
    assert (root / path).read_bytes() == after
    assert not row.is_whole
    restored = write_rule.filter_forgotten(root, path, before).data
    assert b" ".join(restored.split()) == b" ".join(after.split())
    suppression.forget(root, row.new, Actor("command"))
    assert (root / path).read_bytes() == b"# Memory\n\n\n- Sails\n"


def test_a_sentence_is_judged_under_its_heading(root):
    """That Tom plays golf is forgotten: under his name it can neither be added to a line that
    stands there nor be shown, and the line's other sentences stay."""
    path = "memory/MEMORY.md"
    by(root, "chat").write(path, f"- {BROTHER}\n".encode())
    suppression.forget(root, "plays golf", Actor("command"))
    old = "# Memory\n\n## Tom\n\n- Dentist in Ghent.\n\n## Ana\n\n- Has a dog.\n"
    by(root, "chat").write(path, old.encode())
    new = old.replace("Ghent.", "Ghent. Plays golf.")
    with pytest.raises(WriteRefused, match=r"“Plays golf\.”"):
        by(root, "dream").write(path, new.encode())
    assert suppression.without(root, new).text == old
    other = old.replace("dog.", "dog. Plays golf.")
    assert suppression.without(root, other).text == other
    by(root, "browser").write(path, new.encode())
    assert suppression.list_tombstones(root) == ()


def test_an_archived_text_is_judged_under_its_heading(root):
    """What left a section about Tom is not recalled once it is forgotten of him, and the same of
    somebody else is."""
    path = "memory/MEMORY.md"
    text = "# Memory\n\n## Tom\n\n- Plays golf\n\n## Ana\n\n- Plays golf on Mondays\n"
    by(root, "chat").write(path, text.encode())
    by(root, "chat").write(path, f"# Memory\n\n- {BROTHER}\n".encode())
    assert len(recall(root, "golf", kinds=["archive"]).facts) == 2
    suppression.forget(root, "plays golf", Actor("command"))
    (left,) = recall(root, "golf", kinds=["archive"]).facts
    assert left.text == "Plays golf on Mondays"
    (gone,) = [row for row in archive.listing(root) if row.text == "Plays golf"]
    with pytest.raises(NotArchived, match="was forgotten"):
        archive.bring_back(root, gone.id, Actor("chat"))


def test_a_forgotten_clause_is_brought_back_into_its_line(root):
    """By the id that the answer gives: the line is as it was, once."""
    by(root, "chat").write("memory/MEMORY.md", f"# Memory\n\n- {BROTHER}\n".encode())
    done = suppression.forget(root, "plays golf", Actor("command"))
    (one,) = done.undo
    archive.bring_back(root, one, Actor("browser"))
    assert (root / "memory" / "MEMORY.md").read_text() == f"# Memory\n\n- {BROTHER}\n"
    assert suppression.list_tombstones(root) == ()


def test_a_value_that_named_a_line_is_forgotten_in_every_sentence(root):
    """As long as no other line has it; lifting it lifts both."""
    by(root, "chat").write("memory/MEMORY.md", b"- Favourite drink is oat milk\n")
    suppression.forget(root, "oat milk", Actor("command"))
    (tombstone,) = suppression.list_tombstones(root)
    assert refused(root, "USER.md", "- Every morning she has oat milk in her coffee.\n")
    assert not refused(root, "USER.md", "- Buys milk on Fridays\n")
    suppression.lift_tombstone(root, tombstone.id, Actor("browser"))
    assert not refused(root, "USER.md", "- Every morning she has oat milk in her coffee.\n")


def test_a_clause_is_forgotten_of_whom_it_is_said(root):
    """That Tom plays golf is forgotten; that the user or somebody else does is another fact."""
    by(root, "chat").write("memory/MEMORY.md", f"- {BROTHER}\n".encode())
    suppression.forget(root, "plays golf", Actor("command"))
    for text in ("Tom plays golf", "Her brother plays golf on Sundays", "Golf: Tom plays it"):
        assert refused(root, "USER.md", f"- {text}\n")
    for text in ("Plays golf", "Her sister plays golf", "Tom is allergic to nuts"):
        assert not refused(root, "USER.md", f"- {text}\n")


def test_what_cannot_be_cut_out_is_asked_about(root):
    """Where the rest would be no sentence, or several lines have the words, nothing goes unasked:
    each line is named as it stands, and those that are chosen go."""
    lines = ["Likes beer and jazz", "Ana was born on 3 May", "Met Ana in Lund; lent her 50 euros"]
    by(root, "chat").write("memory/MEMORY.md", "".join(f"- {one}\n" for one in lines).encode())
    with pytest.raises(NotForgotten, match="the whole line says more: “Likes beer and jazz”"):
        suppression.forget(root, "likes beer", Actor("command"))
    with pytest.raises(NotForgotten) as error:
        suppression.forget(root, "Ana", Actor("command"))
    assert {row.old for row in error.value.lines} == {NUTS.decode()[2:-1], *lines[1:]}
    assert (root / "memory" / "MEMORY.md").read_text().count("\n") == 3
    born = next(row for row in error.value.lines if "born" in row.old)
    done = suppression.forget_lines(root, "Ana", [born.id], Actor("browser"))
    assert done.removed == {"memory/MEMORY.md": ("Ana was born on 3 May",)}
    assert "Met Ana in Lund" in (root / "memory" / "MEMORY.md").read_text()
    with pytest.raises(NotForgotten, match="have changed"):
        suppression.forget_lines(root, "Ana", [born.id], Actor("browser"))


SAID = (
    "The boat of Ana is painted red.",
    "Бабушка Анна живёт у озера.",
    "妹妹住在湖边的老房子里。",
    "राम का पोता डॉक्टर है।",
    "सीता का भाई वकील है।",
)


@pytest.mark.parametrize("forgotten", range(len(SAID)))
def test_forgetting_one_sentence_keeps_the_others_of_a_message(root, forgotten):
    """What is kept word for word may be one long line: only what is forgotten leaves it, and the
    time and the speaker stay."""
    line = f"[2026-11-30 10:00] USER: {' '.join(SAID)}"
    added = log.append(root, [NewHistoryEntry(f"[RAW] 1 message\n{line}", kind="raw")]).entries
    suppression.forget(root, SAID[forgotten], Actor("command"))
    (shown,) = suppression.without_forgotten(root, added)
    said = shown.content.split("\n")[1]
    assert said.startswith("[2026-11-30 10:00] USER: ")
    assert [one in said for one in SAID] == [at != forgotten for at in range(len(SAID))]
    bullet = f"- [durable] {SAID[0]} {SAID[1]}"
    added = log.append(root, [NewHistoryEntry(bullet)]).entries
    if forgotten < 2:
        (shown,) = suppression.without_forgotten(root, added)
        assert shown.content == f"- [durable] {SAID[1 - forgotten]}"


@pytest.mark.parametrize(
    ("forgotten", "written"),
    [
        ("Lives by the lake", "- Home: Lives by the lake\n"),
        ("妹妹住在湖边", "- 家人：妹妹住在湖边\n"),
        ("妹妹住在湖边", "- Family: 妹妹住在湖边\n"),
        ("ชอบดื่มชา", "- Tastes: ชอบดื่มชา\n"),
        ("राम डॉक्टर है", "- परिवार: राम डॉक्टर है\n"),
    ],
)
def test_a_label_before_it_brings_nothing_back(root, forgotten, written):
    """What is forgotten stays out behind a label, with either colon and in every script."""
    suppression.forget(root, forgotten, Actor("command"))
    with pytest.raises(WriteRefused, match="forgotten"):
        by(root, "dream").write("memory/MEMORY.md", written.encode())


@pytest.mark.parametrize("path", ["USER.md", "./USER.md", "USER.md/", "memory/../USER.md", "{}"])
def test_no_spelling_of_a_path_shows_what_is_forgotten(root, path):
    """An edit that misses names the nearest line of the file, unless it is forgotten."""
    suppression.forget(root, NUTS.decode(), Actor("command"))
    (root / "USER.md").write_bytes(b"# User\n\n- Likes tea\n" + NUTS)
    box = toolbox_for("personal", root, run="turn:1")
    missed = {"old_text": "- Allergic to nuts since childhod, says Ann", "new_text": "x"}
    told = box.call("edit_file", {"path": path.format(root / "USER.md"), **missed})
    assert not told.ok
    assert "says Ana" not in told.content
    assert NUTS in (root / "USER.md").read_bytes()
