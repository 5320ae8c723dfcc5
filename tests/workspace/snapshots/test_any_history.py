"""Whatever is done to a workspace between snapshots: each is exact, and nothing is stored twice."""

import os
import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace.snapshots import comparison, reader, retention
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from tests.workspace.snapshots.conftest import START, contents, fsck, git, on_disk

PATHS = st.sampled_from(["a.md", "b.md", "d/a.md", "d/e/f.md", "%41.md", ".gitignore", "ü\n.md"])
CONTENTS = st.sampled_from([b"", b"1", b"2", b"a\r\n", b"x" * 3000, bytes(range(256))])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PATHS, CONTENTS),
        st.tuples(st.just("sneak"), PATHS, CONTENTS),
        st.tuples(st.just("remove"), PATHS),
        st.tuples(st.just("touch"), PATHS),
        st.tuples(st.just("run"), PATHS),
        st.tuples(st.just("snapshot"), st.sampled_from(["dream", "manual"]), st.booleans()),
    ),
    min_size=5,
    max_size=40,
)


def do(root: Path, step: tuple) -> None:
    """One step of somebody outside."""
    path = root / step[1]
    if step[0] == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(step[2])
    elif path.is_file() and step[0] == "sneak":  # written without a trace in its times
        status = path.stat()
        path.write_bytes(step[2])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif path.is_file() and step[0] == "remove":
        path.unlink()
    elif path.is_file() and step[0] == "touch":
        os.utime(path, ns=(1, 1))
    elif path.is_file() and step[0] == "run":
        path.chmod(path.stat().st_mode ^ 0o100)


def state(root: Path) -> tuple:
    """What a snapshot is to tell apart: contents, the right to be run, folders."""
    files = on_disk(root)
    can_run = [path for path in files if os.access(root / path, os.X_OK)]
    folders = [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_dir() and ".jenny" not in path.parts
    ]
    return sorted(files.items()), sorted(can_run), sorted(folders)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(STEPS)
def test_snapshots_are_exact_and_share_what_is_the_same(steps):
    """Each snapshot holds what was there when it was taken, and goes on holding it; there is a new
    one exactly when something differs; no content is stored twice; and pruning takes nothing
    that is left."""
    with tempfile.TemporaryDirectory() as scratch:
        root, store = Path(scratch, "workspace"), Store(Path(scratch, "store.git"))
        root.mkdir()
        held: dict[str, dict[str, bytes]] = {}
        last: tuple | None = None
        for number, step in enumerate([*steps, ("snapshot", "manual", False)]):
            if step[0] != "snapshot":
                do(root, step)
                continue
            now = START + timedelta(days=number)
            outcome = create(store, root, step[1], now=now, reread=step[2])
            assert outcome.is_new == (state(root) != last)
            last = state(root)
            held[outcome.snapshot.id] = on_disk(root)
        shots = reader.list_snapshots(store)
        assert {shot.id: contents(store, shot) for shot in shots} == held
        distinct = {data for files in held.values() for data in files.values()}
        with store.open() as repo:
            every = [shot for shot in shots if reader.verify_snapshot(repo, shot)]
            assert every == []
            assert comparison.with_now(store, repo, shots[0], root).rows == ()
        names = git(store, "ls-tree", "-r", "--object-only", shots[0].commit + ":files").split()
        assert len(set(names)) <= len(distinct)
        fsck(store)
        plan = retention.plan_retention(
            shots, "week", now=START + timedelta(days=999), zone=START.tzinfo
        )
        retention.prune_snapshots(store, plan, grace_seconds=-1)
        left = {shot.id: contents(store, shot) for shot in reader.list_snapshots(store)}
        assert left == {name: files for name, files in held.items() if name in left}
        assert len(left) == min(len(held), 20)
