"""What a workspace's folders are said to hold."""

import os
from pathlib import Path

import pytest

from jenny.workspace.errors import FileMissing, PathRefused
from jenny.workspace.files import Workspace


def test_folders_come_first_and_bookkeeping_never(root: Path, workspace: Workspace) -> None:
    """A listing is in a fixed order and shows nothing of locks and temporary files."""
    for path in ("b.md", "a.md", "z/c.md", ".hidden"):
        workspace.write(path, b"x")
    (root / ".jenny-0.tmp").write_text("left over")
    assert [(entry.name, entry.kind) for entry in workspace.list()] == [
        ("z", "folder"),
        (".hidden", "file"),
        ("a.md", "file"),
        ("b.md", "file"),
    ]
    assert workspace.list("z")[0].path == "z/c.md"
    assert workspace.list("z")[0].size == 1
    with pytest.raises(FileMissing):
        workspace.list("nowhere")
    with pytest.raises(PathRefused, match="a file, not a folder"):
        workspace.list("a.md")


def test_a_walk_names_links_and_follows_none(root: Path, workspace: Workspace) -> None:
    """Neither a link out nor a link in a circle is walked; git's folders are left out."""
    workspace.write("notes/deep/a.md", b"x")
    (root / "out").symlink_to("/etc")
    (root / "notes" / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    (root / "memory" / ".git").mkdir(parents=True)
    (root / "memory" / ".git" / "config").write_text("x")
    assert [(entry.path, entry.kind) for entry in workspace.walk()] == [
        ("memory", "folder"),
        ("notes", "folder"),
        ("notes/deep", "folder"),
        ("notes/deep/a.md", "file"),
        ("notes/up", "link"),
        ("out", "link"),
        ("pipe", "other"),
    ]
    assert next(workspace.walk("notes")).path == "notes/deep"
