"""Every way of writing a memory file goes through the same rules."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import get_commands

from jenny.agent.tools import Toolbox, ToolContext
from jenny.chat.tools import TOOLS
from jenny.workspace import move_copy, trash
from jenny.workspace import write_rules as workspace_rules
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.write_rules import Change
from memory import archive, ledgers, suppression, write_rules

FACTS = [f"Fact number {number} of Ana, told in May" for number in range(10)]
MEMORY = "# Memory\n\n" + "".join(f"- {fact}\n" for fact in FACTS)
LEFT = "# Memory\n\n" + "".join(f"- {fact}\n" for fact in FACTS[:2])
PATH = "memory/MEMORY.md"

# What cannot shorten a memory file, since it only reads, or writes elsewhere.
HARMLESS_TOOLS = {
    *("read_file", "list_dir", "find_files", "grep", "python_exec"),
    # It writes pictures only.
    "plot",
    *("read_skill", "list_pages", "finish_tidying"),
}
# Tools that have tests of their own for this, beside their code.
TRIED_ELSEWHERE = {
    *("remember", "forget", "recall", "search_chats"),
    # Of projects, whose tools reach no memory file at all (tests/chat/test_projects.py).
    *("note", "add_page", "add_open"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace whose memory file holds ten facts."""
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    open_workspace(folder, Actor("chat")).write(PATH, MEMORY.encode())
    return folder


def called(root: Path, *calls: tuple[str, dict]) -> None:
    """Call tools of a chat, one after the other."""
    box = Toolbox(
        [TOOLS[name] for name in TOOLS if name not in TRIED_ELSEWHERE],
        ToolContext(open_workspace(root, Actor("chat", run="turn:1"))),
    )
    for name, arguments in calls:
        outcome = box.call(name, arguments)
        assert outcome.ok, outcome.content


def by_write_file(root: Path) -> None:
    """A chat's tool replaces the file."""
    called(root, ("read_file", {"path": PATH}), ("write_file", {"path": PATH, "content": LEFT}))


def by_edit_file(root: Path) -> None:
    """A chat's tool takes a passage out."""
    gone = MEMORY.removeprefix(LEFT)
    edit = {"path": PATH, "old_text": gone, "new_text": ""}
    called(root, ("read_file", {"path": PATH}), ("edit_file", edit))


def by_apply_patch(root: Path) -> None:
    """A chat's tool takes lines out, one edit each."""
    edits = [{"path": PATH, "old_text": f"- {fact}\n", "new_text": ""} for fact in FACTS[2:]]
    called(root, ("read_file", {"path": PATH}), ("apply_patch", {"edits": edits}))


def by_moving(root: Path) -> None:
    """A person renames the file, so that it is none of the memory any more."""
    move_copy.move(open_workspace(root, Actor("browser")), PATH, "old.md")


def by_the_trash(root: Path) -> None:
    """A person throws the file away."""
    workspace = open_workspace(root, Actor("browser"))
    trash.move_to_trash(
        workspace, root.parent / "trash", PATH, now=dt.datetime.now(dt.UTC).timestamp()
    )


def by(kind: str, act: Callable[[Workspace], object]) -> Callable[[Path], None]:
    """An actor's own call."""

    def write(root: Path) -> None:
        act(open_workspace(root, Actor(kind)))

    return write


WAYS = {
    "write_file": by_write_file,
    "edit_file": by_edit_file,
    "apply_patch": by_apply_patch,
    "moving": by_moving,
    "trash": by_the_trash,
    **{
        kind: by(kind, lambda workspace: workspace.write(PATH, LEFT.encode()))
        for kind in ("dream", "review", "browser", "command", "restore", "setup", "pipeline")
    },
    "many": by("restore", lambda w: w.write_many({PATH: LEFT.encode(), "USER.md": b"- x\n"})),
    "delete": by("chat", lambda workspace: workspace.delete(PATH)),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_drops_lines_they_are_kept(root, way):
    """TOO3: each way of dropping most of MEMORY.md leaves all of it in the archive."""
    WAYS[way](root)
    left = (root / PATH).read_text() if (root / PATH).exists() else ""
    kept = {row.text for row in archive.listing(root)}
    assert {fact for fact in FACTS if fact not in left} == kept
    assert len(kept) >= 8
    is_a_person = way in {"trash", "browser"}
    assert {row.text for row in suppression.list_tombstones(root)} == (
        kept if is_a_person else set()
    )


def test_every_tool_is_tried_or_known_to_be_harmless():
    """A new tool must be put into one of the tables of this file."""
    assert set(TOOLS) - HARMLESS_TOOLS - TRIED_ELSEWHERE == {
        "write_file",
        "edit_file",
        "apply_patch",
    }


def test_every_command_is_known():
    """A new command of the memory must say whether it writes memory files, and have a test."""
    ours = {name for name, app in get_commands().items() if app == "memory"}
    reading = {"snapshot", "recall", "why"}
    assert ours - reading <= {"versions", "forget", "pin", "dream", "approvals"}


def test_a_run_that_was_taken_over_writes_nothing(root, monkeypatch):
    """The fence is asked under the lock, for each unattended write and for no other."""
    asked = []

    def fence(where: Path, actor: Actor) -> bool:
        asked.append((where, actor.run))
        return actor.run != "dream:1"

    monkeypatch.setattr(write_rules, "_fences", {})
    write_rules.register_fence(fence)
    stale = open_workspace(root, Actor("dream", run="dream:1"))
    for act in (
        lambda: stale.write("USER.md", b"x"),
        lambda: stale.delete(PATH),
        lambda: stale.write_many({"USER.md": b"x", "SOUL.md": b"y"}),
    ):
        with pytest.raises(WriteRefused) as error:
            act()
        assert error.value.rule == "epoch"
    assert archive.count(root) == 0
    stale.as_actor(Actor("dream", run="dream:2")).write("USER.md", b"x")
    count = len(asked)
    stale.as_actor(Actor("chat", run="dream:1")).write("USER.md", b"y")
    assert len(asked) == count


def test_act_rules_are_told_of_whole_acts(root, monkeypatch):
    """An act of two files is told once, with its actor's sources, and not when it is refused."""
    told: list[list[Change]] = []
    monkeypatch.setattr(workspace_rules, "_acting_on_acts", {})
    workspace_rules.register_act_rule(lambda changes: told.append(list(changes)))
    actor = Actor("dream", run="dream:3", sources=(4, 5), reason="tidied")
    workspace = open_workspace(root, Actor("chat")).as_actor(actor)
    workspace.write_many({"USER.md": b"- a\n", PATH: LEFT.encode()})
    with pytest.raises(WriteRefused):
        workspace.write("USER.md", b"x" * 4000)
    workspace.write_many({"USER.md": b"- a\n"})
    assert [[change.path for change in act] for act in told] == [["USER.md", PATH]]
    assert told[0][0].actor.sources == (4, 5)
    assert archive.listing(root)[0].events[0].reason == "tidied"


def test_what_lands_along_is_asked_about_by_nobody_else(root):
    """A chat cannot write the pipeline's books by way of an act of its own."""
    change = ledgers.added(root, suppression.PATH, [{"id": "x"}], None)
    chat = open_workspace(root, Actor("chat"))
    with pytest.raises(WriteRefused):
        chat.write_many({suppression.PATH: b"{}\n"})
    chat.write_many({"USER.md": b"- a\n"}, first=[change])
    assert (root / suppression.PATH).exists()
    assert workspace_rules.companions([]) == []
