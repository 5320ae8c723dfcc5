"""Run in a process of its own by ``test_kills``: snapshots killed at a chosen moment.

``act.py FOLDER work N``: take snapshots number N, N + 1, … and prune, until killed.

``act.py FOLDER ACT``: for n = 1, 2, … a copy of the starting state is made, and a process does
ACT and is killed with SIGKILL right before its n-th step that reaches the disk; until one gets
through. Each time, one line of JSON says where what was left lies.
"""

import json
import shutil
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

from jenny.workspace.snapshots import reader, retention
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from tests.support import dying
from tests.workspace.snapshots.conftest import START, put

STEPS = ("fsync", "rename", "unlink", "mkdir", "link")
MANY = 24


def store_in(folder: Path) -> Store:
    """The store of a state."""
    return Store(folder / "snapshots" / "one.git")


def take(folder: Path, number: int, *, day: int | None = None) -> None:
    """A snapshot with something new in it, on the day of that number."""
    put(folder / "workspace", "count.md", b"%d" % number)
    put(folder / "workspace", f"deep/{number}.md", b"%d" % number * 100)
    now = START + timedelta(days=number if day is None else day)
    create(store_in(folder), folder / "workspace", "manual", now=now)


def start_first(folder: Path) -> None:
    """Nothing but a workspace."""
    put(folder / "workspace", "USER.md", b"# User\n")


def first(folder: Path) -> None:
    """The first snapshot of all."""
    take(folder, 1)


def start_next(folder: Path) -> None:
    """One snapshot."""
    start_first(folder)
    take(folder, 1)


def following(folder: Path) -> None:
    """The second one."""
    take(folder, 2)


def start_eighth(folder: Path) -> None:
    """Seven snapshots: one more, and packs are joined."""
    start_first(folder)
    for number in range(1, 8):
        take(folder, number)


def eighth(folder: Path) -> None:
    """The eighth one."""
    take(folder, 8)


def start_prune(folder: Path) -> None:
    """More snapshots than are kept for ever."""
    start_first(folder)
    for number in range(1, MANY + 1):
        take(folder, number)


def prune(folder: Path) -> None:
    """Let the oldest go, and what they alone needed."""
    store = store_in(folder)
    now = START + timedelta(days=1000)
    plan = retention.plan_retention(
        reader.list_snapshots(store), "month", now=now, zone=START.tzinfo
    )
    retention.prune_snapshots(store, plan, grace_seconds=-1)


def work(folder: Path, start: int) -> None:
    """Take snapshots and let old ones go, until killed."""
    for number in range(start, start + 10_000):
        take(folder, number, day=0)
        if number % 3 == 0:
            prune(folder)


ACTS = {
    "first": (start_first, first),
    "following": (start_next, following),
    "eighth": (start_eighth, eighth),
    "prune": (start_prune, prune),
}


def main(folder: Path, name: str) -> None:
    """Kill the act at each of its steps in turn."""
    begin, do = ACTS[name]
    base = folder / "base"
    base.mkdir()
    begin(base)
    number, through = 0, False
    while not through:
        number += 1
        state = folder / f"state{number}"
        shutil.copytree(base, state)
        through = dying.in_process(partial(do, state), number, STEPS)
        sys.stdout.write(json.dumps({"state": str(state), "through": through}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[2] == "work":
        work(Path(sys.argv[1]), int(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), sys.argv[2])
