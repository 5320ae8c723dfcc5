"""Locks between processes."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jenny.workspace import locks
from jenny.workspace.errors import FileMissing, LockOrderError, LockTimeout, WriteFailed
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.locks import LOCK_FILES, Level, hold, holds
from tests.support.waiting import wait_until

PROJECT = Path(__file__).parents[2]


def start(*arguments: object) -> subprocess.Popen[str]:
    """A process of its own (``tests.workspace.act``)."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.workspace.act", *map(str, arguments)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def held_elsewhere(root: Path, level: Level) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    with start("hold", root, level.name) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("level", Level)
def test_a_lock_held_elsewhere_is_waited_for_and_then_named(root: Path, level: Level) -> None:
    """Who cannot get the lock in time is told who has it, and that nothing was written."""
    with held_elsewhere(root, level) as process:
        with pytest.raises(LockTimeout) as refused, hold(root, level, timeout=0.1):
            pass
        assert f"process {process.pid} has held its {level.name.lower()} lock" in str(refused.value)
        assert "Nothing was written." in refused.value.message


def test_a_killed_holder_lets_go(root: Path) -> None:
    """A process that dies takes its lock with it; no repair is needed."""
    with held_elsewhere(root, Level.WORKSPACE) as process:
        process.kill()
        with hold(root, Level.WORKSPACE, timeout=60):
            assert holds(root, Level.WORKSPACE)


def test_reading_needs_no_lock(root: Path) -> None:
    """Chats go on reading while somebody holds the workspace; opening does not wait either."""
    open_workspace(root, Actor("chat")).write("a.md", b"a")
    with held_elsewhere(root, Level.WORKSPACE):
        workspace = open_workspace(root, Actor("chat"))
        assert workspace.read("a.md").text == "a"
        assert [entry.name for entry in workspace.list()] == ["a.md"]


def test_the_published_order_is_checked(root: Path) -> None:
    """Workspace → history → git; the other way round is an error at once, not a deadlock."""
    with hold(root, Level.WORKSPACE), hold(root, Level.HISTORY), hold(root, Level.GIT):
        assert holds(root, Level.GIT)
    for first, second in (
        (Level.HISTORY, Level.WORKSPACE),
        (Level.GIT, Level.HISTORY),
        (Level.GIT, Level.WORKSPACE),
    ):
        with hold(root, first), pytest.raises(LockOrderError, match="order"), hold(root, second):
            pass
        assert not holds(root, first)


def test_locks_of_two_workspaces_are_not_held_at_once(root: Path, tmp_path: Path) -> None:
    """Two processes that each want the other's workspace cannot block each other."""
    other = tmp_path / "other"
    other.mkdir()
    with hold(root, Level.WORKSPACE), pytest.raises(LockOrderError):  # noqa: SIM117
        with hold(other, Level.WORKSPACE):
            pass


def test_a_thread_may_take_its_lock_again_and_another_may_not(root: Path) -> None:
    """A rule that writes under the lock does not wait for itself; threads exclude each other."""
    told: list[str] = []

    def other() -> None:
        try:
            with hold(root, Level.WORKSPACE, timeout=0.05):
                told.append("got it")
        except LockTimeout as error:
            told.append(error.message)

    with hold(root, Level.WORKSPACE) as outermost:
        assert outermost
        with hold(root, Level.WORKSPACE) as again:
            assert not again
        assert holds(root, Level.WORKSPACE)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "another task of this process" in told[0]
    other()
    assert told[1] == "got it"


def test_a_lock_file_that_was_replaced_is_noticed(root: Path) -> None:
    """Who got the lock of a file that is no longer in the folder has locked nothing."""
    path = root / LOCK_FILES[Level.WORKSPACE]
    with held_elsewhere(root, Level.WORKSPACE) as process:
        got: list[bool] = []
        entered, leave = threading.Event(), threading.Event()

        def wait() -> None:
            with hold(root, Level.WORKSPACE):
                got.append(os.fstat(locks._mine.held[0].fd).st_ino == path.stat().st_ino)
                entered.set()
                leave.wait(60)

        waiter = threading.Thread(target=wait)
        waiter.start()
        wait_until((root / ".jenny" / "workspace.next").exists, what="a waiter")
        path.unlink()
        path.touch()
        process.kill()
        assert entered.wait(60)
        with pytest.raises(LockTimeout), hold(root, Level.WORKSPACE, timeout=0.1):
            pass
        leave.set()
        waiter.join()
    assert got == [True]


def test_a_lock_keeps_nothing_open(root: Path) -> None:
    """Between two holds no file of the workspace is open: its disk can be taken away."""
    with hold(root, Level.HISTORY):
        pass
    folder = Path("/proc/self/fd")
    assert not [fd for fd in folder.iterdir() if str(root) in os.path.realpath(fd)]


def test_who_gave_up_waiting_holds_nobody_up(root: Path) -> None:
    """The mark of somebody who waits no more, or was killed while waiting, stops nobody."""
    path = root / LOCK_FILES[Level.WORKSPACE]
    with held_elsewhere(root, Level.WORKSPACE):
        with pytest.raises(LockTimeout), hold(root, Level.WORKSPACE, timeout=0):
            pass
        with start("hold", root, Level.WORKSPACE.name) as waiting:
            mark = path.read_bytes()
            assert mark.endswith(b"w")
            waiting.kill()
    for _ in range(3):
        with hold(root, Level.WORKSPACE, timeout=0):
            assert path.read_bytes().split() == [b"%d" % os.getpid()]


def test_removed_lock_folders_are_made_again(root: Path, workspace: Workspace) -> None:
    """Somebody who tidies the folder away breaks nothing; a removed workspace is not revived."""
    workspace.write("a.md", b"a")
    for path in (root / ".jenny").iterdir():
        path.unlink()
    (root / ".jenny").rmdir()
    workspace.write("a.md", b"b")
    assert workspace.read("a.md").text == "b"
    root.rename(root.parent / "elsewhere")
    with pytest.raises(FileMissing):
        workspace.write("a.md", b"c")
    assert not root.exists()


def test_a_lock_that_cannot_be_made_is_said_so(root: Path, workspace: Workspace) -> None:
    """A file where the lock's folder should be ends in a sentence."""
    (root / ".jenny").write_text("in the way")
    with pytest.raises(WriteFailed, match="cannot be locked"):
        workspace.write("a.md", b"a")


def test_processes_that_write_at_once_lose_nothing(root: Path, workspace: Workspace) -> None:
    """Read-modify-write from several processes and threads counts every step."""
    processes = [start("count", root, "counter.txt", 100) for _ in range(2)]
    threads = [
        threading.Thread(
            target=lambda: [
                workspace.edit("counter.txt", lambda old: b"%d" % (int(old or b"0") + 1))
                for _ in range(50)
            ]
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert workspace.read("counter.txt").text == "300"


def test_a_busy_process_starves_nobody(root: Path) -> None:
    """Who takes the lock again and again lets others in between, long before they give up."""
    with start("count", root, "counter.txt", 10_000_000) as busy:
        wait_until((root / "counter.txt").exists, what="the busy process")
        for _ in range(20):
            with hold(root, Level.WORKSPACE):
                assert busy.poll() is None
        busy.kill()


def test_a_forked_child_holds_nothing(root: Path) -> None:
    """A process made by forking under a lock neither keeps it nor believes it has it."""
    with start("fork", root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "the child holds nothing\n"
        with hold(root, Level.WORKSPACE, timeout=60):
            pass
        process.communicate("")
