"""A workspace, its store, and a clock that stands still until it is moved."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Outcome, Snapshot

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a few files, written long enough ago to be remembered by their stamps."""
    folder = tmp_path / "workspace"
    put(folder, "USER.md", b"# User\n")
    put(folder, "memory/MEMORY.md", b"one\r\ntwo\r\n")
    put(folder, "skills/tax/SKILL.md", b"---\ndescription: x\n---\n")
    put(folder, "uploads/picture.png", os.urandom(5000))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The store of its snapshots, not made yet."""
    return Store(tmp_path / "snapshots" / "one.git")


class Clock:
    """A time that is moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def move(self, **by: float) -> datetime:
        """Move it; the new time."""
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The tests' time."""
    return Clock()


@pytest.fixture
def take(store: Store, root: Path, clock: Clock) -> Callable[..., Outcome]:
    """Take a snapshot by the tests' clock."""

    def taken(trigger: str = "manual", **options: object) -> Outcome:
        return create(store, root, trigger, now=clock.now, **options)

    return taken


def put(root: Path, path: str | bytes, data: bytes, *, age: float = 60) -> None:
    """Write a file as a program outside would, *age* seconds ago by its own time."""
    target = root / os.fsdecode(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    then = time.time() - age
    os.utime(target, (then, then))


def contents(store: Store, shot: Snapshot) -> dict[str, bytes]:
    """Every file of a snapshot, read through the store."""
    with store.open() as repo:
        return {
            row.path: b"".join(reader.read_content(repo, row))
            for row in reader.list_files(repo, shot)
            if not row.is_folder
        }


def on_disk(root: Path) -> dict[str, bytes]:
    """Every plain file of a workspace but the layer's own, read without the layer."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".jenny", ".git")]
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink() and path.is_file() and path.name != ".history.lock":
                found[str(path.relative_to(root))] = path.read_bytes()
    return found


def numbers(store: Store) -> list[int]:
    """The numbers of the snapshots that are listed, newest first."""
    return [shot.number for shot in reader.list_snapshots(store)]


def git(store: Store, *words: str) -> str:
    """What real git says about the store; fails where git does."""
    assert shutil.which("git"), "git is needed"
    done = subprocess.run(
        ["git", "-C", store.path, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def fsck(store: Store) -> None:
    """Real git finds nothing wrong."""
    said = git(store, "fsck", "--strict", "--full", "--no-dangling")
    assert [line for line in said.splitlines() if not line.startswith("notice: ")] == []
