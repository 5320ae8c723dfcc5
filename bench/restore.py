"""Restoring a workspace: how long it takes, and for how long others have to wait.

``python -m bench.restore``: 2,000 files of 200 MB, all of them changed, gone or made since; then
only one of them; then a plan alone. ``python -m bench.restore FILES``: another number.
"""

import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from bench.harness import Row, median, report
from bench.snapshots import SIZE, make_workspace, spent
from jenny.workspace import transactions
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import SnapshotSource
from jenny.workspace.snapshots.store import Store
from memory.restore import engine
from memory.restore.plan import RestoreRequest, RestoreServices, prepare

FILES = 2_000
RUNS = 5
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def spoil(root: Path) -> None:
    """Change a third of the files, take a third away, and make as many new ones."""
    for number, path in enumerate(sorted(root.rglob("*.md"))):
        if number % 3 == 0:
            path.write_bytes(os.urandom(SIZE // 2) + b"b" * (SIZE // 2))
        elif number % 3 == 1:
            path.rename(path.with_suffix(".new"))


def restored(root: Path, store: Store, shot: str, path: str = "") -> None:
    """Restore everything, or one file."""

    def source(repo: Objects) -> SnapshotSource:
        return SnapshotSource(repo, store.get(repo, shot), path)

    services = RestoreServices(stop=str, requeue=lambda _: None, invalidate=int, check=lambda: None)
    asked = RestoreRequest(name=shot, path=path)
    engine.restore(root, store, source, asked, services=services, now=NOW)


def planned(root: Path, store: Store, shot: str) -> None:
    """What a restore would do."""
    with store.open() as repo:
        prepare(root, store, repo, SnapshotSource(repo, store.get(repo, shot)))


class Waiting:
    """Somebody who wants the workspace's lock again and again; the longest wait in milliseconds."""

    def __init__(self, root: Path) -> None:
        self.longest = 0.0
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._wait)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _wait(self) -> None:
        while not self._over.wait(0.005):
            began = time.perf_counter()
            with transactions.lock_workspace(self._root, timeout=120):
                pass  # only the wait for it is measured
            self.longest = max(self.longest, (time.perf_counter() - began) * 1000)


def rows(files: int = FILES) -> list[Row]:
    """One row an act."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        root, store = Path(scratch, "workspace"), Store(Path(scratch, "store.git"))
        (root / "memory").mkdir(parents=True)
        make_workspace(root, files)
        shot = create(store, root, "manual", now=NOW).snapshot.id
        for _ in range(RUNS):
            spoil(root)
            with Waiting(root) as waiting:
                work: dict[str, Callable[[], object]] = {
                    "plan": lambda: planned(root, store, shot),
                    "restore, all files changed, gone or new": lambda: restored(root, store, shot),
                }
                for name, act in work.items():
                    found.setdefault(name, []).append(spent(act))
            found.setdefault("the longest wait of another writer", []).append(waiting.longest)
            one = next(iter(root.rglob("*.md")))
            one.write_bytes(b"changed")
            path = str(one.relative_to(root))
            act = lambda path=path: restored(root, store, shot, path)  # noqa: E731 - a name, as above
            found.setdefault("restore, one file", []).append(spent(act))
    about = f"{files:,} files, {files * SIZE // 10**6} MB"
    return [Row(f"{about}: {name}", "ms", median(times)) for name, times in found.items()]


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    report(rows(asked), {"Python": platform.python_version()})
