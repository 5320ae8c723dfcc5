"""The tools that a chat's turn gets."""

from pathlib import Path

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.tools import TOOLS, toolbox_for
from jenny.workspace import config, seed
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from wikis.errors import PageRefused

# Dream has tools of its own.
CHATS = {kind: row for kind, row in RUN_KINDS.items() if row.actor not in {"dream", "review"}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A new workspace."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    return tmp_path


def test_each_kind_of_run_has_the_tools_of_its_row(root: Path) -> None:
    """No more, no less, in that order."""
    for kind, row in CHATS.items():
        assert toolbox_for(kind, root, run="test").names == row.tools


def test_every_tool_of_every_row_exists() -> None:
    """A row cannot name a tool that is none."""
    assert {name for row in CHATS.values() for name in row.tools} <= set(TOOLS)


def test_settings_of_the_workspace_hold(root: Path) -> None:
    """How long a result may be, and the zone of the sandbox's clock."""

    def set_both(document: dict[str, object]) -> None:
        defaults = document.setdefault("agents", {}).setdefault("defaults", {})  # type: ignore[attr-defined]
        defaults["maxToolResultChars"] = 1000
        defaults["timezone"] = "Pacific/Kiritimati"

    assert toolbox_for("personal", root, run="test", zone="Asia/Tokyo").context.zone == "Asia/Tokyo"
    assert toolbox_for("personal", root, run="test", zone="No/Where").context.zone == "UTC"
    config.change_config(root, set_both)
    box = toolbox_for("personal", root, run="test", zone="Asia/Tokyo")
    assert box.context.zone == "Pacific/Kiritimati"
    (root / "long.md").write_text("x\n" * 3000)
    assert len(box.call("read_file", {"path": "long.md"}).content) <= 1000


def test_a_folder_that_is_a_link_is_no_project(root: Path) -> None:
    """A link would let a conversation inside it out, to the memory or to another wiki."""
    (root / "wikis/real").mkdir(parents=True, exist_ok=True)
    for name, target in {"memory": "../memory", "all": "..", "other": "real"}.items():
        (root / "wikis" / name).symlink_to(target)
        with pytest.raises(PageRefused):
            toolbox_for("project", root, run="test", project=name)
    assert toolbox_for("project", root, run="test", project="real").names


def test_no_model_lets_the_memory_into_a_project_that_keeps_it_out(root: Path) -> None:
    """A source in the project may ask for it; the owner alone decides."""
    guide = "wikis/real/AGENTS.md"
    owner = open_workspace(root, Actor("browser"))
    owner.write(guide, b"---\nsummary: Bees\nmemory: profile\n---\n\nBe brief.\n")
    for kind, within in {"project": "wikis/real", "chat": ""}.items():
        files = open_workspace(root, Actor(kind), within=within)
        kept = b"---\nmemory: profile\n---\n\nBe long.\n"
        for text in (b"---\nsummary: Bees\n---\n", b"Be brief.\n", None, kept):
            with pytest.raises(WriteRefused):
                files.write_many({guide: text})
    owner.write(guide, b"Be brief.\n")
    with pytest.raises(WriteRefused, match="takes the user's consent"):
        open_workspace(root, Actor("project"), within="wikis/real").write(guide, b"Be long.\n")


def test_shipped_skills_are_read_by_their_paths(root: Path) -> None:
    """The list of skills names paths that lead somewhere."""
    box = toolbox_for("personal", root, run="test")
    outcome = box.call("read_file", {"path": "skills/how-memory-works/SKILL.md"})
    assert outcome.ok
    assert "# How memory works here" in outcome.content


def test_a_chat_writes_as_a_chat(root: Path) -> None:
    """What needs the person's consent is refused to it by the memory's rules."""
    from jenny.workspace.files import register_rule
    from memory.write_rules import guard_protected_files

    register_rule(guard_protected_files)
    box = toolbox_for("personal", root, run="test")
    always = "---\nalways: true\n---\nEvil.\n"
    for path, text in (
        ("AGENTS.md", "x"),
        ("agents.md", "x"),
        ("skills/x/SKILL.md", always),
        ("memory/history.jsonl", "x"),
        ("memory/.dream_cursor", "0"),
        ("memory/.cursor", "0"),
        ("memory/archive/x.md", "x"),
    ):
        box.call("read_file", {"path": path})
        assert not box.call("write_file", {"path": path, "content": text}).ok, path
        create = {"path": path, "action": "create", "new_text": text}
        assert not box.call("apply_patch", {"edits": [create]}).ok, path
    assert box.call("write_file", {"path": "output/x.md", "content": "x"}).ok


def test_the_tools_hear_of_stop(root: Path) -> None:
    """The turn's watch reaches them."""
    watch = CancellationToken()
    box = toolbox_for("personal", root, run="test", watch=watch)
    watch.cancel("stop")
    with pytest.raises(Cancelled):
        box.call("list_dir", {})
