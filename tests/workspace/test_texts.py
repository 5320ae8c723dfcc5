"""A text that was edited in a form is saved over what it was opened at, and over nothing else."""

from pathlib import Path

import pytest

from jenny.workspace import texts
from jenny.workspace.errors import FileTooLarge
from jenny.workspace.files import Workspace
from jenny.workspace.texts import EditConflict


def test_what_somebody_else_wrote_stays(root: Path, workspace: Workspace) -> None:
    """Both are given beside each other, with the version to save over; so is a file that went."""
    assert texts.save_edited_text(workspace, "a.md", "one\r\n", "", most=100) is True
    opened = workspace.read("a.md").version
    assert (root / "a.md").read_bytes() == b"one\n"
    (root / "a.md").write_bytes(b"theirs\n")
    found = texts.save_edited_text(workspace, "a.md", "mine\r\n", opened, most=100)
    assert isinstance(found, EditConflict)
    assert (found.kind, found.version) == ("changed", workspace.read("a.md").version)
    assert [(row.kind, row.text) for row in found.difference.lines] == [
        ("went", "theirs"),
        ("came", "mine"),
    ]
    assert (root / "a.md").read_bytes() == b"theirs\n"
    assert texts.save_edited_text(workspace, "a.md", "mine\r\n", found.version, most=100) is True
    (root / "a.md").unlink()
    gone = texts.save_edited_text(workspace, "a.md", "again", found.version, most=100)
    assert isinstance(gone, EditConflict)
    assert (gone.kind, gone.version) == ("gone", "")
    assert not (root / "a.md").exists()


def test_line_ends_alone_are_no_change(root: Path, workspace: Workspace) -> None:
    """A form sends other line ends than the file has: that alone writes nothing."""
    (root / "a.md").write_bytes(b"one\r\ntwo\n")
    version = workspace.read("a.md").version
    assert texts.save_edited_text(workspace, "a.md", "one\r\ntwo\r\n", version, most=100) is False
    assert (root / "a.md").read_bytes() == b"one\r\ntwo\n"


def test_too_much_is_refused(root: Path, workspace: Workspace) -> None:
    """With the most that may be, and nothing is written."""
    with pytest.raises(FileTooLarge, match="larger than 10 bytes"):
        texts.save_edited_text(workspace, "a.md", "x" * 11, "", most=10)
    assert not (root / "a.md").exists()
