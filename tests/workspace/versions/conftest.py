"""A workspace whose writes are noted, and git to look at its versions with."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jenny.workspace import write_rules
from jenny.workspace.files import Actor, Workspace, open_workspace, register_rule
from jenny.workspace.versions import commits, undo
from jenny.workspace.versions.commits import (
    Recorded,
    RunNote,
    begin_run,
    commit_pending,
    commit_run,
)

CLEAN = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes are noted, as they are once the apps are loaded; no rule of the memory asks."""
    for table in ("_checking", "_acting", "_acting_on_acts", "_companions"):
        monkeypatch.setattr(write_rules, table, {})
    monkeypatch.setattr(commits, "_listeners", {})
    monkeypatch.setattr(undo, "_filters", {})
    register_rule(commits.log_write, acts=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the memory files."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_bytes(b"# Soul\n")
    (folder / "USER.md").write_bytes(b"# User\n")
    (folder / "memory" / "MEMORY.md").write_bytes(b"# Memory\n- one\n- two\n- three\n")
    return folder


@pytest.fixture
def by(root: Path) -> Callable[..., Workspace]:
    """The workspace, opened by an actor of a kind."""

    def opened(kind: str, run: str = "") -> Workspace:
        return open_workspace(root, Actor(kind, run=run))

    return opened


def git_in(root: Path, *words: str) -> str:
    """What the real git says of the workspace's versions."""
    done = subprocess.run(
        ["git", f"--git-dir={root / 'memory' / '.git'}", *words],
        env=CLEAN,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.fixture
def git(root: Path) -> Iterator[Callable[..., str]]:
    """Git, which finds no fault with the store in the end."""

    def ask(*words: str) -> str:
        return git_in(root, *words)

    yield ask
    if (root / "memory" / ".git").is_dir():
        assert git_in(root, "fsck", "--strict", "--full", "--no-dangling").strip() == ""


class Dreamer:
    """Dream, as far as versions see it: runs that write files and move the cursor."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cursor = 0
        self.runs = 0

    def begin(self) -> RunNote:
        """Begin a run."""
        self.runs += 1
        note = RunNote(f"dream:{self.runs}", "dream: scheduled run", (self.cursor, None))
        begin_run(self.root, note)
        return note

    def write(self, note: RunNote, path: str, data: bytes | None) -> None:
        """Write in a run."""
        workspace = open_workspace(self.root, Actor("dream", run=note.run))
        if data is None:
            workspace.delete(path)
        else:
            workspace.write(path, data)

    def end(self, note: RunNote, entries: int = 5) -> Recorded:
        """End the run, with the cursor moved by so many entries."""
        before = self.cursor
        if entries:
            self.cursor += entries
            open_workspace(self.root, Actor("pipeline", run=note.run)).write(
                "memory/.dream_cursor", b"%d\n" % self.cursor
            )
        return commit_run(self.root, RunNote(note.run, note.subject, (before, self.cursor)))

    def run(self, files: dict[str, bytes | None], entries: int = 5) -> str:
        """A whole run; its version's id."""
        note = self.begin()
        for path, data in files.items():
            self.write(note, path, data)
        made = self.end(note, entries).versions
        return made[-1].sha


@pytest.fixture
def dream(root: Path) -> Dreamer:
    """Dream, after the first version was made."""
    commit_pending(root)
    return Dreamer(root)
