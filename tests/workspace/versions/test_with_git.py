"""What a person sees who looks at the versions with git, and a repository of theirs there."""

import subprocess
from pathlib import Path

import pytest

from jenny.workspace import check
from jenny.workspace.errors import VersionsOff
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits as versions_check
from jenny.workspace.versions.commits import commit_pending, reading


def git(folder: Path, *words: str) -> str:
    """What git says there."""
    who = ("-c", "user.name=Person", "-c", "user.email=person@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with memory files and others."""
    root = tmp_path / "space"
    (root / "memory").mkdir(parents=True)
    (root / "memory/MEMORY.md").write_text("# Memory\n\n- Bees\n")
    (root / "memory/USER.md").write_text("# User\n")
    (root / "skills/plant").mkdir(parents=True)
    (root / "skills/plant/SKILL.md").write_text("---\nname: plant\n---\nWater.\n")
    (root / "notes.md").write_text("not tracked\n")
    return root


def test_git_sees_a_clean_tree(root: Path) -> None:
    """After each version nothing is deleted, changed or unknown; what a hand changes is named until
    it has a version. A store that was made without an index gets one."""
    commit_pending(root)
    memory = root / "memory"
    assert git(memory, "status", "--porcelain") == ""
    (memory / "MEMORY.md").write_text("# Memory\n\n- Bees\n- Hive\n")
    assert git(memory, "status", "--porcelain") == " M memory/MEMORY.md\n"
    (root / "skills/plant/SKILL.md").unlink()
    commit_pending(root)
    assert git(memory, "status", "--porcelain") == ""
    assert git(memory, "fsck", "--strict") == ""
    (memory / ".git/index").unlink()
    commit_pending(root)
    assert git(memory, "status", "--porcelain") == ""


def test_an_index_that_git_holds_is_left_to_it(root: Path) -> None:
    """A version is made all the same, and the index follows with the next one."""
    commit_pending(root)
    lock = root / "memory/.git/index.lock"
    lock.touch()
    (root / "memory/MEMORY.md").write_text("# Memory\n\n- One\n")
    assert commit_pending(root).versions
    lock.unlink(missing_ok=True)
    (root / "memory/MEMORY.md").write_text("# Memory\n\n- Two\n")
    assert commit_pending(root).versions
    assert git(root / "memory", "status", "--porcelain") == ""


@pytest.mark.parametrize("branch", ["main", "master", "trunk"])
def test_a_repository_of_a_persons_is_left_alone(root: Path, branch: str) -> None:
    """Its branch, commits, remotes and configuration stay to the last byte; writing goes on, and
    the check says that no versions are kept."""
    memory = root / "memory"
    git(memory, "init", "-q", "-b", branch)
    git(memory, "add", "MEMORY.md")
    git(memory, "commit", "-q", "-m", "mine")
    git(memory, "remote", "add", "origin", "https://example.org/mine.git")
    before = {path: path.read_bytes() for path in (memory / ".git").rglob("*") if path.is_file()}
    open_workspace(root, Actor("chat")).write("memory/USER.md", b"# User\n\n- Ana\n")
    with pytest.raises(VersionsOff, match="left alone"):
        commit_pending(root)
    with pytest.raises(VersionsOff, match="left alone"), reading(root):
        pass
    after = {path: path.read_bytes() for path in (memory / ".git").rglob("*") if path.is_file()}
    assert after == before
    check.register_check(versions_check.check_versions)
    found = [row for row in check.check_workspace(root) if row.path == "memory/.git"]
    assert any("Jenny did not make" in row.message for row in found)
    assert git(memory, "log", "--format=%s") == "mine\n"
    (memory / ".git").rename(root.parent / "moved")
    assert commit_pending(root).versions


def test_a_remote_makes_the_store_nobody_elses(root: Path) -> None:
    """Who adds a remote to Jenny's own store keeps getting versions in it."""
    commit_pending(root)
    git(root / "memory", "remote", "add", "origin", "https://example.org/mine.git")
    (root / "memory/MEMORY.md").write_text("# Memory\n\n- Two\n")
    assert commit_pending(root).versions
