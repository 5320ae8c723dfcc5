"""A pinned line is left as it is by whoever writes unattended, and by nobody else."""

from pathlib import Path

import pytest

from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory import pins, write_rules
from memory.errors import NotPinned

USER = b"# User\n\n- Allergic to nuts\n- Likes tea\n  with milk\n"
PERSON = Actor("browser")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace in which the second bullet is pinned by its second line."""
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    open_workspace(folder, PERSON).write("USER.md", USER)
    assert pins.pin(folder, "USER.md", 5, PERSON).text == "Likes tea\nwith milk"
    return folder


def rule(root: Path, kind: str, data: bytes | None, path: str = "USER.md") -> str:
    """By which rule the write is refused; empty when it lands."""
    workspace = open_workspace(root, Actor(kind))
    try:
        workspace.delete(path) if data is None else workspace.write(path, data)
    except WriteRefused as error:
        return error.rule if "final" in error.message else "?"
    return ""


@pytest.mark.parametrize("kind", ["dream", "review"])
def test_unattended_writers_leave_it(root, kind):
    """Reworded, taken out, cut, moved away, the file deleted: refused. Around it, and from its
    place to another one in the file, anything goes."""
    for data in (
        USER.replace(b"tea", b"Tea"),
        USER.replace(b"  with milk\n", b""),
        b"# User\n",
        None,
    ):
        assert rule(root, kind, data) == "pinned"
    assert (root / "USER.md").read_bytes() == USER
    assert rule(root, kind, b"- Likes tea\n  with milk\n- Allergic to nuts and figs\n") == ""


@pytest.mark.parametrize("kind", ["chat", "browser", "command", "restore"])
def test_attended_writers_are_free(root, kind):
    """A person and their chat change it, and the pin stays on what is near it."""
    assert rule(root, kind, b"- x\n\n" + USER.replace(b"Likes tea", b"likes Tea,")) == ""
    (row,) = pins.pins(root)
    assert row.line == 6
    assert rule(root, "dream", b"") == "pinned"
    assert rule(root, kind, b"# User\n") == ""
    assert pins.pins(root)[0].line is None
    assert rule(root, "dream", b"") == ""


def test_a_whole_file_is_pinned(root):
    """Line 0 pins a file, a skill as well; its pin comes off by line 0 again."""
    skill = "skills/cake/SKILL.md"
    open_workspace(root, PERSON).write(skill, b"---\nname: cake\n---\nBake.\n")
    pins.pin(root, skill, 0, PERSON)
    assert rule(root, "dream", b"---\nname: cake\n---\nBake.\nEat.\n", skill) == "pinned"
    pins.unpin(root, skill, 0, PERSON)
    assert rule(root, "dream", b"---\nname: cake\n---\nBake.\nEat.\n", skill) == ""


def test_pins_that_cannot_be(root):
    """Headings, blank lines, lines and files that are not there, files of other kinds."""
    (root / "notes.md").write_bytes(b"x\n")
    for path, line in (("USER.md", 1), ("USER.md", 2), ("USER.md", 99), ("notes.md", 1)):
        with pytest.raises(NotPinned):
            pins.pin(root, path, line, PERSON)
    with pytest.raises(NotPinned):
        pins.unpin(root, "USER.md", 3, PERSON)
    again = pins.pin(root, "USER.md", 4, PERSON)
    assert (again.line, len(pins.pins(root))) == (4, 1)
    pins.unpin(root, "USER.md", 4, PERSON)
    pins.pin(root, "USER.md", 4, PERSON)
    assert len(pins.pins(root)) == 1


def test_torn_lines_and_a_list_that_cannot_be_read(root):
    """What is whole holds; where a line names no file, or a link stands there, Dream is refused."""
    path = root / "memory" / ".pins.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b'{"path": 1}\n' + whole + b'{"path": "SOUL.md", "te')
    assert rule(root, "dream", b"") == "pinned"
    path.write_bytes(b"\xff\n" + whole)
    with pytest.raises(WriteRefused, match="cannot be read"):
        open_workspace(root, Actor("dream")).write("USER.md", b"# Other\n")
    path.rename(path.with_name("pins.txt"))
    path.symlink_to("pins.txt")
    with pytest.raises(WriteRefused, match="cannot be read"):
        open_workspace(root, Actor("dream")).write("USER.md", b"")
    assert rule(root, "chat", b"") == ""
