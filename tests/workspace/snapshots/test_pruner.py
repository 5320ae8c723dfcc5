"""Letting snapshots go: what was said, no more, and never what is in use."""

import subprocess
import sys
import threading
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from jenny.workspace.errors import SnapshotFailed
from jenny.workspace.snapshots import reader, retention
from jenny.workspace.snapshots.create import create
from tests.workspace.snapshots.conftest import START, contents, fsck, git, numbers, put

LATER = START + timedelta(days=1000)


@pytest.fixture
def many(store, root, take, clock):
    """25 snapshots, a day between each, with 20 kB of their own each."""
    for number in range(25):
        put(root, "own.bin", b"%d" % number * 10_000)
        put(root, f"kept/{number}.md", b"%d" % number)
        take()
        clock.move(days=1)
    return reader.list_snapshots(store)


def plan(store, keep_for="week", **options):
    """What would go, much later."""
    shots = reader.list_snapshots(store)
    return retention.plan_retention(shots, keep_for, now=LATER, zone=UTC, **options)


def prune(store, plan, grace_seconds=-1.0):
    """Prune as if every file were old enough."""
    return retention.prune_snapshots(store, plan, grace_seconds=grace_seconds)


def test_what_was_said_goes_and_nothing_else(store, many):
    """Exactly the planned snapshots go, the others are whole, and the disk has more room."""
    kept = {shot.id: contents(store, shot) for shot in many[:20]}
    before = _size(store)
    wanted = plan(store)
    done = prune(store, wanted)
    assert list(done.deleted) == [shot.id for shot in wanted.goes]
    assert numbers(store) == list(range(25, 5, -1))
    assert {shot.id: contents(store, shot) for shot in reader.list_snapshots(store)} == kept
    assert done.freed == before - _size(store) > 0
    fsck(store)
    assert git(store, "fsck", "--unreachable", "--no-reflogs").count("unreachable") == 0


def test_making_a_plan_deletes_nothing(store, many):
    """Saying what would go changes nothing."""
    before = sorted(str(path) for path in store.path.rglob("*"))
    plan(store)
    assert sorted(str(path) for path in store.path.rglob("*")) == before


def test_changes_are_counted_from_what_now_stands_before(store, many):
    """When the one before is gone, a snapshot's changes are those since the one that is left."""
    prune(store, plan(store))
    oldest = reader.list_snapshots(store)[-1]
    assert (oldest.before, str(oldest.changes)) == (None, "11 added")
    # The list says so from its cache, too, and from the store alone.
    assert reader.list_snapshots(store)[-1] == oldest
    (store.own / "list.jsonl").unlink()
    assert reader.list_snapshots(store)[-1] == oldest


def test_a_pinned_one_stays(store, many):
    """The target of a restore stays, also when it was pinned after the plan was made, and also
    through a crash; unpinned it goes."""
    wanted = plan(store)
    target = wanted.goes[0]
    store.pin(target.id, "restore-12")
    done = prune(store, wanted)
    assert done.kept == (target.id,)
    assert target.id not in done.deleted
    assert contents(store, target)["own.bin"] == b"0" * 10_000
    assert "1 snapshot stayed, being in use" in done.message
    with store.open() as repo:
        pinned = store.pinned(repo).values()
    assert plan(store, pinned=pinned).goes == ()
    store.unpin("restore-12")
    store.unpin("restore-12")
    assert prune(store, plan(store)).deleted == (target.id,)
    fsck(store)


def test_young_files_of_the_store_stay(store, many):
    """What was written within the last hour stays until the next time, whoever wrote it."""
    before = {path.name for path in (store.path / "objects/pack").iterdir()}
    retention.prune_snapshots(store, plan(store))
    assert {path.name for path in (store.path / "objects/pack").iterdir()} == before
    assert numbers(store) == list(range(25, 5, -1))
    prune(store, plan(store))
    assert {path.name for path in (store.path / "objects/pack").iterdir()} != before


def test_a_plan_is_carried_out_once(store, many):
    """The same plan again finds nothing to delete, and says so."""
    wanted = plan(store)
    prune(store, wanted)
    done = prune(store, wanted)
    assert (done.deleted, done.freed) == ((), 0)


def test_a_damaged_store_is_not_tidied(store, many):
    """When a remaining snapshot cannot be read, no content is removed: it may be all there is."""
    wanted = plan(store)
    (largest,) = sorted((store.path / "objects/pack").glob("*.pack"), key=_bytes)[-1:]
    largest.chmod(0o600)
    data = bytearray(largest.read_bytes())
    data[12:400] = b"\0" * 388
    largest.write_bytes(data)
    before = {path.name for path in (store.path / "objects/pack").iterdir()}
    with pytest.raises(SnapshotFailed, match="could not be deleted"):
        prune(store, wanted)
    assert {path.name for path in (store.path / "objects/pack").iterdir()} == before


def _bytes(path):
    return path.stat().st_size


def _size(store):
    return sum(map(_bytes, (store.path / "objects/pack").iterdir()))


def test_readers_go_on_while_packs_are_written_anew(store, many):
    """Somebody who looks at a snapshot while others are pruned reads it to the end."""
    with store.open() as repo:
        shot = store.get(repo, many[0].id)
        repo.tree(shot.tree)
        prune(store, plan(store))
        assert reader.verify_snapshot(repo, shot) == []


def test_taking_and_pruning_at_once(store, root, many):
    """While two processes take snapshots and one prunes again and again, none is ever broken."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom datetime import datetime, timedelta, UTC\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "store, root, name = Store(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]\n"
        "for number in range(25):\n"
        "    (root / name).write_bytes(f'{name}{number}'.encode() * 500)\n"
        "    create(store, root, 'auto', now=datetime(2026, 5, 1, tzinfo=UTC))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, store.path, root, name],
            cwd=Path(__file__).parents[3],
        )
        for name in ("one", "two")
    ]
    stop = threading.Event()

    def again() -> None:
        while not stop.is_set():
            prune(store, plan(store))

    thread = threading.Thread(target=again)
    thread.start()
    ended = [process.wait() for process in running]
    stop.set()
    thread.join()
    assert ended == [0, 0]
    with store.open() as repo:
        shots = reader.list_snapshots(store)
        assert len(shots) >= 20
        assert [reader.verify_snapshot(repo, shot) for shot in shots] == [[]] * len(shots)
    fsck(store)
    assert create(store, root, "manual", now=LATER).snapshot.number > 25


def test_after_another_gits_housekeeping(store, many):
    """A store that somebody's ``git gc`` has packed, references and all, is pruned as well."""
    for words in (["gc", "-q", "--aggressive"], ["pack-refs", "--all"]):
        subprocess.run(["git", "-C", store.path, *words], check=True)
    kept = {shot.id: contents(store, shot) for shot in many[:20]}
    wanted = plan(store)
    done = prune(store, wanted)
    assert list(done.deleted) == [shot.id for shot in wanted.goes]
    assert {shot.id: contents(store, shot) for shot in reader.list_snapshots(store)} == kept
    fsck(store)
