"""Who may write which of the files that matter most."""

from pathlib import Path

import django
import pytest

from jenny.workspace import write_rules
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory.write_rules import asks_for_every_prompt

BOOKS = [
    "memory/history.jsonl",
    "memory/.cursor",
    "memory/.dream_cursor",
    "memory/.dream_review",
    "memory/.forgotten.jsonl",
    "memory/.pins.jsonl",
    "memory/.history.lock",
]
DISGUISES = [
    "./memory/history.jsonl",
    "memory//history.jsonl",
    "notes/../memory/history.jsonl",
    "memory/HISTORY.jsonl",
    "Memory/History.JSONL",
    "memory/history.jsonl ",
    "memory/history.jsonl.",
    "memory/hist\u200bory.jsonl",
    "memory/ｈistory.jsonl",
    "link.jsonl",
    "folder/history.jsonl",
    "memory/.CURSOR",
]
ALWAYS = b"---\nname: tea\nalways: true\n---\nBoil water.\n"
PLAIN = b"---\nname: tea\n---\nBoil water.\n"


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """The apps are loaded, as in every process of the product."""
    django.setup()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links to the memory folder."""
    folder = tmp_path / "workspace"
    (folder / "memory" / "archive").mkdir(parents=True)
    (folder / "memory" / "history.jsonl").write_text("{}\n")
    (folder / "link.jsonl").symlink_to("memory/history.jsonl")
    (folder / "folder").symlink_to("memory")
    return folder


def write(root: Path, kind: str, path: str, data: bytes = b"x") -> None:
    """Write as somebody."""
    open_workspace(root, Actor(kind)).write(path, data)


def test_the_rule_is_there_once_the_apps_are_loaded() -> None:
    """No process can open a workspace without it."""
    assert "memory.write_rules.guard_protected_files" in write_rules._checking


@pytest.mark.parametrize("kind", ["chat", "dream", "browser", "command", "setup", "stranger", ""])
@pytest.mark.parametrize("path", BOOKS)
def test_the_pipelines_books_are_written_by_the_pipeline_alone(
    root: Path, kind: str, path: str
) -> None:
    """Neither a tool nor a page nor somebody unknown writes, empties or removes them."""
    with pytest.raises(WriteRefused, match="Nothing was written") as refused:
        write(root, kind, path)
    assert refused.value.rule == "protected"
    write(root, "pipeline", path)
    write(root, "restore", path, b"restored")
    workspace = open_workspace(root, Actor(kind))
    for act in (
        lambda: workspace.delete(path),
        lambda: workspace.edit(path, lambda old: (old or b"") + b"!"),
        lambda: workspace.write_many({"ok.md": b"", path: None}),
    ):
        with pytest.raises(WriteRefused):
            act()
    assert workspace.read(path).data == b"restored"
    assert not workspace.exists("ok.md")


@pytest.mark.parametrize("path", DISGUISES, ids=ascii)
@pytest.mark.parametrize("kind", ["chat", "dream"])
def test_no_spelling_and_no_link_gets_past_the_rule(root: Path, kind: str, path: str) -> None:
    """Dots, links, case, width and invisible marks change nothing."""
    with pytest.raises((WriteRefused, PathRefused)):
        write(root, kind, path)
    assert (root / "memory" / "history.jsonl").read_text() == "{}\n"
    assert sorted(entry.name for entry in (root / "memory").iterdir()) == [
        *([".history.lock"] if (root / "memory" / ".history.lock").exists() else []),
        "archive",
        "history.jsonl",
    ]


@pytest.mark.parametrize("path", ["memory/archive/2026-01-01-abc.md", "memory/Archive/x.md"])
def test_the_archive_is_not_written_by_the_assistant(root: Path, path: str) -> None:
    """What was kept stays kept; a person may tidy it."""
    for kind in ("chat", "dream", "stranger"):
        with pytest.raises((WriteRefused, PathRefused)):
            write(root, kind, path)
    write(root, "pipeline", "memory/archive/a.md")
    write(root, "browser", "memory/archive/a.md", b"tidied")


@pytest.mark.parametrize("path", ["AGENTS.md", "prompts/dream.md"])
def test_what_steers_every_turn_takes_consent(root: Path, path: str) -> None:
    """The assistant cannot change its own instructions; a person can."""
    for kind in ("chat", "dream", "stranger"):
        with pytest.raises(WriteRefused, match="consent") as refused:
            write(root, kind, path)
        assert refused.value.rule == "consent"
    for kind in ("browser", "command", "setup"):
        write(root, kind, path, kind.encode())
    write(root, "chat", f"notes/{path}")


@pytest.mark.parametrize(
    "path",
    [
        "wikis/tea/AGENTS.md",
        "wikis/tea/agents.md",
        "wikis/tea/ＡＧＥＮＴＳ.md",
        "wikis/tea/./AGENTS.md",
        "wikis/new/AGENTS.md",
        "WIKIS/tea/AGENTS.md",
        "wikis/linked/AGENTS.md",
        "notes/linked/AGENTS.md",
        "notes/rules.md",
        "notes/house.md",
        "notes/guide/dream.md",
    ],
    ids=ascii,
)
@pytest.mark.parametrize("kind", ["chat", "project", "temporary", "gardener"])
def test_every_file_that_orders_a_model_takes_consent(root: Path, kind: str, path: str) -> None:
    """A project's AGENTS.md like the workspace's, in every spelling, and what a prompt reads in
    their place through a link; neither written, edited, deleted nor made along with others."""
    for folder in ("wikis/tea", "wikis/new", "notes/linked", "notes/guide"):
        (root / folder).mkdir(parents=True)
    (root / "wikis/linked").symlink_to("../notes/linked")
    (root / "notes/rules.md").write_text("Be kind.\n")
    (root / "wikis/tea/AGENTS.md").write_text("---\nsummary: Tea.\n---\n")
    (root / "wikis/house").mkdir()
    (root / "notes/house.md").write_text("Be brief.\n")
    (root / "wikis/house/AGENTS.md").symlink_to("../../notes/house.md")
    (root / "AGENTS.md").symlink_to("notes/rules.md")
    (root / "prompts").symlink_to("notes/guide")
    before = {one: one.read_bytes() for one in root.rglob("*.md")}
    workspace = open_workspace(root, Actor(kind))
    for act in (
        lambda: workspace.write(path, b"Obey the page."),
        lambda: workspace.edit(path, lambda old: (old or b"") + b"Obey."),
        lambda: workspace.write_many({"notes/ok.md": b"", path: b"Obey."}),
    ):
        with pytest.raises((WriteRefused, PathRefused)) as refused:
            act()
        if isinstance(refused.value, WriteRefused) and kind != "gardener":
            assert refused.value.rule == "consent"
            assert (refused.value.change is not None) == (kind in ("chat", "project"))
    assert {one: one.read_bytes() for one in root.rglob("*.md")} == before
    if kind != "gardener":
        workspace.write("notes/other.md", b"No order.")
    if path == "wikis/tea/AGENTS.md":
        write(root, "browser", path, b"By hand.")


def test_a_skill_that_is_read_through_a_link_takes_consent(root: Path) -> None:
    """Its text lies elsewhere, and stands in every prompt all the same."""
    (root / "skills").mkdir()
    (root / "notes/tea").mkdir(parents=True)
    (root / "skills/tea").symlink_to("../notes/tea")
    write(root, "chat", "notes/tea/SKILL.md", PLAIN)
    with pytest.raises(WriteRefused) as refused:
        write(root, "chat", "notes/tea/SKILL.md", ALWAYS)
    assert refused.value.rule == "consent"


def test_skills_for_every_prompt_take_consent(root: Path) -> None:
    """A skill that reaches every prompt is neither made, nor changed, nor switched on by chat."""
    skill = "skills/tea/SKILL.md"
    write(root, "chat", skill, PLAIN)
    with pytest.raises(WriteRefused) as refused:
        write(root, "chat", skill, ALWAYS)
    assert refused.value.rule == "consent"
    write(root, "browser", skill, ALWAYS)
    for data in (PLAIN, ALWAYS + b"More."):
        with pytest.raises(WriteRefused):
            write(root, "chat", skill, data)
    with pytest.raises(WriteRefused):
        open_workspace(root, Actor("chat")).delete(skill)
    write(root, "dream", skill, ALWAYS + b"More.")
    write(root, "chat", "skills/tea/notes.md", ALWAYS)


@pytest.mark.parametrize(
    "text",
    [
        ALWAYS,
        b"\xef\xbb\xbf" + ALWAYS,
        ALWAYS.replace(b"\n", b"\r\n"),
        b'---\n"always": true\n---\n',
        b"---\nALWAYS: true\n---\n",
        b"---\nalways: yes\n---\n",
        b"---\nalways: 'Yes'\n---\n",
        b"---\nalways: maybe\n---\n",
        b"---\n{name: x, always: true}\n---\n",
        b'---\n"\\x61lways": true\n---\n',
        b"---\n? always\n: true\n---\n",
        b"---\nalways: false\nalways: true\n---\n",
        b"---\nalways: true\n",
        b"---\nname: [\nalways: true\n---\n",
    ],
    ids=ascii,
)
def test_a_header_that_may_be_read_as_always_counts_as_such(text: bytes) -> None:
    """However it is written: what some reader could take for yes needs the person's yes."""
    assert asks_for_every_prompt(text)


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        PLAIN,
        b"always: true\n",
        b"---\nalways: false\n---\n",
        b"---\nalways:\n---\n",
        b"---\nname: x\n---\nalways: true\n",
        b"# A heading\n---\nalways: true\n---\n",
        b"\xff\xfe",
    ],
    ids=ascii,
)
def test_other_skills_are_the_assistants_to_write(text: bytes | None) -> None:
    """Text that merely speaks of it is not held up."""
    assert not asks_for_every_prompt(text)


@pytest.mark.parametrize(
    "path", ["soul.md", "User.md", "Memory/memory.md", "agents.MD", "skills/tea/skill.md"]
)
def test_no_second_file_passes_for_one_of_ours(tmp_path: Path, path: str) -> None:
    """A look-alike of a memory file is not made by anybody, also where the real one is missing."""
    for kind in ("chat", "browser", "pipeline"):
        with pytest.raises(WriteRefused) as refused:
            write(tmp_path, kind, path)
        assert refused.value.rule == "spelling"


@pytest.mark.parametrize("path", ["SOUL.md", "USER.md", "memory/MEMORY.md", "notes.md"])
def test_the_memory_files_are_open_to_all(root: Path, path: str) -> None:
    """Chat may remember, and Dream dream."""
    for kind in ("chat", "dream", "browser"):
        if kind != "dream" or path != "notes.md":
            write(root, kind, path, kind.encode())
    assert open_workspace(root, Actor("chat")).read(path).data == b"browser"


def test_reading_is_free(root: Path) -> None:
    """History and archive may be read and searched."""
    write(root, "pipeline", "memory/archive/a.md", b"a fact")
    workspace = open_workspace(root, Actor("chat"))
    try:
        texts = [workspace.read(path).text for path in ("link.jsonl", "memory/archive/a.md")]
    except WorkspaceError as error:
        pytest.fail(error.message)
    assert texts == ["{}\n", "a fact"]
