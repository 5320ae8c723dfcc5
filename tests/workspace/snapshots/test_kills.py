"""A process killed at any moment leaves a snapshot whole or not there, and the store sound."""

import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from tests.support.chance import seed
from tests.support.dying import told
from tests.support.waiting import wait_until
from tests.workspace.snapshots import act
from tests.workspace.snapshots.conftest import START, contents, fsck, on_disk

PROJECT = Path(__file__).parents[3]


def killed(folder: Path, name: str) -> list[Path]:
    """What was left each time the act was killed, at each of its steps in turn."""
    left = told("tests.workspace.snapshots.act", folder, name)
    assert left[-1]["through"]
    return [Path(row["state"]) for row in left]


def sound(store: Store) -> list[int]:
    """The numbers of the snapshots, each of which is whole, by our own look and by git's."""
    if not store.exists:
        return []
    shots = reader.list_snapshots(store)
    with store.open() as repo:
        assert [reader.verify_snapshot(repo, shot) for shot in shots] == [[]] * len(shots)
    assert len(shots) == len(store.ids())
    fsck(store)
    return [shot.number for shot in shots]


def leftovers(store: Store) -> list[str]:
    """Files in the store that belong to nothing."""
    found = [path for path in store.path.rglob("*") if path.is_file()]
    return [
        path.name
        for path in found
        if path.name.startswith(("tmp_", "jenny-ref-", ".")) or path.suffix == ".lock"
    ]


def after(state: Path) -> None:
    """The next snapshot works and is right, and what the dead process left is swept away."""
    store = act.store_in(state)
    for path in state.rglob("*"):
        if path.is_file() and "objects" in path.parts:
            os.utime(path, (time.time() - 7200,) * 2)  # the leftovers have grown old
    (state / "workspace" / "after.md").write_text("after")
    now = START + timedelta(days=50)
    outcome = create(store, state / "workspace", "manual", now=now)
    assert outcome.is_new
    assert contents(store, outcome.snapshot) == on_disk(state / "workspace")
    sound(store)
    assert leftovers(store) == []


@pytest.mark.parametrize(
    ("name", "before"), [("first", []), ("following", [1]), ("eighth", list(range(7, 0, -1)))]
)
def test_a_snapshot_is_there_or_not(in_memory, name, before):
    """Killed at each fsync, rename, link and removal of a snapshot: all of it or nothing."""
    states = killed(in_memory, name)
    found = [sound(act.store_in(state)) for state in states]
    whole = [len(before) + 1, *before]
    assert all(numbers in (before, whole) for numbers in found)
    assert found[0] == before
    assert found[-1] == whole
    # There are kills on both sides of the moment from which it is there.
    turned = [numbers == whole for numbers in found]
    assert turned == sorted(turned)
    assert turned.index(True) >= 5
    for state in states:
        after(state)


def test_pruning_may_be_killed(in_memory):
    """Killed at each of its steps, pruning leaves what remains whole, and can be done again."""
    states = killed(in_memory, "prune")
    every, kept = list(range(act.MANY, 0, -1)), list(range(act.MANY, act.MANY - 20, -1))
    assert len(states) > 15
    for state in states:
        found = sound(act.store_in(state))
        assert set(kept) <= set(found) <= set(every)
        act.prune(state)
        assert sound(act.store_in(state)) == kept
        after(state)


@pytest.mark.parametrize(
    "kills", [pytest.param(8, id="few"), pytest.param(250, id="many", marks=pytest.mark.soak)]
)
def test_killed_at_any_time_again_and_again(in_memory, kills):
    """Two processes take snapshots and prune, and are killed at random, one store all the while:
    it is sound after each kill, and no snapshot that was there is lost but by the rules."""
    chosen = seed()
    chance = random.Random(chosen)
    act.start_first(in_memory)
    store, highest = act.store_in(in_memory), 0
    for kill in range(kills):
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.workspace.snapshots.act", in_memory, "work", number],
                cwd=PROJECT,
            )
            for number in (str(1 + kill * 100), str(100_001 + kill * 100))
        ]
        was = highest
        wait_until(lambda was=was: _highest(store) > was, 60, "a snapshot")
        time.sleep(chance.random() * 0.3)  # the moment of the kill is the test's very point
        for process in running:
            process.kill()
        for process in running:
            process.wait()
        found = sound(store)
        assert found, f"seed {chosen}"
        assert found[0] >= was, f"seed {chosen}"
        assert found == list(range(found[0], found[-1] - 1, -1)), f"seed {chosen}"
        assert len(found) >= min(found[0], 20), f"seed {chosen}"
        highest = found[0]
    after(in_memory)


def _highest(store: Store) -> int:
    ids = store.ids()
    return int(ids[-1].partition("-")[0]) if ids else 0
