"""No path, however it is written or linked, leads out of a workspace."""

import os
import socket
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace import move_copy
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.paths import real_root

OUTSIDE = [
    "..",
    "../workspace_evil/secret.md",
    "a/../../workspace_evil/secret.md",
    "a/b/../../../workspace_evil",
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "/proc/self/environ",
    "/dev/zero",
]
BAD_NAMES = [
    "a\0b",
    "\ud800.md",
    "x" * 300,
    "é" * 128,
    "a/" * 600 + "b",
    "~",
    "~/x",
    "~root/.ssh/id_rsa",
    "%2e%2e/x",
    "%2E%2E%2Fetc%2Fpasswd",
    "..%2f..%2fetc",
    "%252e%252e/x",
    "a%00.md",
    "..\\..\\x",
    "C:\\Windows",
    "c:/Windows",
    "CON",
    "con.md",
    "notes/NUL.txt",
    "LPT1",
    "com¹.txt",
    "end.",
    "end ",
    " start",
    "dots...",
    "line\nbreak",
    "tab\there",
    "gnp.\u202egpj",
    "‥/x",
    "․․/x",
    "a／b",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_lead_out_are_refused(workspace: Workspace, path: str) -> None:
    """Reading, listing and writing outside the workspace is refused with a sentence."""
    for act in (workspace.read, workspace.list, workspace.resolve):
        with pytest.raises(PathRefused, match="leads out of the workspace"):
            act(path)
    with pytest.raises(PathRefused):
        workspace.write(path, b"x")


@pytest.mark.parametrize("path", BAD_NAMES, ids=ascii)
def test_names_that_only_make_trouble_are_refused(workspace: Workspace, path: str) -> None:
    """What is no name here or elsewhere, or hides a path, is refused, and nothing is made."""
    with pytest.raises(PathRefused) as refused:
        workspace.write(path, b"x")
    assert refused.value.message.endswith("Nothing was read or written.")
    assert refused.value.message.isprintable()
    assert not [entry for entry in workspace.walk() if entry.kind == "file"]


def test_a_sibling_whose_name_begins_the_same_is_outside(root: Path, workspace: Workspace) -> None:
    """``workspace_evil`` beside ``workspace`` is not inside by its letters."""
    for path in (f"{root}_evil/secret.md", "../workspace_evil/secret.md"):
        with pytest.raises(PathRefused):
            workspace.read(path)


def test_an_absolute_path_into_the_workspace_is_taken(root: Path, workspace: Workspace) -> None:
    """A tool that names a file absolutely finds it; the answer is relative."""
    workspace.write("notes/a.md", b"a")
    assert workspace.read(f"{root}/notes/a.md").path == "notes/a.md"
    assert workspace.relative(root / "notes" / "x" / ".." / "a.md") == "notes/a.md"
    assert workspace.relative(root) == ""


def test_dots_inside_are_resolved(workspace: Workspace) -> None:
    """``./`` and ``..`` that stay inside name the file they seem to name."""
    workspace.write("notes/a.md", b"a")
    assert workspace.read("./notes//sub/../a.md").path == "notes/a.md"


def test_links_within_are_followed_and_links_out_are_not(root: Path, workspace: Workspace) -> None:
    """A link inside is its target, also for the rules; one that leads out is refused."""
    workspace.write("memory/MEMORY.md", b"m")
    (root / "in.md").symlink_to("memory/MEMORY.md")
    (root / "in_folder").symlink_to(root / "memory")
    (root / "out.md").symlink_to("../workspace_evil/secret.md")
    (root / "out_folder").symlink_to("/etc")
    (root / "chain").symlink_to("out_folder")
    (root / "dangling").symlink_to("../not/there")
    assert workspace.read("in.md").path == "memory/MEMORY.md"
    assert workspace.write("in_folder/MEMORY.md", b"n").path == "memory/MEMORY.md"
    assert (root / "in.md").is_symlink()
    for path in ("out.md", "out_folder/passwd", "chain/passwd", "chain", "dangling"):
        with pytest.raises(PathRefused, match="leads out"):
            workspace.read(path)
        with pytest.raises(PathRefused):
            workspace.write(path, b"x")
    assert (root.parent / "workspace_evil" / "secret.md").read_text() == "secret"
    assert not (root.parent / "not").exists()


def test_links_in_a_circle_are_refused(root: Path, workspace: Workspace) -> None:
    """A link to itself, or two to each other, end in a sentence and not in a loop."""
    (root / "self").symlink_to("self")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    for path in ("self", "one", "one/x"):
        with pytest.raises(PathRefused, match="circle"):
            workspace.read(path)


def test_the_workspace_may_itself_be_reached_by_a_link(root: Path, tmp_path: Path) -> None:
    """A data folder that is a link works, with paths given by either name."""
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    workspace = open_workspace(alias, Actor("pipeline"))
    workspace.write("a.md", b"a")
    assert workspace.root == root
    assert workspace.relative(alias / "a.md") == workspace.relative(root / "a.md") == "a.md"
    with pytest.raises(PathRefused):
        workspace.read(f"{alias}/../workspace_evil/secret.md")


def test_a_workspace_that_was_moved_is_found_where_its_name_leads_now(
    root: Path, tmp_path: Path
) -> None:
    """Its name is a link that leads to another folder, or becomes one: the next look sees it."""
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(root)
    other.mkdir()
    assert (real_root(link), real_root(root)) == (root, root)
    link.unlink()
    link.symlink_to(other)
    assert real_root(link) == other
    root.rename(tmp_path / "moved")
    with pytest.raises(FileMissing):
        real_root(root)
    root.symlink_to(tmp_path / "moved")
    assert real_root(root) == tmp_path / "moved"


def test_hard_links_are_read_but_not_written(root: Path, workspace: Workspace) -> None:
    """A file with a second name, perhaps outside, is never changed from here."""
    os.link(root.parent / "workspace_evil" / "secret.md", root / "hard.md")
    assert workspace.read("hard.md").text == "secret"
    for act in (
        lambda: workspace.write("hard.md", b"x"),
        lambda: workspace.delete("hard.md"),
        lambda: workspace.write_many({"ok.md": b"x", "hard.md": None}),
    ):
        with pytest.raises(PathRefused, match="hard link"):
            act()
    assert not workspace.exists("ok.md")


def test_devices_pipes_and_sockets_are_left_alone(root: Path, workspace: Workspace) -> None:
    """Nothing that is no plain file is read (it could hang) or written."""
    os.mkfifo(root / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(root / "sock"))
    server.close()
    for path in ("pipe", "sock"):
        with pytest.raises(PathRefused):
            workspace.read(path)
        with pytest.raises(PathRefused, match="no plain file"):
            workspace.write(path, b"x")


def test_folders_are_no_files(workspace: Workspace) -> None:
    """A folder is neither read nor replaced; a file is no folder on the way."""
    workspace.write("notes/a.md", b"a")
    for act in (lambda: workspace.read("notes"), lambda: workspace.write("notes", b"x")):
        with pytest.raises(PathRefused, match="is a folder"):
            act()
    with pytest.raises(PathRefused, match="which is a file"):
        workspace.write("notes/a.md/b.md", b"x")
    with pytest.raises(FileMissing):
        workspace.read("notes/a.md/b.md")
    with pytest.raises(PathRefused):
        workspace.write("", b"x")


def test_a_name_that_clashes_elsewhere_is_refused(workspace: Workspace) -> None:
    """Two names that a Mac or Windows, or a person, would take for one are never both made."""
    workspace.write("Notes/Café.md", b"one")
    workspace.write("Notes/it's 3-4.md", b"one")
    others = ("notes/Café.md", "Notes/CAFÉ.md", "NOTES/other.md", "Notes/Ｃafé.md")
    for path in (*others, "Notes/it’s 3-4.md", "Notes/it's 3‑4.md", "Notes/Ca\u00adfé.md"):
        with pytest.raises(PathRefused, match="differs only in case or look-alike signs"):
            workspace.write(path, b"two")
    with pytest.raises(FileMissing, match=r"Did you mean “Café\.md”"):
        workspace.read("Notes/café.md")
    with pytest.raises(PathRefused, match="named twice"):
        workspace.write_many({"new.md": b"1", "NEW.md": b"2"})


@pytest.mark.parametrize(("there", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_the_coding_of_a_name_is_no_difference(
    root: Path, workspace: Workspace, there: str, asked: str
) -> None:
    """A file is read, written and moved by its name in NFC as in NFD; no second one is made."""
    name = "Übung/한국어 Königin が.md"
    file = root / unicodedata.normalize(there, name)
    file.parent.mkdir()
    file.write_text("one", encoding="utf-8")
    path = unicodedata.normalize(asked, name)
    assert workspace.read(path).text == "one"
    workspace.write(path, b"two")
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == b"two"
    move_copy.move(workspace, path, "moved.md")
    assert (root / "moved.md").read_bytes() == b"two"
    assert not file.exists()


def test_what_exists_under_an_odd_name_is_still_the_persons(
    root: Path, workspace: Workspace
) -> None:
    """Names are judged when they are made; a file that is there is read and edited."""
    for name in ("aux.md", "end.", "~x", "%2e%2e", "a\\b"):
        (root / name).write_text("here", encoding="utf-8")
        assert workspace.read(name).text == "here"
        workspace.write(name, b"edited")
        assert (root / name).read_text() == "edited"


@pytest.mark.parametrize("path", [".jenny/workspace.lock", ".JENNY/x", "a/.jenny-1.tmp", ".jenny"])
def test_the_layers_own_files_are_out_of_reach(workspace: Workspace, path: str) -> None:
    """Locks, journals and temporary files are not read or written by anybody's path."""
    workspace.write("a/b.md", b"")
    with pytest.raises(PathRefused, match="bookkeeping"):
        workspace.read(path)
    with pytest.raises(PathRefused, match="bookkeeping"):
        workspace.write(path, b"x")


@pytest.mark.parametrize(
    "path",
    [
        "memory/.git/config",
        "wikis/x/.git/hooks/post-commit",
        ".git",
        ".GIT/config",
        ".g\u200cit/config",
        "git~1/config",
        ".git./config",
    ],
)
def test_git_folders_are_written_by_git_alone(workspace: Workspace, path: str) -> None:
    """A hook or a configuration would run as a program; no tool or page can place one."""
    with pytest.raises(PathRefused):
        workspace.write(path, b"#!/bin/sh\n")


def test_a_link_swapped_in_after_the_check_leads_nowhere(root: Path, workspace: Workspace) -> None:
    """Files are opened without following links, so a race gains nothing."""
    workspace.write("notes/a.md", b"a")
    resolved = workspace.resolve("notes/a.md")

    def swap(_old: bytes | None) -> bytes:
        (root / "notes").rename(root / "moved")
        (root / "notes").symlink_to("../workspace_evil")
        return b"written"

    with pytest.raises(WorkspaceError):
        workspace.edit("notes/a.md", swap)
    assert resolved.name == "a.md"
    assert [path.name for path in (root.parent / "workspace_evil").iterdir()] == ["secret.md"]


def test_must_exist(workspace: Workspace) -> None:
    """A path is resolved before its file exists, unless it is asked for."""
    assert workspace.resolve("new/file.md").name == "file.md"
    with pytest.raises(FileMissing):
        workspace.resolve("new/file.md", must_exist=True)


PIECES = st.sampled_from(
    ["..", ".", "", "a", "b.md", "out", "in", "~", "%2e%2e", "CON", "\0", "\ud800", "memory", "é"]
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.one_of(st.lists(PIECES, max_size=7).map("/".join), st.text(max_size=40)))
def test_no_path_at_all_escapes(root: Path, workspace: Workspace, path: str) -> None:
    """Whatever is asked for, the answer lies inside or is one of our errors."""
    if not (root / "out").is_symlink():
        (root / "out").symlink_to("..")
        (root / "in").symlink_to("memory")
        (root / "memory").mkdir()
    resolved = None
    try:
        resolved = workspace.resolve(path, writing=True)
    except WorkspaceError as error:
        message = error.message
    if resolved is None:
        assert message.isprintable()
    else:
        assert Path(os.path.realpath(resolved)).is_relative_to(root)
