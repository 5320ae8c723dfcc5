"""Dream's prompt: each thing once, from disk, and nothing that the run has not got."""

import re
from pathlib import Path

import pytest

from jenny.workspace import config, seed
from jenny.workspace.files import Actor, open_workspace
from memory import budgets, dream_guide, files, pins, suppression
from memory.dream import fact_checks, prompt
from memory.dream.tools import TOOLS
from memory.fact_coverage import Coverage, SoughtFact
from tests.memory.dream.running import batch_of, entry, new_root

SHOWN = batch_of(entry(12, "- [durable] The user plays the violin on Sundays."))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with marked lines."""
    root = new_root(tmp_path / "w")
    (root / "USER.md").write_text("# User\n\n- The marker of the user.\n")
    (root / "memory" / "MEMORY.md").write_text("# Memory\n\n- The marker of the memory.\n")
    return root


def review_text(root: Path) -> str:
    """A review's system prompt."""
    return prompt.review_system_prompt(root).text


def shown(root: Path) -> str:
    """The system prompt."""
    return prompt.system_prompt(root, batch=SHOWN, snapshot="There is a snapshot 17.").text


def test_the_files_stand_there_once_with_their_gauges(root: Path) -> None:
    """And what became of the snapshot."""
    text = shown(root)
    for once in ("The marker of the user.", "The marker of the memory.", "You are Jenny,"):
        assert text.count(once) == 1
    assert "* USER.md: 34 of 3,000 characters (1 %)" in text
    assert "SOUL.md: " in text
    assert "There is a snapshot 17." in text
    assert "Make room" not in text


def test_nothing_of_the_persons_other_things_is_in_it(root: Path) -> None:
    """Neither their instructions nor wikis, projects or what waits for a chat."""
    (root / "AGENTS.md").write_text("The marker of the instructions.")
    (root / "wikis" / "secretwiki" / "wiki").mkdir(parents=True)
    (root / "wikis" / "secretwiki" / "AGENTS.md").write_text("---\nsummary: hidden\n---\n")
    text = shown(root)
    for marker in ("marker of the instructions", "secretwiki", "hidden", "AGENTS.md"):
        assert marker not in text


def test_the_tools_stand_in_their_schemas_alone(root: Path) -> None:
    """Neither prompt describes a tool; the files that may be written are those of the table."""
    for text in (shown(root), review_text(root)):
        for tool in TOOLS:
            assert tool.description.split(". ")[0] not in " ".join(text.split())
            assert f"`{tool.name}(" not in text
        assert "{" not in text
        assert all(path in text for path in files.BY_PATH)
        for absent in ("grep", "list_dir", "python_exec"):
            assert absent not in text


def test_no_comment_of_a_template_is_in_a_prompt_or_counts_against_a_budget(root: Path) -> None:
    """Whatever line ends a file has; neither in Dream's prompt nor in the review's. A comment of
    the person's own is shown, and said to be one."""
    for path in ("USER.md", "memory/MEMORY.md"):
        text = seed.template(path).decode().replace("## ", "- A marked line.\n\n## ", 1)
        (root / path).write_bytes(text.replace("\n", "\r\n").encode())
    for text in (shown(root), review_text(root)):
        assert text.count("A marked line.") == 2
        assert "<!--" not in text
    for gauge in budgets.gauge(root):
        whole = len((root / gauge.file.path).read_bytes().decode())
        assert gauge.file.path == "SOUL.md" or 0 < (gauge.chars or 0) < whole / 2
    (root / "USER.md").write_text("# User\n\n<!-- mine -->\n\n- A marked line.\n")
    assert "is a note to the person" in shown(root)


def test_the_rules_and_the_guide_say_one_thing_each(root: Path) -> None:
    """About marked facts, about wishes for answers, about skills, and about old values."""
    dream, review = (" ".join(found.split()) for found in (shown(root), review_text(root)))
    for once in ("One rule holds for all three", "Only the newest is left"):
        assert dream.count(once) == 1
    for gone in ("leave a line", "before, Brno", "anything marked", '"one question"'):
        assert gone not in dream
    for text in (dream, review):
        assert "take the lines out" in text
        assert 'under "Communication"' in text


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (
            "The user moved from Brno to Graz on 1 November.",
            "- Lives in Graz (moved there on 1 November 2026).",
        ),
        (
            "Asked again on 30 November 2026: the weekly meal plan, this time for four.",
            "- Asked for the weekly meal plan on 23 and 30 November 2026 (now for four).",
        ),
    ],
)
def test_what_the_guide_shows_is_accepted_by_the_rules(fact: str, line: str) -> None:
    """A model that does as in the guide's examples is not asked again by code."""
    text = dream_guide.load_built_in_guide()
    assert fact in text
    assert line in text
    assert Coverage([line]).covers(SoughtFact(text=fact, tag="durable"), own=[line])
    for reason in re.findall(r'`not_kept`, "([^"]+)"', text):
        assert reason == "passing failure" or fact_checks.parse_reason(reason)


@pytest.mark.parametrize("name", ["dream.md", "dream_rules.md"])
def test_the_built_in_texts_say_what_they_must(name: str) -> None:
    """What a run is judged by is in one of them."""
    text = (Path(prompt.__file__).parents[1] / "prompts" / name).read_text()
    if name == "dream_rules.md":
        for told in ("[permanent]", "[correction]", "sources", "finish", "never answer that"):
            assert told in text
    else:
        assert text.strip() == dream_guide.load_built_in_guide()
        for told in ("SOUL.md", "Never take these out", "absolute", "smallest honest change"):
            assert told in text


def test_from_four_fifths_on_it_is_asked_to_make_room_first(root: Path) -> None:
    """Of an enforced budget; without one nothing is threatened."""
    (root / "USER.md").write_text("# User\n\n" + "- A line of the file.\n" * 110)
    assert "Make room in USER.md before you add" in shown(root)
    assert "Make room" not in review_text(root), "it adds nothing"
    config.change_config(
        root, lambda doc: doc.update(agents={"defaults": {"dream": {"userBudgetChars": 0}}})
    )
    assert "Make room" not in shown(root)
    assert "no budget" in shown(root)


def test_pins_skills_and_archive_are_told_and_nothing_forgotten(root: Path) -> None:
    """What is pinned, whose a skill is, and what lies in the archive. What was forgotten is shown
    nowhere: the rule is the code's."""
    pins.pin(root, "USER.md", 3, Actor("browser"))
    path = root / "memory" / "MEMORY.md"
    path.write_text("# Memory\n\n- Plays the violin on Sundays.\n- The piano was sold in May.\n")
    suppression.forget(root, "Plays the violin on Sundays.", Actor("command"))
    open_workspace(root, Actor("chat")).edit(
        "memory/MEMORY.md", lambda old: (old or b"").replace(b"- The piano was sold in May.\n", b"")
    )
    skill = root / "skills" / "tune" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Tuning the violin\n---\n1. x\n")
    text = shown(root)
    assert "# Pinned" in text
    assert "* USER.md: The marker of the user." in text
    assert "* tune (the person's own): Tuning the violin" in text
    assert "Plays the violin" not in text, "forgotten, also in the archive"
    assert "# The archive" in text
    other = batch_of(entry(3, "- [durable] The user bought a piano.\n- [durable] It was sold."))
    text = prompt.system_prompt(root, batch=other).text
    assert "(memory/MEMORY.md, removed on 20" in text.split("# The archive")[1]
    assert "The piano was sold in May." in text.split("# The archive")[1]


@pytest.mark.parametrize(
    ("archived", "said"),
    [
        ("राम का पोता डॉक्टर है।", "राम का पोता डॉक्टर नहीं रहा।"),
        ("妹妹住在湖边的老房子里。", "妹妹不住在湖边了。"),
        ("田中さんは毎週金曜日に来ます。", "金曜日に来るのは田中さんです。"),
        ("คุณสมชายชอบดื่มชา", "คุณสมชายไม่ชอบดื่มชาแล้ว"),
        ("철수 씨는 화요일마다 수영합니다.", "철수 씨는 화요일마다 쉽니다."),
        ("Бабушка Анна живёт у озера.", "Бабушка Анна больше не живёт у озера."),
        ("أخت سارة تعمل طبيبة أسنان.", "أخت سارة لم تعد طبيبة أسنان."),
    ],
)
def test_what_left_the_files_is_found_in_every_script(root: Path, archived: str, said: str) -> None:
    """A run is shown the archived texts that an entry is about, also where vowel signs stand within
    words or no spaces between them; another text is not shown."""
    path = root / "memory" / "MEMORY.md"
    path.write_text(f"# Memory\n\n- {archived}\n- The piano was sold in May.\n")
    open_workspace(root, Actor("chat")).write("memory/MEMORY.md", b"# Memory\n")
    other = batch_of(entry(3, f"- [durable] {said}"))
    found = prompt.system_prompt(root, batch=other).text.split("# The archive")[1]
    assert archived in found
    assert "piano" not in found


def test_of_very_many_skills_those_it_may_extend_are_listed(root: Path) -> None:
    """However many the person has, none that Dream made is hidden behind them."""
    for number in range(300):
        made_by = "made-by: dream\n" if number >= 290 else ""
        skill = root / "skills" / f"skill-{number:03}" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\ndescription: Doing thing {number}\n{made_by}---\n1. x\n")
    listed = shown(root).split("# Skills there are")[1]
    for number in range(290, 300):
        assert f"* skill-{number} (made by you): Doing thing {number}" in listed
    assert "* skill-000 (the person's own)" in listed
    assert "… and 102 more." in listed


def test_a_file_that_cannot_be_shown_is_said_to_be_so(root: Path) -> None:
    """It is not taken for empty, nor mangled."""
    (root / "USER.md").write_bytes(b"\xff\xfe\x00")
    (root / "memory" / "MEMORY.md").unlink()
    text = shown(root)
    assert "Not shown, and not to be edited" in text
    assert "There is no such file" in text


def test_the_prompt_is_the_same_while_nothing_changes(root: Path) -> None:
    """Byte for byte, and its first part from run to run, so that a provider's cache holds."""
    first = prompt.system_prompt(root, batch=SHOWN).pieces
    assert first == prompt.system_prompt(root, batch=SHOWN).pieces
    other = prompt.system_prompt(root, batch=batch_of(entry(13, "- [durable] y")))
    assert other.pieces[0] == first[0]


def test_the_batch_comes_first_in_the_message(root: Path) -> None:
    """Under its heading, in its fence."""
    message = prompt.first_message(SHOWN, root)
    text = message.parts[0].text  # type: ignore[union-attr]
    assert text.startswith("## Conversation History\n\n1 entry,")
    assert "The user plays the violin" in text
