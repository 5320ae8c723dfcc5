"""Real processes: killed at every step, at work at the same time, and many times over."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jenny.workspace.errors import LockTimeout
from jenny.workspace.locks import Level, hold
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import plan_undo, undo
from tests.support.waiting import wait_until

PROJECT = Path(__file__).parents[3]
EDITS = "chore: memory edits made outside a Dream run"


def run(*arguments: object) -> subprocess.Popen[str]:
    """A process of its own."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(folder: Path, act: str) -> list[dict]:
    """What was left each time, after the next start."""
    process = run("-m", "tests.workspace.versions.killed", folder, act)
    out, err = process.communicate()
    assert process.returncode == 0, err
    left = [json.loads(line) for line in out.splitlines()]
    assert left[-1]["through"]
    for row in left:
        assert row["fsck"] == "0", row
        assert row["locks"] == [], row
        left_by_files = (".jenny-", ".history.lock")  # the files' own, as ``test_kills`` holds them
        beside = [name for name in row["beside"] if not name.startswith(left_by_files)]
        assert sorted(beside) == [".dream_cursor", ".git"], row
    return left


def test_making_versions_killed_at_every_step(tmp_path):
    """Whenever the process dies, each change is in one version, of whom it was, once (21)."""
    left = killed(tmp_path, "record")
    assert len(left) > 8
    for row in left:
        assert row["files"] == left[0]["files"]
        assert [tuple(each) for each in row["log"][-3:]] == [
            (EDITS, "browser"),
            (EDITS, "chat"),
            (EDITS, "outside"),
        ], row
        assert len(row["log"]) == len(left[0]["log"])


def test_the_first_version_killed_at_every_step(tmp_path):
    """A store is there whole or not at all."""
    left = killed(tmp_path, "first")
    assert len(left) > 12
    for row in left:
        assert row["log"][0][0] == "init: first version of the memory files"
        assert not [name for name in row["beside"] if name.startswith(".jenny-")]
        assert row["files"] == left[0]["files"]


BEFORE = {
    "USER.md": "# User\n- dream\n",
    "skills/a/SKILL.md": "how\n",
    "memory/.dream_cursor": "5\n",
}
AFTER = {"USER.md": "# User\n", "memory/.dream_cursor": "0\n"}


def test_an_undo_killed_at_every_step(tmp_path):
    """21: it has happened wholly, with its version, or not at all; then it can be done again."""
    left = killed(tmp_path, "take_back")
    assert len(left) > 30
    turned = []
    for row in left:
        files = {path: text for path, text in row["files"].items() if path != "SOUL.md"}
        assert files in (BEFORE, AFTER), row
        assert row["files"]["SOUL.md"] == "# Soul\n- chat\n- outside\n"
        restores = [subject for subject, _ in row["log"] if subject.startswith("restore: undo ")]
        assert len(restores) == (files == AFTER), row
        assert len(row["log"]) == len(left[0]["log"]) + len(restores)
        turned.append(files == AFTER)
    assert turned == sorted(turned)
    assert 5 < turned.index(True) < len(turned) - 5


def test_processes_that_make_versions_at_once_lose_none(root, git):
    """Three processes and two threads: every write is in a version of its writer, none is lost."""
    commit_pending(root)
    kinds = ["chat", "browser", "command"]
    processes = [
        run("-m", "tests.workspace.versions.killed", "write", root, kind, 15) for kind in kinds
    ]
    threads = [threading.Thread(target=commit_many, args=(root,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    for thread in threads:
        thread.join()
    with open_history(root) as history:
        for kind in kinds:
            path = f"skills/{kind}/SKILL.md"
            rows = history.log(path=path, limit=100)
            assert {row.actor for row in rows} == {kind}
            states = [history.file_as_of(path, row.sha) for row in rows]
            assert states == [b"%d\n" % number for number in range(15)][::-1]
    assert git("rev-list", "--count", "main").strip() == "46"


def commit_many(root: Path) -> None:
    """Make versions of whatever is there, again and again."""
    for _ in range(10):
        commit_pending(root)


def test_versions_wait_for_who_holds_the_workspace(root, dream):
    """20: while somebody else is at work in the workspace an undo waits, and then happens."""
    sha = dream.run({"USER.md": b"A\n"})
    holder = run("-m", "tests.workspace.act", "hold", root, "WORKSPACE")
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert plan_undo(root, sha).steps  # looking needs no lock
        with pytest.raises(LockTimeout), hold(root, Level.WORKSPACE, timeout=0.1):
            pass
        thread = threading.Thread(target=undo, args=(root, sha))
        thread.start()
        wait_until((root / ".jenny" / "workspace.next").exists, what="the waiting undo")
        assert (root / "USER.md").read_bytes() == b"A\n"
        holder.communicate("")
        thread.join(60)
    assert (root / "USER.md").read_bytes() == b"# User\n"


def test_many_calls_leave_open_files_and_children_where_they_were(root, dream):
    """Five hundred calls in one process: commits, logs, plans, differences, blames, undos."""
    sha = dream.run({"USER.md": b"A\n"})

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    # Instances that other tests share are children, too.
    before, children_before = open_files(), children()
    for number in range(125):
        (root / "SOUL.md").write_bytes(b"%d\n" % number)
        commit_pending(root)
        with open_history(root) as history:
            history.log(limit=5)
            history.blame("SOUL.md")
            history.changes(history.resolve(sha[:8]))
        plan_undo(root, sha)
    undo(root, sha)
    assert open_files() == before
    assert children() <= children_before
    maps = Path("/proc/self/maps").read_text()
    assert str(root) not in maps
