"""Dream's tools over real files: what they may touch, and what they say they did."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jenny.agent.errors import Cancelled
from jenny.agent.run_kinds import RUN_KINDS
from jenny.agent.tools import ToolOutcome
from jenny.workspace import config, seed
from jenny.workspace.files import Actor, open_workspace
from memory import archive, budgets, pins, suppression
from memory.dream.tools import TOOLS, WriteSession, toolbox
from memory.dream.values import Batch
from tests.memory.dream.running import batch_of, entry, hand_of, new_root

PERSON = Actor("browser")
type Do = Callable[..., ToolOutcome]
# What the lines of these tests say besides.
ALSO_SAID = (
    "Likes figs very much; likes plums; hates mint; hates noise; has a dog called Rex; "
    "speaks \u0641\u0627\u0631\u0633\u06cc\u200c\u0647\u0627."
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a few lines in its files."""
    root = new_root(tmp_path / "w")
    (root / "USER.md").write_text("# User\n\n## Tastes\n\n- Likes tea.\n- Likes rye bread.\n")
    (root / "memory" / "MEMORY.md").write_text("# Memory\n\n## Setup\n\n- The server is in Brno.\n")
    return root


@pytest.fixture
def shown() -> Batch:
    """What the run is shown."""
    return batch_of(
        entry(1, f"- [durable] The user likes oolong.\n- [ephemeral] {ALSO_SAID}"),
        entry(2, "- [correction] The server is in Graz.", chat="b", day="2026-11-03"),
    )


@pytest.fixture
def session(root: Path, shown: Batch) -> WriteSession:
    """The hand of a run."""
    return hand_of(root, shown)


@pytest.fixture
def do(session: WriteSession) -> Do:
    """Calls a tool."""
    box = toolbox(session)
    return lambda name, **arguments: box.call(name, arguments)


def text(root: Path, path: str = "USER.md") -> str:
    """A file's text."""
    return (root / path).read_text()


def adding(line: str, path: str = "USER.md", heading: str = "Tastes") -> dict[str, Any]:
    """Arguments of a patch that adds a line."""
    edit = {"path": path, "action": "add", "new_text": line, "heading": heading}
    return {"edits": [edit], "sources": [1]}


def test_the_table_of_runs_names_just_these_tools() -> None:
    """What is declared is what there is."""
    assert tuple(tool.name for tool in TOOLS) == RUN_KINDS["dream"].tools


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "prompts/dream.md",
        "config.json",
        "memory/history.jsonl",
        "memory/.dream_cursor",
        "memory/.cursor",
        "memory/.forgotten.jsonl",
        "memory/./history.jsonl",
        "memory/HISTORY.JSONL",
        "memory/archive/2026-11-30-000000000000.md",
        "memory/other.md",
        "memory/MEMORY.md/evil.txt",
        "wikis/a/wiki/index.md",
        "uploads/x.md",
        "skills/x/notes.md",
        "skills/x/.git/config",
        "skills/SKILL.md",
        "skills/../AGENTS.md",
        "../outside.md",
        "/etc/passwd",
        "user.md",
    ],
)
def test_everything_else_is_refused_and_untouched(
    root: Path, do: Do, session: WriteSession, path: str
) -> None:
    """Whichever tool asks; the answer is final."""
    for name, arguments in (
        ("edit_file", {"path": path, "old_text": "a", "new_text": "b", "sources": [1]}),
        ("apply_patch", adding("- x", path)),
        ("write_file", {"path": path, "content": "x", "sources": [1]}),
        ("move_entry", {"path": "USER.md", "entry": "Likes tea.", "to": path, "sources": [1]}),
    ):
        before = {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}
        outcome = do(name, **arguments)
        assert not outcome.ok
        now = {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}
        assert {k: v for k, v in now.items() if ".jenny" not in str(k)} == {
            k: v for k, v in before.items() if ".jenny" not in str(k)
        }
    assert session.attempts
    assert not session.landed


def test_links_are_refused_wherever_they_lead(root: Path, do: Do, tmp_path: Path) -> None:
    """Also to another file that Dream may write."""
    outside = tmp_path / "outside.md"
    outside.write_text("- Likes tea.\n")
    for target in (outside, root / "memory" / "MEMORY.md"):
        (root / "USER.md").unlink()
        (root / "USER.md").symlink_to(target)
        before = target.read_text()
        assert not do("apply_patch", **adding("- New.")).ok
        assert target.read_text() == before
    (root / "USER.md").unlink()
    os.link(outside, root / "USER.md")
    assert not do("apply_patch", **adding("- New.")).ok
    (root / "skills").mkdir(exist_ok=True)
    (root / "skills" / "x").symlink_to(tmp_path)
    assert not do("write_file", path="skills/x/SKILL.md", content="x", sources=[1, 2]).ok
    assert outside.read_text() == "- Likes tea.\n"


@pytest.mark.parametrize("path", ["wikis/a.md", "uploads/x", "AGENTS.md", "memory/history.jsonl"])
def test_only_memory_files_skills_and_archive_are_read(root: Path, do: Do, path: str) -> None:
    """Nothing of the person's other things reaches the model."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("the marker")
    outcome = do("read_file", path=path)
    assert not outcome.ok
    assert "the marker" not in outcome.content
    assert do("read_file", path="USER.md").ok
    assert do("read_file", path="skills/how-memory-works/SKILL.md").ok


def test_an_edit_is_exact_unique_and_changes_something(root: Path, do: Do) -> None:
    """Otherwise nothing is written, and the nearest line is named."""
    before = text(root)
    loose = do("edit_file", path="USER.md", old_text="- likes  tea.", new_text="- x", sources=[1])
    assert not loose.ok
    assert "Line 5" in loose.content
    twice = do("edit_file", path="USER.md", old_text="- Likes", new_text="- x", sources=[1])
    assert "2 times" in twice.content
    same = do("edit_file", path="USER.md", old_text="Likes tea", new_text="Likes tea", sources=[1])
    assert "nothing would change" in same.content
    assert text(root) == before
    good = do(
        "edit_file", path="USER.md", old_text="Likes tea", new_text="Likes oolong", sources=[1]
    )
    assert good.ok
    assert "of 3,000 characters" in good.content
    assert text(root) == before.replace("tea", "oolong")


def test_an_edit_sees_what_others_wrote_since(root: Path, do: Do) -> None:
    """A chat's change in between survives; an edit whose text is gone is refused."""
    do("read_file", path="USER.md")
    workspace = open_workspace(root, Actor("chat"))
    workspace.write("USER.md", b"# User\n\n## Tastes\n\n- Likes coffee.\n- Likes rye bread.\n")
    outcome = do("edit_file", path="USER.md", old_text="- Likes tea.", new_text="- x", sources=[1])
    assert not outcome.ok
    assert "'- Likes coffee.'" in outcome.content
    assert do("apply_patch", **adding("- Likes figs.")).ok
    assert text(root).endswith("- Likes coffee.\n- Likes rye bread.\n- Likes figs.\n")


def test_a_patch_lands_whole_or_not_at_all(root: Path, do: Do, session: WriteSession) -> None:
    """Over several files; each is on record."""
    edits = [
        {"path": "USER.md", "old_text": "- Likes tea.", "new_text": "- Likes oolong."},
        {"path": "memory/MEMORY.md", "old_text": "in Prague", "new_text": "in Graz"},
    ]
    before = text(root), text(root, "memory/MEMORY.md")
    outcome = do("apply_patch", edits=edits, sources=[1, 2])
    assert not outcome.ok
    assert "Edit 2 (memory/MEMORY.md)" in outcome.content
    assert (text(root), text(root, "memory/MEMORY.md")) == before
    assert [row.path for row in session.open_refusals] == ["USER.md", "memory/MEMORY.md"]
    edits[1]["old_text"] = "in Brno"
    assert do("apply_patch", edits=edits, sources=[1, 2]).ok
    assert "in Graz" in text(root, "memory/MEMORY.md")
    assert session.open_refusals == ()
    assert {row.text for row in archive.listing(root)} >= {"Likes tea."}


def test_an_old_wording_that_stands_elsewhere_is_pointed_out(root: Path, do: Do) -> None:
    """A rule that changed is changed in every file, so that only the newest is left."""
    with (root / "SOUL.md").open("a") as soul:
        soul.write("- The server is in Brno.\n")
    edit = {"path": "memory/MEMORY.md", "old_text": "in Brno", "new_text": "in Graz"}
    outcome = do("edit_file", **edit, sources=[2])
    assert outcome.ok
    assert "still stands in SOUL.md, line" in outcome.content
    edit = {"path": "SOUL.md", "old_text": "- The server is in Brno.\n", "new_text": ""}
    assert "still stands" not in do("edit_file", **edit, sources=[2]).content


def test_lines_are_added_under_their_heading(root: Path, do: Do) -> None:
    """Without the history's marks; a heading that is not there is made; a missing file too."""
    assert do("apply_patch", **adding("[durable] Likes figs\n- [permanent] Hates mint")).ok
    assert "- Likes rye bread.\n- Likes figs\n- Hates mint\n" in text(root)
    assert do("apply_patch", **adding("Has a dog called Rex", heading="## Animals")).ok
    assert text(root).endswith("- Hates mint\n\n## Animals\n\n- Has a dog called Rex\n")
    again = "# User\n\n## Tastes\n\n- Hates noise\n"
    assert do("apply_patch", **adding(again)).ok
    assert text(root).count("# User") == text(root).count("## Tastes") == 1
    assert "- Hates mint\n- Hates noise\n" in text(root)
    (root / "USER.md").unlink()
    assert do("apply_patch", **adding("Likes plums", heading="Tastes")).ok
    assert text(root) == "# User\n\n## Tastes\n\n- Likes plums\n"


def test_what_a_file_says_already_is_not_added_again(
    root: Path, do: Do, session: WriteSession
) -> None:
    """Nor when another file says it, or in nearly the same words; that is no refusal."""
    before = text(root)
    for line in ("- likes TEA", "The server is in Brno", "- [durable] Likes tea."):
        outcome = do("apply_patch", **adding(line))
        assert outcome.ok
        assert "says it already" in outcome.content
    assert text(root) == before
    assert session.attempts == []
    mixed = do("apply_patch", **adding("- Likes tea.\n- Likes figs."))
    assert "says it already" in mixed.content
    assert text(root).count("Likes tea") == 1
    assert "- Likes figs." in text(root)


@pytest.mark.parametrize("sources", [[], [99], [1, 99], None, "all", [True], [-1]])
def test_every_write_names_entries_of_the_batch(
    root: Path, do: Do, session: WriteSession, sources: Any
) -> None:
    """Otherwise it is refused in words that help, and stands as a refusal until made good."""
    before = text(root)
    arguments = adding("- Likes figs.") | {"sources": sources}
    outcome = do("apply_patch", **arguments)
    assert not outcome.ok
    assert text(root) == before
    assert len(session.open_refusals) == 1
    assert do("apply_patch", **adding("- Likes figs.")).ok
    assert session.open_refusals == ()


def test_a_move_is_one_act(root: Path, do: Do) -> None:
    """With what is set in below it; nothing is archived that only changed its place."""
    (root / "USER.md").write_text("# User\n\n- Boat:\n  - hull sanded\n  - primer next\n\n- Tea.\n")
    outcome = do(
        "move_entry",
        path="USER.md",
        entry="Boat:",
        to="memory/MEMORY.md",
        heading="Projects",
        sources=[1],
    )
    assert outcome.ok
    assert text(root) == "# User\n\n- Tea.\n"
    moved = text(root, "memory/MEMORY.md")
    assert moved.endswith("## Projects\n\n- Boat:\n  - hull sanded\n  - primer next\n")
    assert archive.count(root) == 0
    assert do("move_entry", path="USER.md", entry="Tea.", to="archive", sources=[1], reason="x").ok
    assert "Tea" not in text(root)
    (kept,) = archive.listing(root)
    assert (kept.text, kept.events[0].reason) == ("Tea.", "x")
    again = do("read_file", path=f"memory/archive/{kept.id[:6]}")
    assert again.ok
    assert "Tea." in again.content
    suppression.forget(root, "Tea.", Actor("command"))
    hidden = do("read_file", path=f"memory/archive/{kept.id}")
    assert not hidden.ok
    assert "Tea." not in hidden.content


def test_what_is_not_archived_is_not_moved_there(root: Path, do: Do) -> None:
    """SOUL.md has versions but no archive, so that nothing is promised."""
    before = text(root, "SOUL.md")
    entry_ = "Speak the language you are spoken to in."
    outcome = do("move_entry", path="SOUL.md", entry=entry_, to="archive", sources=[1])
    assert not outcome.ok
    assert text(root, "SOUL.md") == before
    nearest = do("move_entry", path="USER.md", entry="Likes the tea", to="archive", sources=[1])
    assert "the nearest is line 5" in nearest.content


def test_budget_pins_and_forgotten_hold(root: Path, do: Do, session: WriteSession) -> None:
    """The first can be made good, the others are final."""
    config.change_config(
        root, lambda doc: doc.update(agents={"defaults": {"dream": {"userBudgetChars": 60}}})
    )
    full = do("apply_patch", **adding("- Likes figs very much."))
    assert "over its budget" in full.content
    assert [row.rule for row in session.open_refusals] == ["budget"]
    pins.pin(root, "USER.md", 5, PERSON)
    pinned = do("edit_file", path="USER.md", old_text="- Likes tea.\n", new_text="", sources=[1])
    assert "pinned" in pinned.content
    suppression.forget(root, "The server is in Brno.", Actor("command"))
    gone = do("apply_patch", **adding("- The server is in Brno.", "memory/MEMORY.md", "Setup"))
    assert not gone.ok
    assert [row.rule for row in session.attempts] == ["budget", "pinned", "forgotten"]
    assert [row.rule for row in session.open_refusals] == ["budget"]


def test_every_refusal_is_one_line_of_the_log(
    root: Path, do: Do, session: WriteSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether a write rule refused, or something before it: its rule, actor and run are logged, and
    nothing of the text or the file."""
    pins.pin(root, "USER.md", 5, PERSON)
    session.run = "dream:17"
    with caplog.at_level(logging.INFO):
        do("edit_file", path="USER.md", old_text="- Likes tea.\n", new_text="", sources=[1])
        do("apply_patch", **adding("- Likes bees.") | {"sources": [9]})
        do("edit_file", path="notes/bees.md", old_text="a", new_text="b", sources=[1])
        do("edit_file", path="USER.md", old_text="- bees\n", new_text="- x\n", sources=[1])
        do("write_file", path="skills/bees/SKILL.md", content="bees", sources=[1])
        do("edit_file", path="USER.md", bees=1)
    rows = [row for row in caplog.records if row.getMessage() == "write.refused"]
    assert [row.rule for row in rows] == [row.rule for row in session.attempts]
    assert len(rows) == 6
    assert {(row.actor, row.run) for row in rows} == {("dream", "dream:17")}
    assert not any(word in str(vars(row)) for row in rows for word in ("bees", "USER.md"))


@pytest.mark.parametrize(
    "line", ["- Likes \u200bfigs.", "- The key is sk-ant-api03-" + "Ab3" * 30, "- x\u202ey"]
)
def test_invisible_characters_and_secrets_do_not_get_in(root: Path, do: Do, line: str) -> None:
    """Whatever an entry holds; letters joined as in Persian are no such thing."""
    before = text(root)
    assert not do("apply_patch", **adding(line)).ok
    assert text(root) == before
    assert do(
        "apply_patch", **adding("- Speaks \u0641\u0627\u0631\u0633\u06cc\u200c\u0647\u0627.")
    ).ok


def test_secrets_deep_in_a_long_text_do_not_get_in(root: Path, do: Do, shown: Batch) -> None:
    """However far into a line or a skill they stand; what makes a file shorter is no flood."""
    secret = "sk-ant-api03-" + "Ab3" * 30
    before = text(root)
    outcome = do("apply_patch", **adding(f"- {'word ' * 500}{secret}"))
    assert not outcome.ok
    assert "secret" in outcome.content
    assert text(root) == before
    steps = "\n".join(f"{number}. Do thing number {number}." for number in range(1, 500))
    skill = f"---\nname: x\ndescription: When x is asked.\n---\n{steps}\n500. Use {secret}\n"
    assert not do("write_file", path="skills/x/SKILL.md", content=skill, sources=[1, 2]).ok
    assert not (root / "skills" / "x").exists()
    long = "word " * 2_400
    (root / "USER.md").write_text(f"# User\n\n- The cat. {long}\n")
    edit = {"path": "USER.md", "old_text": "The cat. word ", "new_text": "The cat. "}
    assert do("edit_file", **edit, sources=[1]).ok


def test_a_file_that_is_no_text_is_named_and_not_mangled(root: Path, do: Do) -> None:
    """Its bytes stay as they are."""
    (root / "USER.md").write_bytes(b"- Likes tea.\n\xff\xfe")
    outcome = do("edit_file", path="USER.md", old_text="tea", new_text="figs", sources=[1])
    assert not outcome.ok
    assert "no text file" in outcome.content
    assert (root / "USER.md").read_bytes() == b"- Likes tea.\n\xff\xfe"


def test_windows_ends_and_a_missing_last_line_end_stay(root: Path, do: Do) -> None:
    """Only what is meant changes."""
    (root / "USER.md").write_bytes(b"# User\r\n\r\n- Likes tea.\r\n- Likes rye.\r\n")
    assert do("edit_file", path="USER.md", old_text="tea", new_text="figs", sources=[1]).ok
    assert do("apply_patch", **adding("- Likes plums.", heading="")).ok
    assert (root / "USER.md").read_bytes() == (
        b"# User\r\n\r\n- Likes figs.\r\n- Likes rye.\r\n- Likes plums.\r\n"
    )


def test_a_file_with_mixed_line_ends_is_edited_as_it_is_shown(root: Path, do: Do) -> None:
    """Line ends are no difference, and those of the other lines stay."""
    (root / "USER.md").write_bytes(b"# User\r\n\n- Likes tea.\r\n- Likes rye.\n- Likes oats.\r\n")
    edit = {"old_text": "- Likes tea.\n- Likes rye.", "new_text": "- Likes figs.\n- Likes rye."}
    assert do("edit_file", path="USER.md", **edit, sources=[1]).ok
    assert do("apply_patch", **adding("- Likes plums.", heading="")).ok
    assert (root / "USER.md").read_bytes() == (
        b"# User\r\n\n- Likes figs.\r\n- Likes rye.\n- Likes oats.\r\n- Likes plums.\r\n"
    )


def test_who_lost_the_run_writes_nothing(root: Path, shown: Batch) -> None:
    """The fence is asked under the lock, before each write; it ends the turn."""

    def fence() -> None:
        raise Cancelled("lost")

    box = toolbox(hand_of(root, shown, fence=fence))
    before = text(root)
    with pytest.raises(Cancelled):
        box.call("apply_patch", adding("- Likes figs."))
    assert text(root) == before


def test_finish_accounts_for_what_really_landed(do: Do, session: WriteSession) -> None:
    """``saved`` takes a write that names the entry; every entry must be there, and no other."""
    rows = [
        {"cursor": 1, "verdict": "saved"},
        {"cursor": 2, "verdict": "not_kept"},
        {"cursor": 7, "verdict": "saved"},
    ]
    outcome = do("finish", entries=rows)
    assert not outcome.ok
    for told in ("Entry 1 is not saved", "needs a reason", "Entry 7 was not shown"):
        assert told in outcome.content
    assert not session.finished
    assert do("apply_patch", **adding("- Likes oolong.")).ok
    rows = [
        {"cursor": 1, "verdict": "saved"},
        {"cursor": 2, "verdict": "not_kept", "reason": "expired: passing"},
    ]
    assert do("finish", entries=rows).ok
    assert session.finished
    assert {row.cursor: (row.kind, row.reason) for row in session.verdicts.values()} == {
        1: ("saved", ""),
        2: ("not_kept", "expired: passing"),
    }


def test_finish_asks_again_about_what_no_file_says(do: Do) -> None:
    """Before ``already_known`` is accepted and ends the run, the model is told once what it may
    have overlooked."""
    rows = [{"cursor": cursor, "verdict": "already_known"} for cursor in (1, 2)]
    outcome = do("finish", entries=rows)
    assert (outcome.ok, outcome.ends_run) == (False, False)
    assert "no file says: “The user likes oolong.”" in outcome.content
    again = do("finish", entries=rows)
    assert (again.ok, again.ends_run) == (True, True)


@pytest.mark.parametrize("name", ["edit_file", "apply_patch", "write_file", "move_entry"])
@pytest.mark.parametrize(
    "arguments", [{}, [], "x", {"path": 3}, {"nonsense" * 5_000: 1}, {"path": "x" * 100_000}]
)
def test_a_call_that_cannot_be_read_is_on_record(
    root: Path, session: WriteSession, name: str, arguments: Any
) -> None:
    """As a write that came to nothing; bounded, and kept nowhere."""
    outcome = toolbox(session).call(name, arguments)
    assert not outcome.ok
    assert len(outcome.content) <= 16_000
    assert len(session.attempts) == 1
    assert len(session.attempts[0].path) <= 2_000
    assert not (root / "output").exists()


def test_giant_texts_are_bounded(root: Path, do: Do) -> None:
    """A memory file holds facts; a flood of them is refused before anything is written."""
    before = text(root)
    for size in (9_000, 70_000, 5_000_000):
        assert not do("apply_patch", **adding("- " + "word " * (size // 5))).ok
    many = [{"path": "USER.md", "action": "add", "new_text": f"- f{n}"} for n in range(500)]
    assert not do("apply_patch", edits=many, sources=[1]).ok
    assert text(root) == before


def test_room_is_asked_for_only_where_a_file_grew(root: Path, shown: Batch) -> None:
    """From four fifths on, after a write that adds; not after one that makes room, and not in a
    review. The template's comments take up no room."""
    comments = seed.template("USER.md").decode()
    (root / "USER.md").write_text(comments + "- A line that takes up room here.\n" * 76)
    box = toolbox(hand_of(root, shown))
    grown = box.call("apply_patch", adding("- Likes oolong.")).content
    assert "Make room before you add more" in grown
    chars = next(row.chars for row in budgets.gauge(root) if row.file.path == "USER.md")
    assert f"USER.md: {chars:,} of 3,000" in grown
    line = {"old_text": "- Likes oolong.", "new_text": "- Oolong.", "sources": [1]}
    smaller = box.call("edit_file", {"path": "USER.md", **line}).content
    assert "of 3,000 characters" in smaller
    assert "Make room" not in smaller
    review = toolbox(hand_of(root, Batch(), kind="review"))
    moved = {"path": "memory/MEMORY.md", "entry": "The server is in Brno.", "to": "USER.md"}
    told = review.call("move_entry", moved).content
    assert "of 3,000 characters" in told
    assert "Make room" not in told
