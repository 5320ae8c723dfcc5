"""What the user takes out stays out: of every file that Dream writes, of prompts, of recall."""

import datetime as dt
from pathlib import Path

import pytest

from jenny.workspace.errors import WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.versions.record import commit_pending
from memory import context, forgotten, funnel, hearing, keeping, pins
from memory.errors import NotForgotten
from memory.history import log
from memory.history import prompt as pending
from memory.history.entries import NewEntry
from memory.recall import recall

NUTS = b"- Allergic to nuts since childhood, says Ana\n"
OTHER_WORDS = "- Cannot eat walnuts\n"
SKILL = b"---\nname: cake\ndescription: Baking\n---\n1. Take flour.\n2. Take nuts.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace whose person is allergic, which is known in several places."""
    funnel.install()
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
        forgotten.forget(root, NUTS.decode(), Actor("chat" if how == "tool" else how))


def refused(root: Path, path: str, text: str, kind: str = "dream") -> bool:
    """Whether a run may not add the text to the file, and is told that this is final."""
    before = (root / path).read_bytes() if (root / path).exists() else None
    rule = ""
    try:
        by(root, kind).edit(path, lambda old: (old or b"") + text.encode())
    except WriteRefused as error:
        rule = error.rule if "final" in error.sentence else "?"
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
    assert not refused(root, "USER.md", NUTS.decode(), "chat")
    (row,) = forgotten.relevant(root, OTHER_WORDS, 5)[:1]
    assert "nuts" in row.text


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
    assert forgotten.tombstones(root) == ()


def test_one_sentence_of_a_line_is_forgotten_alone(root):
    """A sentence taken out of a paragraph is forgotten; its neighbours are not."""
    browser = by(root, "browser")
    browser.write(
        "SOUL.md", b"Ana sings in a choir. Ana is afraid of very big dogs. She is tall.\n"
    )
    browser.write("SOUL.md", b"Ana sings in a choir. She is tall.\n")
    assert {row.text for row in forgotten.tombstones(root)} == {
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
    forgotten.forget(root, "Plays chess on Mondays", Actor("command"))
    commit_pending(root)
    assert line not in (root / "USER.md").read_bytes()
    assert [row.text for row in forgotten.tombstones(root)] == ["Plays chess on Mondays"]
    assert refused(root, "USER.md", line.decode())


@pytest.mark.parametrize("how", ["browser", "outside", "click", "said", "entry"])
def test_how_it_may_be_known_again(root, how):
    """By writing it again, by a click, by saying it in a newer message; never by an older one."""
    without_line(root, "browser")
    before = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=1)
    assert forgotten.restated(root, NUTS.decode(), before) == ()
    (row,) = forgotten.tombstones(root)
    now = dt.datetime.now(dt.UTC)
    if how == "browser":
        by(root, "browser").edit("memory/MEMORY.md", lambda old: (old or b"") + NUTS)
    elif how == "outside":
        (root / "USER.md").write_bytes((root / "USER.md").read_bytes() + b"\n" + NUTS)
        commit_pending(root)
    elif how == "click":
        forgotten.lift(root, row.id, Actor("browser"))
    elif how == "said":
        said = "By the way: I'm allergic to nuts since my childhood, as Ana says!"
        assert forgotten.restated(root, said, now) == (row,)
    else:
        entry = f"- [durable] User is {NUTS.decode()[2:].lower()}- [skip] nothing"
        assert forgotten.restated(root, entry, now) == (row,)
    assert forgotten.tombstones(root) == ()
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
    assert forgotten.restated(root, said, dt.datetime.now(dt.UTC)) == ()
    assert len(forgotten.tombstones(root)) == 1


def test_prompts_pending_history_and_recall_leave_it_out(root):
    """Where it still stands (SOUL.md, a skill, the history, the archive), nobody is shown it."""
    by(root, "chat").edit("SOUL.md", lambda old: (old or b"") + NUTS)
    content = f"- [durable] {NUTS.decode()[2:]}- [durable] Plays chess"
    log.append(
        root, [NewEntry(content), NewEntry(f"[RAW] 1\nUSER: I'm {NUTS.decode()[2:]}", "raw")]
    )
    without_line(root, "browser")
    assert forgotten.tombstones(root) == ()  # it stands in SOUL.md: moved, as far as is known
    by(root, "browser").edit("SOUL.md", lambda old: (old or b"").replace(NUTS, b""))
    by(root, "chat").edit("SOUL.md", lambda old: (old or b"") + NUTS)
    soul, waiting = context.block("soul", root), pending.block(root)
    assert soul is not None
    assert waiting is not None
    assert "Be kind" in soul.text
    assert "Plays chess" in waiting.text
    assert "nuts" not in soul.text + waiting.text
    found = recall(root, "nuts childhood")
    assert (found.facts, found.entries, found.hidden) == ((), (), 1)
    filtered = forgotten.without(root, (root / "SOUL.md").read_text())
    assert NUTS.decode() not in filtered.text
    assert [text for text, _ in filtered.left_out] == [NUTS.decode()[2:].strip()]
    forgotten.lift(root, forgotten.tombstones(root)[0].id, Actor("browser"))
    soul, waiting = context.block("soul", root), pending.block(root)
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
            forgotten.forget(root, text, Actor("command"))
    assert (root / "memory" / "MEMORY.md").read_bytes() == lines
    done = forgotten.forget(root, "garden 7", Actor("command"))
    assert done.removed == {"memory/MEMORY.md": ("Task 7 for the garden",)}
    done = forgotten.forget(root, "Ana has a red bicycle", Actor("command"))
    assert (done.removed, len(done.ids)) == ({}, 1)
    assert refused(root, "USER.md", "- Ana has a red bicycle.\n")


def test_torn_and_strange_lines_survive(root):
    """A line cut short, a stranger's keys, line ends: all of it stays, byte for byte, and what is
    whole holds."""
    path = root / "memory" / ".forgotten.jsonl"
    strange = b'{"id": "0123456789ab", "text": "Likes opera", "at": "2026-01-01", "mine": [1]}\r\n'
    path.write_bytes(strange + b'[1]\n\xff\n{"id": "x", "te')
    without_line(root, "browser")
    assert path.read_bytes().startswith(strange + b'[1]\n\xff\n{"id": "x", "te\n')
    assert [row.text for row in forgotten.tombstones(root)] == ["Likes opera", NUTS.decode()[2:-1]]
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
    log.append(root, [NewEntry(f"- [durable] {NUTS.decode()[2:]}")])
    pins.pin(root, "USER.md", 6, Actor("browser"))
    without_line(root, "command")
    holding = {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts and b"since childhood" in path.read_bytes()
    }
    assert holding > {"memory/history.jsonl", "memory/.forgotten.jsonl", "memory/.pins.jsonl"}
    assert holding <= set(keeping.stores(root))


def test_listening_is_by_sentences():
    """The words of a fact spread over several sentences do not say it."""
    ears = hearing.Ears(["User plays chess on Fridays with Bo", "User likes 3 sugars"])
    assert ears.stated("On Fridays I play chess with Bo.") == {0}
    assert ears.stated("I play the violin. Bo likes chess. Fridays are nice.") == set()
    assert ears.stated("I like 4 sugars in it") == set()
    assert ears.stated("I like 3 sugars in my coffee") == {1}
