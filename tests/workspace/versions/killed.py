"""Run in processes of their own by the tests: making and undoing versions, killed at a moment.

``killed.py FOLDER ACT [FIRST LAST]``: for n = 1, 2, … a fresh copy of the starting state is made,
and a process does ACT and is killed with SIGKILL right before its n-th step that reaches the disk;
then another one does what the next start does. One line of JSON each time: what was left.

``killed.py write FOLDER KIND TIMES``: write a line and make versions of it, TIMES times.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jenny.workspace.files import Actor, open_workspace, register_rule
from jenny.workspace.versions import commits
from jenny.workspace.versions.commits import RunNote, begin_run, commit_pending, commit_run
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import undo
from tests.support import dying

STEPS = ("fsync", "rename", "unlink", "mkdir", "link")
CURSOR = "memory/.dream_cursor"
CLEAN = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


def by(root: Path, kind: str, path: str, data: bytes | None, run: str = "") -> None:
    """Write as somebody."""
    workspace = open_workspace(root, Actor(kind, run=run))
    if data is None:
        workspace.delete(path)
    else:
        workspace.write(path, data)


def start(root: Path) -> None:
    """A run of Dream, then edits by the chat and outside that have no version yet."""
    root.mkdir()
    by(root, "setup", "USER.md", b"# User\n")
    by(root, "setup", "SOUL.md", b"# Soul\n")
    begin_run(root, RunNote("dream:1", "dream: scheduled run", (0, None)))
    by(root, "dream", "USER.md", b"# User\n- dream\n", "dream:1")
    by(root, "dream", "skills/a/SKILL.md", b"how\n", "dream:1")
    by(root, "pipeline", CURSOR, b"5\n", "dream:1")
    for number in range(5):  # so that packs are to be joined soon
        commit_run(root, RunNote("dream:1", "dream: scheduled run", (0, 5)))
        by(root, "browser", "SOUL.md", b"# Soul %d\n" % number)
        commit_pending(root)
    by(root, "chat", "SOUL.md", b"# Soul\n- chat\n", "turn:1")
    (root / "SOUL.md").write_bytes(b"# Soul\n- chat\n- outside\n")


def record(root: Path) -> None:
    """Make versions of what is pending."""
    commit_pending(root)


def first(root: Path) -> None:
    """Make the very first version (there is no store: see ``main``)."""
    commit_pending(root)


def take_back(root: Path) -> None:
    """Undo Dream's run."""
    with open_history(root) as history:
        (run,) = history.log(kinds=("dream",))
    undo(root, run.sha)


def reopen(root: Path) -> None:
    """What the next start does."""
    open_workspace(root, Actor("pipeline"))
    commit_pending(root)


def state(root: Path) -> dict:
    """What is left, as real git and the disk say."""
    git = ["git", f"--git-dir={root}/memory/.git"]
    fsck = subprocess.run(
        [*git, "fsck", "--strict", "--full", "--no-dangling"],
        env=CLEAN,
        capture_output=True,
        text=True,
        check=False,
    )
    log = subprocess.run(
        [*git, "log", "--reverse", "--format=%s|%(trailers:key=x)%b%x00"],
        env=CLEAN,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [row.strip() for row in log.stdout.split("\0") if row.strip()]
    files = {
        str(path.relative_to(root)): path.read_bytes().decode()
        for path in root.rglob("*")
        if path.is_file()
        and not {".git", ".jenny"} & set(path.relative_to(root).parts)
        and not path.name.endswith(
            (".tmp", ".lock")
        )  # staged by who was killed; ``check_workspace`` tells
    }
    store = root / "memory" / ".git"
    return {
        "fsck": f"{fsck.returncode}{fsck.stdout}{fsck.stderr}",
        "log": [
            (row.partition("|")[0], row.partition("Actor: ")[2].partition("\n")[0]) for row in rows
        ],
        "files": files,
        "locks": [str(path) for path in store.rglob("*.lock")],
        "beside": [path.name for path in store.parent.iterdir()],
    }


def main(folder: Path, doing: Callable[[Path], None]) -> None:
    """Kill the act at each of its steps in turn."""
    model = folder / "model"
    start(model)
    if doing is first:
        shutil.rmtree(model / "memory" / ".git")
    number, through = 0, False
    while not through:
        number += 1
        root = folder / "workspace"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(model, root)
        through = dying.in_process(partial(doing, root), number, STEPS)
        dying.in_process(partial(reopen, root))
        sys.stdout.write(json.dumps({"step": number, "through": through, **state(root)}) + "\n")
        sys.stdout.flush()


def write(root: Path, kind: str, times: int) -> None:
    """Add lines to a file of one's own and make versions, again and again."""
    for number in range(times):
        by(root, kind, f"skills/{kind}/SKILL.md", b"%d\n" % number)
        commit_pending(root)


if __name__ == "__main__":
    register_rule(commits.log_write, acts=True)
    command, *rest = sys.argv[1:]
    if command == "write":
        write(Path(rest[0]), rest[1], int(rest[2]))
    else:
        main(Path(command), globals()[rest[0]])
