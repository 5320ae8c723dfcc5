"""A process that took the snapshot before knows what has not changed since, and nothing more."""

import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.scan import scan
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.trees import FileReader
from tests.support.waiting import wait_until
from tests.workspace.snapshots.conftest import START, contents, fsck, on_disk, put
from tests.workspace.snapshots.test_any_history import STEPS, do

_SHORT_NS = 20_000_000


@pytest.fixture(autouse=True, scope="module")
def soon():
    """What changed is believed to be over after 20 ms instead of two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jenny.workspace.snapshots.scan._DOUBT_NS", _SHORT_NS)
        patch.setattr("jenny.workspace.snapshots.scan._DOUBT_NS", _SHORT_NS)
        yield


def settle(root: Path) -> None:
    """Wait until nothing is in doubt any more."""
    every = [root, *root.rglob("*")]
    newest = max(path.lstat().st_ctime_ns for path in every)
    wait_until(lambda: time.time_ns() > newest + 2 * _SHORT_NS)


@pytest.fixture
def taken_paths(monkeypatch):
    """The files that were opened for a snapshot."""
    opened: list[str] = []
    real = FileReader._open

    def recording(self, path):
        opened.append(path)
        return real(self, path)

    monkeypatch.setattr(FileReader, "_open", recording)
    return opened


def test_only_what_changed_is_read(store, root, take, taken_paths):
    """Of many files, the one that changed in place is read again, and no other."""
    for number in range(40):
        put(root, f"skills/s{number}/SKILL.md", b"%d" % number)
    settle(root)
    take("dream")
    taken_paths.clear()
    put(root, "skills/s7/SKILL.md", b"X")
    settle(root)
    outcome = take("dream")
    assert taken_paths == ["skills/s7/SKILL.md"]
    assert str(outcome.snapshot.changes) == "1 changed"
    assert contents(store, outcome.snapshot) == on_disk(root)
    taken_paths.clear()
    assert not take("dream").is_new
    assert taken_paths == []


def test_unchanged_folders_are_the_same_objects(root):
    """A folder in which nothing changed is known again at sight; any change makes another."""
    put(root, "skills/letters/SKILL.md", b"letters")
    settle(root)
    first = scan(root).top
    assert scan(root).top is first
    put(root, "skills/tax/SKILL.md", b"---\ndescription: y\n---\n")  # in place, as long as before
    second = scan(root).top
    assert second is not first
    assert second.folders["skills"].folders["tax"] is not first.folders["skills"].folders["tax"]
    assert second.folders["skills"].folders["letters"] is first.folders["skills"].folders["letters"]
    assert second.folders["uploads"] is first.folders["uploads"]


@pytest.mark.parametrize("change", ["new", "gone", "renamed", "mode", "link", "repository"])
def test_whatever_changes_in_a_folder_is_seen(root, tmp_path, change):
    """A file that comes, goes, is renamed or becomes a link, and a folder's permissions."""
    settle(root)
    scan(root)
    folder = root / "skills/tax"
    if change == "new":
        put(root, "skills/tax/more.md", b"more")
    elif change == "gone":
        (folder / "SKILL.md").unlink()
    elif change == "renamed":
        folder.rename(root / "skills/taxes")
    elif change == "mode":
        folder.chmod(0o700)
    elif change == "link":
        (tmp_path / "elsewhere").mkdir()
        (folder / "SKILL.md").rename(tmp_path / "elsewhere/SKILL.md")
        folder.rmdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        (folder / ".git").mkdir()
    warm, cold = scan(root), scan(root, anew=True)
    assert warm.fingerprint == cold.fingerprint
    assert warm.skipped == cold.skipped
    assert list(warm.top.every_file()) == list(cold.top.every_file())


def test_what_is_in_doubt_is_listed_again(root):
    """A folder that changed just now may change once more without its stamp showing it."""
    settle(root)
    put(root, "skills/tax/more.md", b"more")
    fresh = scan(root).top
    assert fresh.folders["skills"].folders["tax"].stamp is None
    assert fresh.folders["uploads"].stamp is not None


def test_paths_longer_than_the_system_takes(store, root, take):
    """Files far down, with long names on the way, are saved and found unchanged."""
    fd = os.open(root, os.O_RDONLY)
    name = "n" * 250
    for _ in range(30):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=fd))
    os.close(fd)
    top = scan(root).top
    assert any(found.path.endswith("/deep.md") for found in top.every_file())
    first = take("dream")
    assert first.skipped == ()
    again = take("dream")
    assert not again.is_new
    subprocess.run(["rm", "-rf", root / name], check=True)


def test_what_another_process_took_meanwhile(store, root, take):
    """A snapshot that another process took in between is built upon, and not what this one
    remembers of the one before."""
    settle(root)
    take("dream")
    script = (
        "import sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from jenny.workspace.snapshots.store import Store\n"
        "from jenny.workspace.snapshots.create import create\n"
        "root = Path(sys.argv[2])\n(root / 'USER.md').write_text('# Other\\n')\n"
        "create(Store(Path(sys.argv[1])), root, 'auto', now=datetime.now(UTC))\n"
    )
    subprocess.run([sys.executable, "-c", script, store.path, root], check=True)
    put(root, "USER.md", b"# User\n")
    outcome = take("dream")
    assert outcome.is_new
    assert contents(store, outcome.snapshot) == on_disk(root)
    fsck(store)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(STEPS, st.randoms(use_true_random=False))
def test_whatever_happens_in_between(steps, chance):
    """Whatever is done between snapshots of one process, known or in doubt: each is exact."""
    with tempfile.TemporaryDirectory() as scratch:
        root, store = Path(scratch, "workspace"), Store(Path(scratch, "store.git"))
        root.mkdir()
        for number, step in enumerate([*steps, ("snapshot",)]):
            if step[0] != "snapshot":
                do(root, step)
            if chance.random() < 0.3:
                settle(root)
            if step[0] == "snapshot" or chance.random() < 0.3:
                outcome = create(store, root, "dream", now=START + timedelta(minutes=number))
                assert contents(store, outcome.snapshot) == on_disk(root)
        fsck(store)
