"""Write rules: whoever writes, they are asked first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jenny.workspace import write_rules
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, Change, Workspace, open_workspace, register_rule

seen: list[Change] = []


def no_poems(change: Change) -> None:
    """A rule that refuses."""
    seen.append(change)
    if change.new is not None and b"poem" in change.new:
        message = "No poems. Nothing was written."
        raise WriteRefused(message, "poems")


def keep_a_copy(change: Change) -> None:
    """A rule that writes something first, through the same layer."""
    if change.old is not None and not change.path.startswith("copies/"):
        keeper = open_workspace(change.workspace, Actor("pipeline", run=change.actor.run))
        keeper.write(f"copies/{change.path}", change.old)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Both rules, taken away afterwards."""
    before = dict(write_rules._checking), dict(write_rules._acting)
    register_rule(keep_a_copy, acts=True)
    register_rule(no_poems)
    register_rule(no_poems)
    seen.clear()
    yield
    write_rules._checking.clear()
    write_rules._checking.update(before[0])
    write_rules._acting.clear()
    write_rules._acting.update(before[1])


def test_every_way_of_writing_asks_every_rule_once(root: Path) -> None:
    """A rule sees path, old, new and actor of each change, however it is made."""
    actor = Actor("chat", account=7, run="turn:12")
    workspace = open_workspace(root, actor)
    workspace.write("a.md", b"one")
    workspace.edit("a.md", lambda _old: b"two")
    workspace.write_many({"b.md": b"b", "a.md": b"three"})
    workspace.delete("a.md")
    mine = [change for change in seen if change.actor == actor]
    assert [(change.path, change.old, change.new) for change in mine] == [
        ("a.md", None, b"one"),
        ("a.md", b"one", b"two"),
        ("b.md", None, b"b"),
        ("a.md", b"two", b"three"),
        ("a.md", b"three", None),
    ]
    assert {change.workspace for change in seen} == {root}


def test_what_changes_nothing_asks_nobody(workspace: Workspace) -> None:
    """The same text again is no write."""
    workspace.write("a.md", b"one")
    seen.clear()
    workspace.write("a.md", b"one")
    workspace.write_many({"a.md": b"one", "none.md": None})
    assert seen == []


def test_a_refused_write_leaves_nothing_behind(root: Path, workspace: Workspace) -> None:
    """Rules that do something first run when none has refused; of several files none lands."""
    workspace.write("a.md", b"one")
    with pytest.raises(WriteRefused, match="No poems") as refused:
        workspace.write("a.md", b"a poem")
    assert refused.value.rule == "poems"
    with pytest.raises(WriteRefused):
        workspace.write_many({"a.md": b"fine", "b.md": b"another poem"})
    assert (root / "a.md").read_bytes() == b"one"
    assert sorted(path.name for path in root.iterdir()) == [".jenny", "a.md"]


def test_a_rule_may_write_under_the_same_lock(root: Path, workspace: Workspace) -> None:
    """What a rule keeps is there before the change lands, and is asked about as well."""
    workspace.write("a.md", b"one")
    workspace.write("a.md", b"two")
    assert (root / "copies" / "a.md").read_bytes() == b"one"
    assert "copies/a.md" in [change.path for change in seen]


def test_rules_see_the_resolved_path(root: Path, workspace: Workspace) -> None:
    """A link or dots on the way hide nothing from a rule."""
    workspace.write("real/a.md", b"one")
    (root / "link.md").symlink_to("real/a.md")
    seen.clear()
    workspace.write("x/../link.md", b"two")
    assert [change.path for change in seen if not change.path.startswith("copies")] == ["real/a.md"]
