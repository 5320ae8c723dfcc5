"""Files kept in memory are as fresh as the disk."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from jenny.workspace.content import MAX_TEXT_BYTES, Reading
from jenny.workspace.file_cache import StampedFile, StampedFolder


class Counted:
    """Counts how often a file's text was worked on."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def file(self, reading: Reading) -> str:
        """What a file gives."""
        self.readings.append(reading)
        return reading.text or reading.problem or ("missing" if reading.is_missing else "")

    def child(self, name: str, reading: Reading) -> str | None:
        """What a folder's child gives."""
        self.readings.append(reading)
        if reading.is_missing and name.startswith("skip"):
            return None
        return f"{name}={reading.text or reading.problem}"


@pytest.fixture
def counted() -> Counted:
    """A counter."""
    return Counted()


def settle() -> None:
    """Wait until files just made are older than a tick of the file system's clock."""
    until = time.time_ns() + 60_000_000
    while time.time_ns() < until:
        time.sleep(0.005)


def write(path: Path, text: str) -> None:
    """Make a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_file_is_read_once_while_nothing_changes(root: Path, counted: Counted) -> None:
    """A prompt costs no reading of what is known."""
    write(root / "a.md", "one")
    settle()
    file = StampedFile("a.md", counted.file)
    assert [file.read(root) for _ in range(5)] == ["one"] * 5
    assert len(counted.readings) == 1


def test_every_change_of_a_file_is_seen(root: Path, counted: Counted) -> None:
    """PRO3: edited in place, replaced, taken away and put back."""
    path = root / "a.md"
    file = StampedFile("a.md", counted.file)
    assert file.read(root) == "missing"
    write(path, "one")
    assert file.read(root) == "one"
    settle()
    file.read(root)
    write(path, "two")
    assert file.read(root) == "two"
    other = root / "b.md"
    write(other, "six")
    other.replace(path)
    assert file.read(root) == "six"
    path.unlink()
    assert file.read(root) == "missing"


def test_edits_of_the_same_size_within_a_tick_are_seen(root: Path, counted: Counted) -> None:
    """A stamp that cannot tell two writes apart is not believed."""
    path = root / "a.md"
    file = StampedFile("a.md", counted.file)
    for number in range(300):
        text = f"{number:03}"
        with path.open("w") as opened:
            opened.write(text)
        assert file.read(root) == text


def test_an_edit_that_hides_its_time_is_seen(root: Path, counted: Counted) -> None:
    """Programs that copy set a file's time back; the time of the change itself they cannot."""
    path = root / "a.md"
    write(path, "one")
    settle()
    file = StampedFile("a.md", counted.file)
    file.read(root)
    before = path.stat()
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.read(root) == "two"


def test_what_is_no_readable_text_is_said(root: Path, counted: Counted) -> None:
    """Bad bytes, too many of them, folders, pipes and links out give a sentence each."""
    (root / "bad.md").write_bytes(b"ok \xff")
    (root / "big.md").write_bytes(b"x" * (MAX_TEXT_BYTES + 1))
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    (root / "out.md").symlink_to(root.parent / "workspace_evil" / "secret.md")
    (root / "loop.md").symlink_to("loop.md")
    said = {
        name: StampedFile(f"{name}.md", counted.file).read(root)
        for name in ("bad", "big", "folder", "pipe", "out", "loop")
    }
    assert said["bad"].startswith("bad.md is not UTF-8 text (byte 4)")
    assert "1,000,001 bytes" in said["big"]
    assert "is a folder" in said["folder"]
    assert "is no plain file" in said["pipe"]
    assert "leads out of the workspace" in said["out"]
    assert "cannot be read" in said["loop"]


def test_a_file_without_permission_is_said(root: Path, counted: Counted) -> None:
    """The reason is given, and nothing breaks."""
    write(root / "a.md", "one")
    (root / "a.md").chmod(0)
    said = StampedFile("a.md", counted.file).read(root)
    # The superuser reads it all the same.
    assert said == "one" if os.geteuid() == 0 else "cannot be read" in said


def test_a_link_inside_the_workspace_is_followed_and_watched(root: Path, counted: Counted) -> None:
    """Whoever keeps a file elsewhere in the workspace may."""
    write(root / "real.md", "one")
    (root / "a.md").symlink_to("real.md")
    settle()
    file = StampedFile("a.md", counted.file)
    assert file.read(root) == "one"
    write(root / "real.md", "two")
    assert file.read(root) == "two"


def test_marks_and_line_ends_are_taken_out_of_the_text_only(root: Path, counted: Counted) -> None:
    """The text is as people read it, the bytes as they are on disk."""
    (root / "a.md").write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert StampedFile("a.md", counted.file).read(root) == "a\nb\nc"
    assert counted.readings[0].data == b"\xef\xbb\xbfa\r\nb\rc"


def joined(values: Sequence[str]) -> str:
    """The values of a folder."""
    return " ".join(values)


@pytest.fixture
def folder(counted: Counted) -> StampedFolder[str, str]:
    """The AGENTS.md of every folder in wikis/."""
    return StampedFolder("wikis", "AGENTS.md", counted.child, joined)


def test_a_folder_is_read_once_while_nothing_changes(
    root: Path, counted: Counted, folder: StampedFolder[str, str]
) -> None:
    """Hundreds of skills cost no reading, in order of their names."""
    write(root / "wikis/b/AGENTS.md", "B")
    write(root / "wikis/a/AGENTS.md", "A")
    (root / "wikis/c").mkdir()
    (root / "wikis/.hidden").mkdir()
    write(root / "wikis/file.md", "no folder")
    settle()
    assert [folder.read(root) for _ in range(4)] == ["a=A b=B c="] * 4
    assert len(counted.readings) == 3


def test_every_change_in_a_folder_is_seen(
    root: Path, counted: Counted, folder: StampedFolder[str, str]
) -> None:
    """New, edited, renamed, removed: the next prompt has it, and only what changed is read."""
    assert folder.read(root) == ""
    write(root / "wikis/a/AGENTS.md", "A")
    write(root / "wikis/b/AGENTS.md", "B")
    assert folder.read(root) == "a=A b=B"
    settle()
    folder.read(root)
    counted.readings.clear()
    write(root / "wikis/a/AGENTS.md", "Z")
    assert folder.read(root) == "a=Z b=B"
    assert [reading.path for reading in counted.readings] == ["wikis/a/AGENTS.md"]
    (root / "wikis/c").mkdir()
    assert folder.read(root) == "a=Z b=B c="
    settle()
    folder.read(root)
    write(root / "wikis/c/AGENTS.md", "C")
    assert folder.read(root) == "a=Z b=B c=C"
    (root / "wikis/b").rename(root / "wikis/d")
    assert folder.read(root) == "a=Z c=C d=B"
    (root / "wikis/d/AGENTS.md").unlink()
    assert folder.read(root) == "a=Z c=C d="


def test_edits_in_a_folder_within_a_tick_are_seen(
    root: Path, folder: StampedFolder[str, str]
) -> None:
    """Also in place, and of the same size."""
    path = root / "wikis/a/AGENTS.md"
    path.parent.mkdir(parents=True)
    for number in range(200):
        with path.open("w") as opened:
            opened.write(f"{number:03}")
        assert folder.read(root) == f"a={number:03}"


def test_links_out_of_the_workspace_are_not_followed(
    root: Path, folder: StampedFolder[str, str]
) -> None:
    """AUT4: neither a child nor its file nor the folder itself leads outside."""
    outside = root.parent / "workspace_evil"
    write(outside / "AGENTS.md", "secret")
    write(root / "wikis/b/x", "")
    (root / "wikis/a").symlink_to(outside)
    (root / "wikis/b/AGENTS.md").symlink_to(outside / "AGENTS.md")
    said = folder.read(root)
    assert "secret" not in said
    assert said.count("leads out of the workspace") == 2
    other = root.parent / "other"
    other.mkdir()
    (other / "wikis").symlink_to(outside.parent / "workspace")
    assert folder.read(other) == ""


def test_links_inside_the_workspace_are_followed(
    root: Path, folder: StampedFolder[str, str]
) -> None:
    """A folder may be kept elsewhere in the workspace."""
    write(root / "kept/a/AGENTS.md", "A")
    (root / "wikis").symlink_to("kept")
    assert folder.read(root) == "a=A"
    write(root / "kept/a/AGENTS.md", "B")
    assert folder.read(root) == "a=B"


def test_a_child_may_be_left_out(root: Path, folder: StampedFolder[str, str]) -> None:
    """Whoever reads the folder decides what counts."""
    (root / "wikis/skip").mkdir(parents=True)
    write(root / "wikis/a/AGENTS.md", "A")
    assert folder.read(root) == "a=A"


def test_workspaces_are_kept_apart(root: Path, folder: StampedFolder[str, str]) -> None:
    """One workspace's files are never in another's prompt."""
    other = root.parent / "other"
    write(root / "wikis/a/AGENTS.md", "A")
    write(other / "wikis/b/AGENTS.md", "B")
    assert [folder.read(root), folder.read(other), folder.read(root)] == ["a=A", "b=B", "a=A"]
