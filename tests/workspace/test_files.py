"""Reading and writing a workspace's files."""

import hashlib
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    NotText,
    PathRefused,
    VersionMismatch,
    WriteRefused,
)
from jenny.workspace.files import ANY, Actor, Workspace, open_workspace


def test_a_file_is_written_and_read_with_its_version(workspace: Workspace) -> None:
    """The version is the content's digest, so that equal contents are equal versions."""
    written = workspace.write("notes/a.md", "žluť".encode(), expect=None)
    read = workspace.read("notes/a.md")
    assert read == written
    assert read.text == "žluť"
    assert read.version == hashlib.sha256("žluť".encode()).hexdigest()


def test_a_missing_workspace_is_said_to_be_missing(tmp_path: Path) -> None:
    """Nothing is made by opening, so that a slip in a path makes no workspace."""
    with pytest.raises(FileMissing, match="no workspace folder"):
        open_workspace(tmp_path / "nowhere", Actor("chat"))
    assert not (tmp_path / "nowhere").exists()


def test_large_and_binary_files_are_named_as_such(workspace: Workspace) -> None:
    """Reading is bounded; bytes that are no text are not mangled into some."""
    workspace.write("big.txt", b"x" * 1_000_001)
    with pytest.raises(FileTooLarge, match="1,000,001 bytes; at most 1,000,000"):
        workspace.read("big.txt")
    assert len(workspace.read("big.txt", limit=2_000_000).data) == 1_000_001
    workspace.write("latin.txt", "caf\xe9".encode("latin-1"))
    with pytest.raises(NotText, match="not a text file"):
        _ = workspace.read("latin.txt").text
    with pytest.raises(FileTooLarge, match="Nothing was written"):
        workspace.write("huge.bin", bytes(32_000_001))


def test_a_write_based_on_an_older_version_is_refused(workspace: Workspace) -> None:
    """What somebody else wrote meanwhile stays, and the refusal carries it."""
    first = workspace.write("a.md", b"one")
    workspace.write("a.md", b"two")
    with pytest.raises(VersionMismatch, match="has changed since it was read") as refused:
        workspace.write("a.md", b"mine", expect=first.version)
    assert refused.value.current is not None
    assert refused.value.current.data == b"two"
    workspace.delete("a.md")
    with pytest.raises(VersionMismatch, match="has been removed") as refused:
        workspace.write("a.md", b"mine", expect=first.version)
    assert refused.value.current is None
    workspace.write("a.md", b"new", expect=None)
    with pytest.raises(VersionMismatch, match="exists already"):
        workspace.write("a.md", b"newer", expect=None)
    with pytest.raises(VersionMismatch):
        workspace.delete("a.md", expect=first.version)
    assert workspace.read("a.md").text == "new"
    assert workspace.write("a.md", b"any", expect=ANY).data == b"any"


def test_an_edit_starts_from_what_is_on_disk(root: Path, workspace: Workspace) -> None:
    """Read-modify-write sees the newest text; equal text is not written again."""
    workspace.write("a.md", b"one")
    (root / "a.md").write_bytes(b"by hand")
    edited = workspace.edit("a.md", lambda old: (old or b"") + b", and more")
    assert edited is not None
    assert edited.data == b"by hand, and more"
    before = (root / "a.md").stat()
    assert workspace.edit("a.md", lambda old: old) == edited
    assert (root / "a.md").stat().st_ino == before.st_ino
    assert workspace.edit("a.md", lambda _old: None) is None
    assert workspace.edit("none.md", lambda _old: None) is None
    assert not workspace.exists("a.md")


def test_permissions_are_kept(root: Path, workspace: Workspace) -> None:
    """A private file stays private, a shared one shared."""
    workspace.write("a.md", b"one")
    for mode in (0o600, 0o664):
        (root / "a.md").chmod(mode)
        workspace.write("a.md", f"{mode}".encode())
        assert (root / "a.md").stat().st_mode & 0o777 == mode


def test_a_failed_write_leaves_the_old_file_and_no_litter(root: Path) -> None:
    """The disk's refusal becomes a sentence; the file is as it was, nothing lies about."""
    open_workspace(root, Actor("pipeline")).write("a.md", b"old")
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from jenny.workspace.files import Actor, open_workspace\n"
        "from jenny.workspace.errors import WriteFailed\n"
        "workspace = open_workspace(Path(sys.argv[1]), Actor('pipeline'))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "for act in (lambda: workspace.write('a.md', bytes(5000)),\n"
        "            lambda: workspace.write_many({'b.md': b'b', 'a.md': bytes(5000)})):\n"
        "    try: act()\n"
        "    except WriteFailed as error: print(error.message)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, root], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(told) == 2
    assert told[0].endswith("It is as it was before.")
    assert told[1].endswith("None of them was changed.")
    assert all("larger than this system allows" in message for message in told)
    assert (root / "a.md").read_bytes() == b"old"
    assert [path.name for path in root.iterdir() if path.is_file()] == ["a.md"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_several_files_are_written_as_one_act(root: Path, workspace: Workspace) -> None:
    """All land or none: one stale version, refused path or bad name stops all of them."""
    first = workspace.write("a.md", b"a")
    workspace.write("gone.md", b"g")
    result = workspace.write_many(
        {"new/b.md": b"b", "a.md": b"a2", "gone.md": None},
        expect={"a.md": first.version, "new/b.md": None},
    )
    assert {path: row and row.data for path, row in result.items()} == {
        "new/b.md": b"b",
        "a.md": b"a2",
        "gone.md": None,
    }
    assert not workspace.exists("gone.md")
    before = {path.name: path.read_bytes() for path in root.rglob("*.md")}
    for files, expect in (
        ({"c.md": b"c", "a.md": b"x"}, {"a.md": first.version}),
        ({"c.md": b"c"}, {"a.md": first.version}),
        ({"c.md": b"c", "../out.md": b"x"}, {}),
        ({"c.md": b"c", "c.md/d.md": b"x"}, {}),
        ({"c.md": b"c", "config.json": b"{}"}, {}),
    ):
        with pytest.raises((VersionMismatch, PathRefused, WriteRefused)):
            workspace.write_many(files, expect=expect)
    assert {path.name: path.read_bytes() for path in root.rglob("*.md")} == before
    assert workspace.write_many({}) == {}


@pytest.mark.parametrize("kind", ["chat", "dream", "browser", "setup", "restore"])
def test_settings_are_written_by_their_funnel_alone(workspace: Workspace, kind: str) -> None:
    """``config.json`` cannot be replaced past the checks, in whatever spelling."""
    writer = open_workspace(workspace.root, Actor(kind))
    for path in ("config.json", "CONFIG.json", "config.json.bak", "./config.json"):
        with pytest.raises(WriteRefused, match="changed in Settings") as refused:
            writer.write(path, b"{}")
        assert refused.value.rule == "settings"
