"""Dream's prompt: each thing once, from disk, and nothing that the run has not got."""

from pathlib import Path

import pytest

from jenny.workspace import config
from jenny.workspace.files import Actor, open_workspace
from memory import files, forgotten, pins
from memory.dream.prompting import guide, prompt
from memory.dream.tools import TOOLS
from tests.memory.dream.running import batch_of, entry, new_root

SHOWN = batch_of(entry(12, "- [durable] The user plays the violin on Sundays."))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with marked lines."""
    root = new_root(tmp_path / "w")
    (root / "USER.md").write_text("# User\n\n- The marker of the user.\n")
    (root / "memory" / "MEMORY.md").write_text("# Memory\n\n- The marker of the memory.\n")
    return root


def shown(root: Path) -> str:
    """The system prompt."""
    return prompt.system(root, batch=SHOWN, snapshot="There is a snapshot 17.").text


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


def test_the_tools_it_names_are_the_tools_it_has(root: Path) -> None:
    """From the table; and the files it may write from the table of files."""
    text = shown(root)
    for tool in TOOLS:
        assert f"* `{tool.name}(" in text
    assert "{tools}" not in text
    assert all(path in text for path in files.BY_PATH)
    for absent in ("grep(", "list_dir(", "python_exec"):
        assert absent not in text


@pytest.mark.parametrize("name", ["dream.md", "dream_rules.md"])
def test_the_built_in_texts_say_what_they_must(name: str) -> None:
    """What a run is judged by is in one of them."""
    text = (Path(prompt.__file__).parents[2] / "prompts" / name).read_text()
    if name == "dream_rules.md":
        for told in ("[permanent]", "[correction]", "sources", "finish", "never answer that"):
            assert told in text
    else:
        assert text.strip() == guide.built_in()
        for told in ("SOUL.md", "Never take these out", "absolute", "smallest honest change"):
            assert told in text


def test_from_four_fifths_on_it_is_asked_to_make_room_first(root: Path) -> None:
    """Of an enforced budget; without one nothing is threatened."""
    (root / "USER.md").write_text("# User\n\n" + "- A line of the file.\n" * 110)
    assert "Make room in USER.md before you add" in shown(root)
    config.change(
        root, lambda doc: doc.update(agents={"defaults": {"dream": {"userBudgetChars": 0}}})
    )
    assert "Make room" not in shown(root)
    assert "no budget" in shown(root)


def test_pins_skills_forgotten_and_archive_are_told(root: Path) -> None:
    """What is pinned, whose a skill is, what is not to come back, and what lies in the archive."""
    pins.pin(root, "USER.md", 3, Actor("browser"))
    path = root / "memory" / "MEMORY.md"
    path.write_text("# Memory\n\n- Plays the violin on Sundays.\n- The piano was sold in May.\n")
    forgotten.forget(root, "Plays the violin on Sundays.", Actor("command"))
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
    assert text.count("Plays the violin on Sundays") == 1, "among the forgotten, nowhere else"
    assert "# Forgotten" in text
    assert "# The archive" in text
    other = batch_of(entry(3, "- [durable] The user bought a piano.\n- [durable] It was sold."))
    text = prompt.system(root, batch=other).text
    assert "(memory/MEMORY.md, 20" in text.split("# The archive")[1]
    assert "The piano was sold in May." in text.split("# The archive")[1]


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
    first = prompt.system(root, batch=SHOWN).pieces
    assert first == prompt.system(root, batch=SHOWN).pieces
    other = prompt.system(root, batch=batch_of(entry(13, "- [durable] y")))
    assert other.pieces[0] == first[0]


def test_the_batch_comes_first_in_the_message(root: Path) -> None:
    """Under its heading, in its fence."""
    message = prompt.first_message(SHOWN)
    text = message.parts[0].text  # type: ignore[union-attr]
    assert text.startswith("## Conversation History\n\n1 entry,")
    assert "The user plays the violin" in text
