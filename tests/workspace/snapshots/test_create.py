"""Taking snapshots: exact, only when something changed, and of one moment."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jenny.workspace import locks, transactions
from jenny.workspace.errors import LockOrderError, LockTimeout, SnapshotFailed
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.locks import Level
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots import trees as reading_files
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.scan import scan
from tests.support.waiting import wait_until
from tests.workspace.snapshots.conftest import (
    START,
    contents,
    fsck,
    git,
    numbers,
    on_disk,
    put,
)


def test_every_byte_is_kept(store, root, take):
    """A snapshot holds each file exactly: line ends, no end, nothing, bytes that are no text."""
    put(root, "crlf.md", b"a\r\nb\r\n")
    put(root, "no end.md", b"x")
    put(root, "empty.md", b"")
    put(root, "output/raw.bin", bytes(range(256)) * 10)
    put(root, ".gitattributes", b"* text=auto eol=crlf ident filter=lfs\n")
    put(root, "id.md", b"$Id$\n")
    outcome = take()
    assert outcome.is_new
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert outcome.snapshot.files == len(on_disk(root))
    assert outcome.snapshot.size == sum(map(len, on_disk(root).values()))
    fsck(store)


def test_nothing_changed_no_new_one(store, root, take, clock):
    """A second snapshot of the same content is not made, and says which one has it."""
    first = take().snapshot
    clock.move(hours=5)
    again = take("dream")
    assert (again.is_new, again.snapshot) == (False, first)
    said = "Nothing has changed since the newest snapshot; no new one was needed."
    assert again.message == said
    # A file that was only touched has the same content.
    os.utime(root / "USER.md")
    assert not take().is_new
    assert numbers(store) == [1]
    # And there is no trace of having looked.
    assert len(git(store, "rev-list", "--all").split()) == 1


def test_what_changed_is_counted(store, root, take, clock):
    """Each snapshot says how many files came, changed and went since the one before."""
    take()
    put(root, "new.md", b"new")
    put(root, "wikis/a/wiki/index.md", b"page")
    put(root, "USER.md", b"# User\nAna\n")
    (root / "skills/tax/SKILL.md").unlink()
    clock.move(minutes=1)
    second = take().snapshot
    assert str(second.changes) == "2 added, 1 changed, 1 removed"
    clock.move(minutes=1)
    (root / "USER.md").chmod(0o755)
    assert str(take().snapshot.changes) == "1 changed"
    assert [str(shot.changes) for shot in reader.list_snapshots(store)] == [
        "1 changed",
        "2 added, 1 changed, 1 removed",
        "4 added",
    ]


def test_back_and_forth_is_a_snapshot_each(store, root, take):
    """Content that comes back is not stored twice, and is a snapshot of its own all the same,
    even within one second."""
    first = take().snapshot
    put(root, "USER.md", b"other")
    take()
    put(root, "USER.md", b"# User\n")
    third = take().snapshot
    assert third.id != first.id
    assert third.tree == first.tree
    assert numbers(store) == [3, 2, 1]


def test_permissions_and_times_are_kept(store, root, take):
    """What a restore needs beside the bytes is there: modes and times of files, empty folders."""
    (root / "USER.md").chmod(0o640)
    os.utime(root / "USER.md", ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    (root / "empty" / "inner").mkdir(parents=True)
    (root / "empty").chmod(0o750)
    outcome = take()
    with store.open() as repo:
        rows = {row.path: row for row in reader.list_files(repo, outcome.snapshot)}
    assert rows["USER.md"].mode == 0o640
    assert rows["USER.md"].modified == 1_700_000_000_123_456_789
    assert rows["empty"].is_folder
    assert rows["empty"].mode == 0o750
    assert rows["empty/inner"].is_folder


def test_the_layers_own_files_are_left_out(store, root, take):
    """Locks, journals, temporary files and the history of versions are in no snapshot."""
    open_workspace(root, Actor("pipeline")).write("a.md", b"a")
    with locks.hold(root.resolve(), Level.HISTORY):
        pass
    put(root, ".jenny-0123456789abcdef.tmp", b"half")
    put(root, "memory/.git/config", b"[core]\n")
    outcome = take()
    assert "a.md" in contents(store, outcome.snapshot)
    assert not any(".jenny" in path or ".git" in path for path in contents(store, outcome.snapshot))
    assert "memory/.history.lock" not in contents(store, outcome.snapshot)
    assert outcome.skipped == ()


def test_a_stamp_is_not_believed_over_a_fresh_write(store, root, take):
    """A file that was just written is read again, though its size and times are as before."""
    put(root, "quick.md", b"aaaa", age=0)
    take()
    status = (root / "quick.md").stat()
    with (root / "quick.md").open("r+b") as file:
        file.write(b"bbbb")
    os.utime(root / "quick.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    outcome = take()
    assert contents(store, outcome.snapshot)["quick.md"] == b"bbbb"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"form": 1, "files": {"USER.md": [1]}}', b"\xff"])
def test_a_damaged_cache_costs_only_reading(store, root, take, damage):
    """Lost or damaged caches are made anew; no snapshot is wrong for it."""
    take()
    put(root, "USER.md", b"changed")
    for name in ("stamps.json", "list.jsonl"):
        (store.own / name).write_bytes(damage)
    outcome = take()
    assert str(outcome.snapshot.changes) == "1 changed"
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert numbers(store) == [2, 1]


def test_a_snapshot_costs_what_changed(store, root, take, clock):
    """One changed file adds that file and the folders above it to the store, nothing else."""
    for number in range(300):
        put(root, f"wikis/w{number % 10}/{number}.md", os.urandom(500))
    take()
    before = _bytes(store)
    put(root, "wikis/w3/3.md", b"changed")
    clock.move(minutes=1)
    take()
    assert _bytes(store) - before < 8_000


def _bytes(store) -> int:
    return sum(path.stat().st_size for path in (store.path / "objects/pack").iterdir())


def test_a_huge_file_is_streamed(store, root, tmp_path):
    """A file larger than the memory that a process may use is saved exactly."""
    size = 300_000_000
    with (root / "huge.bin").open("wb") as file:
        file.write(os.urandom(1_000_000))
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"end\n")
    script = (
        "import resource, sys\n"
        "from pathlib import Path\nfrom datetime import datetime, UTC\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "from jenny.workspace.snapshots import comparison, reader\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (150_000_000, 150_000_000))\n"
        "store, root = Store(Path(sys.argv[1])), Path(sys.argv[2])\n"
        "shot = create(store, root, 'manual', now=datetime.now(UTC)).snapshot\n"
        "with store.open() as repo:\n"
        "    assert reader.verify_snapshot(repo, shot) == []\n"
        "    assert comparison.with_now(store, repo, shot, root).rows == ()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, store.path, root],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    fsck(store)


def test_a_file_that_keeps_changing_is_read_again(store, root, take, monkeypatch):
    """A file written while it is read is read again; one that never rests is saved with a note."""
    real = reading_files.os.read
    calls = {"restless.md": 0, "busy.md": 0}
    put(root, "restless.md", b"0" * 100)
    put(root, "busy.md", b"0" * 100)

    def read(fd: int, size: int) -> bytes:
        data = real(fd, size)
        name = Path(f"/proc/self/fd/{fd}").readlink().name
        if name in calls:
            calls[name] += 1
            if name == "restless.md" or calls[name] == 1:
                put(root, name, b"%d" % calls[name] * 100, age=0)
        return data

    monkeypatch.setattr(reading_files.os, "read", read)
    outcome = take()
    monkeypatch.undo()
    assert contents(store, outcome.snapshot)["busy.md"] == b"1" * 100
    told = [row.message for row in outcome.skipped]
    assert told == ["“restless.md” kept changing while it was read; it is saved as it was then."]
    assert calls["busy.md"] == 2


def test_an_act_on_several_files_is_in_whole_or_not_at_all(store, root, clock):
    """While two files always change together, no snapshot has one of them old and one new."""
    workspace = open_workspace(root, Actor("pipeline"))
    workspace.write_many({"left.md": b"0", "right.md": b"0"})
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            both = b"%d" % number
            workspace.write_many({"left.md": both, "deep/er/right.md": both, "right.md": both})

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(15):
            clock.move(minutes=1)
            found = contents(store, create(store, root, "manual", now=clock.now).snapshot)
            assert found["left.md"] == found["right.md"]
    finally:
        stop.set()
        thread.join()
    fsck(store)


def test_a_workspace_that_stays_locked_is_saved_all_the_same(store, root, take, monkeypatch):
    """A writer that hangs holds no snapshot up for long; the snapshot says what that means."""
    monkeypatch.setattr("jenny.workspace.snapshots.create._WORKSPACE_SECONDS", 0.05)
    held, stop = threading.Event(), threading.Event()

    def hang() -> None:
        with transactions.lock_workspace(root.resolve()):
            held.set()
            stop.wait()

    thread = threading.Thread(target=hang)
    thread.start()
    try:
        held.wait()
        outcome = take()
    finally:
        stop.set()
        thread.join()
    assert contents(store, outcome.snapshot) == on_disk(root)
    (note,) = outcome.skipped
    assert "could not be locked" in note.message


def test_what_came_while_waiting_for_the_lock_is_in(store, root, take, monkeypatch):
    """A file made while the lock was waited for in vain is saved as well."""

    def locked(folder, **_):
        put(folder, "late.md", b"late")
        message = "busy"
        raise LockTimeout(message)

    monkeypatch.setattr("jenny.workspace.snapshots.create.transactions.lock_workspace", locked)
    outcome = take()
    assert contents(store, outcome.snapshot) == on_disk(root)
    assert "late.md" in contents(store, outcome.snapshot)


def test_nobody_waits_while_much_is_read(store, root, take, monkeypatch):
    """While large files keep changing, the workspace is never locked for reading them."""
    from jenny.workspace.snapshots import create

    monkeypatch.setattr(create, "_UNDER_LOCK_BYTES", 10)
    monkeypatch.setattr(create, "_AT_ONCE_BYTES", 10)
    real, turn = create.scan, []

    def scanned(folder, **how):
        turn.append(True)
        put(folder, "large.md", b"%d" % len(turn) * 100, age=-len(turn))
        return real(folder, **how)

    real_take, held = create.FileReader.take, []

    def took(self, found):
        held.append(locks.holds(root.resolve(), Level.WORKSPACE))
        real_take(self, found)

    monkeypatch.setattr(create, "scan", scanned)
    monkeypatch.setattr(create.FileReader, "take", took)
    outcome = take()
    assert not any(held)
    assert contents(store, outcome.snapshot)["large.md"] == b"%d" % len(turn) * 100
    (note,) = outcome.skipped
    assert note.message.startswith("Large files kept changing.")


def test_two_at_once_take_one(store, root):
    """Eight processes that take a snapshot at the same moment make one."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom datetime import datetime, UTC\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "sys.stdin.read()\n"
        "now = datetime.now(UTC)\n"
        "print(create(Store(Path(sys.argv[1])), Path(sys.argv[2]), 'auto', now=now).is_new)\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, store.path, root],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for process in running:
        process.stdin.close()
    said = [process.stdout.read().strip() for process in running]
    for process in running:
        process.stdout.close()
        assert process.wait() == 0
    assert sorted(said) == ["False"] * 7 + ["True"]
    assert numbers(store) == [1]
    fsck(store)


def test_a_busy_store_is_said_so(store, root, take):
    """Who does not want to wait is told that another process is at it; nothing was done."""
    take()
    held, stop = threading.Event(), threading.Event()

    def hold() -> None:
        with store.write():
            held.set()
            stop.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        held.wait()
        with pytest.raises(LockTimeout, match="Another process is working on the snapshots"):
            take(timeout=0)
    finally:
        stop.set()
        thread.join()


def test_locks_are_taken_in_one_order(root, take):
    """A snapshot asked for under the workspace's lock is an error at once, not a deadlock."""
    with locks.hold(root.resolve(), Level.WORKSPACE), pytest.raises(LockOrderError):
        take()


def test_who_holds_the_store_may_take_one(store, root, take):
    """A restore holds the store from its snapshot to its end: the lock is its own."""
    with store.write():
        assert take("restore").is_new


def test_the_store_and_the_workspace_are_closed_again(take):
    """500 snapshots leave as many files open as there were before."""
    take()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(500):
        take()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_disk_that_refuses_is_a_sentence(store, root, take):
    """A full disk leaves the store as it was, and is told; the next snapshot works."""
    take()
    put(root, "large.bin", os.urandom(3_000_000))
    script = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "from datetime import datetime, UTC\n"
        "from jenny.workspace.errors import SnapshotFailed\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "try:\n"
        "    create(Store(Path(sys.argv[1])), Path(sys.argv[2]), 'auto', now=datetime.now(UTC))\n"
        "except SnapshotFailed as error:\n    print(error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, store.path, root],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The snapshot could not be taken: the file would be larger")
    assert numbers(store) == [1]
    assert not list((store.path / "objects/pack").glob("tmp_*"))
    fsck(store)
    assert contents(store, take().snapshot) == on_disk(root)


def test_a_store_that_is_no_folder_is_a_sentence(store, take):
    """Whatever stands where the store should be is left alone."""
    store.path.parent.mkdir(parents=True)
    store.path.write_text("mine")
    with pytest.raises(SnapshotFailed, match="could not be taken"):
        take()
    assert store.path.read_text() == "mine"


def test_the_fingerprint_is_from_before(store, root, take):
    """A change during a snapshot is seen as one afterwards: the fingerprint is older than it."""
    was = scan(root).fingerprint
    outcome = take()
    assert outcome.fingerprint == was
    put(root, "USER.md", b"# Usee\n")
    assert scan(root).fingerprint != was


def test_the_store_is_nobody_elses(store, take):
    """The folders that hold a copy of everything are readable by their owner only."""
    take()
    assert store.path.parent.stat().st_mode & 0o077 == 0


def test_names_are_easy(store, root, take, clock):
    """A snapshot is found by its number, its id, a few digits, or as the latest."""
    first = take().snapshot
    put(root, "USER.md", b"2")
    second = take().snapshot
    assert store.resolve("1") == first.id
    assert store.resolve(second.id.upper()) == second.id
    assert store.resolve(first.id[2:6]) == first.id
    assert store.resolve("latest") == second.id
    assert first.when == START
    for wrong in ("", "3", "--help", "../1", "refs/heads/main", "HEAD", "1-", "zzzz", "1\n2"):
        with pytest.raises(Exception, match="There is no snapshot"):
            store.resolve(wrong)


def test_a_second_process_waits_for_the_first(store, root, take):
    """Taking one while another process does so waits, and then sees what that one made."""
    take()
    put(root, "USER.md", b"changed")
    held, done = threading.Event(), []

    def hold() -> None:
        with store.write():
            held.set()
            wait_until(thread.is_alive, what="the other to wait")
            done.append(take("auto").is_new)

    other = threading.Thread(target=hold)
    thread = threading.Thread(target=lambda: done.append(take("manual").is_new))
    other.start()
    held.wait()
    thread.start()
    other.join()
    thread.join()
    assert done == [True, False]
