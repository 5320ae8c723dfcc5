"""Snapshots of a workspace: taking, listing and comparing them as they grow in number.

``python -m bench.snapshots``: with one changed file between two of them, 10 and 1,000 snapshots of
2,000 files (200 MB), and 10,000 of 100 files (10 MB). ``python -m bench.snapshots FILES NUMBER…``:
other ones.
"""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.harness import Row, median, report
from jenny.workspace.snapshots import comparison, reader, retention
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.scan import scan
from jenny.workspace.snapshots.store import Store

# Files in the workspace, and the numbers of snapshots.
CASES = ((2_000, (10, 1_000)), (100, (10_000,)))
SIZE = 100_000
RUNS = 7
START = datetime(2026, 1, 1, tzinfo=UTC)


def make_workspace(root: Path, files: int) -> None:
    """Files that shrink to about half, in up to 100 folders."""
    for number in range(files):
        path = root / f"folder{number % 100}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SIZE // 2) + b"a" * (SIZE // 2))
        then = time.time() - 3600
        os.utime(path, (then, then))


def change(root: Path, number: int) -> None:
    """Change one of a hundred files."""
    (root / f"folder{number % 100}" / f"{number % 100}.md").write_text(f"change {number}\n")


def spent(work: Callable[[], object]) -> float:
    """Milliseconds that it takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measured(root: Path, store: Store, number: int) -> dict[str, float]:
    """Milliseconds of each act, the median of several, with *number* snapshots in the store."""
    now = START + timedelta(minutes=number)
    found: dict[str, list[float]] = {}
    for run in range(RUNS):
        change(root, number + run)
        work: dict[str, Callable[[], object]] = {
            "look (fingerprint)": lambda: scan(root).fingerprint,
            "snapshot, one file changed": lambda: create(store, root, "dream", now=now),
            "snapshot, nothing changed": lambda: create(store, root, "dream", now=now),
            "list, cached": lambda: reader.list_snapshots(store),
            "diff of neighbours": lambda: _diff(store, 1),
            "diff of newest and oldest": lambda: _diff(store, 0),
            "diff with now": lambda: _with_now(store, root),
        }
        for name, act in work.items():
            found.setdefault(name, []).append(spent(act))
    (store.own / reader.LIST_CACHE).unlink()
    found["list, cache lost"] = [spent(lambda: reader.list_snapshots(store))]
    found["check of the whole store"] = [spent(lambda: list(reader.check_snapshots(store)))]
    return {name: median(times) for name, times in found.items()}


def _diff(store: Store, back: int) -> None:
    ids = store.ids()
    with store.open() as repo:
        old, new = store.get(repo, ids[-1 - back] if back else ids[0]), store.get(repo, ids[-1])
        comparison.with_another(repo, old, new)


def _with_now(store: Store, root: Path) -> None:
    with store.open() as repo:
        comparison.with_now(store, repo, store.get(repo, store.ids()[-1]), root)


def grown(files: int, counts: tuple[int, ...], root: Path, store: Store) -> list[Row]:
    """One row an act and number."""
    make_workspace(root, files)
    first = spent(lambda: create(store, root, "manual", now=START))
    about = f"{files:,} files"
    found = [Row(f"{about}, {files * SIZE // 10**6} MB: first snapshot", "ms", round(first, 1))]
    for count in counts:
        for number in range(len(store.ids()), count):
            change(root, number)
            create(store, root, "dream", now=START + timedelta(minutes=number))
        found += [
            Row(f"{about}, {count:,} snapshots: {name}", "ms", value)
            for name, value in measured(root, store, count).items()
        ]
        size = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
        found.append(Row(f"{about}, {count:,} snapshots: on disk", "MB", round(size / 1e6, 1)))
    shots = reader.list_snapshots(store)
    plan = retention.plan_retention(shots, "week", now=START + timedelta(days=900), zone=UTC)
    prune = spent(lambda: retention.prune_snapshots(store, plan, grace_seconds=-1))
    about = f"{about}, {len(shots):,} snapshots: prune {len(plan.goes):,}"
    found.append(Row(about, "ms", round(prune, 1)))
    subprocess.run(["git", "-C", store.path, "fsck", "--strict"], check=True, capture_output=True)
    return found


def rows(cases: tuple[tuple[int, tuple[int, ...]], ...] = CASES) -> list[Row]:
    """Stores that grow."""
    found = []
    for files, counts in cases:
        with tempfile.TemporaryDirectory() as scratch:
            root, store = Path(scratch, "workspace"), Store(Path(scratch, "store.git"))
            found += grown(files, counts, root, store)
    return found


if __name__ == "__main__":
    asked = tuple(map(int, sys.argv[1:]))
    cases = ((asked[0], asked[1:]),) if asked else CASES
    report(rows(cases), {"Python": platform.python_version()})
