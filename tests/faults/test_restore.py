"""A restore whose process is killed, as a person would run it: by command, at any moment."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.chance import seed
from tests.support.stack import OWNER, clean_environment, give_owner, manage

PROJECT = Path(__file__).parents[2]
FILES = 150


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An instance's data folder, with an owner."""
    data = tmp_path / "data"
    data.mkdir()
    give_owner(data)
    return data


def state(root: Path) -> dict[str, bytes]:
    """The files of the workspace, read by hand; what the memory keeps for itself apart."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not str(path.relative_to(root)).startswith((".jenny", "memory/."))
    }


def filled(root: Path, text: str, *, late: bool) -> None:
    """Many files; some of them only there late, some only there early."""
    folder = root / "many"
    folder.mkdir(exist_ok=True)
    for number in range(FILES):
        path = folder / f"{number}.md"
        if number % 3 == (1 if late else 2):
            path.unlink(missing_ok=True)
        else:
            path.write_text(f"{text} {number}\n" * 200)


def killed(data: Path, after: float) -> bool:
    """Restore the first snapshot by command, in a process that is killed *after* seconds; whether
    it was over before."""
    command = [sys.executable, "manage.py", "snapshot", "restore", "1", "--yes"]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env=clean_environment(JENNY_DATA_DIR=str(data)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        return process.wait() == 0


def check(data: Path, times: int) -> None:
    """Kill it so many times; each time the next command finds the old or the new state."""
    root = data / "workspaces" / OWNER
    filled(root, "then", late=False)
    manage(data, "snapshot", "create")
    then = state(root)
    began = time.monotonic()
    filled(root, "now", late=True)
    manage(data, "snapshot", "restore", "1", "--yes")
    longest = time.monotonic() - began
    assert state(root) == then
    chance = random.Random(seed())
    for _ in range(times):
        filled(root, "now", late=True)
        now = state(root)
        killed(data, longest * (0.4 + 0.6 * chance.random()))
        manage(data, "snapshot", "list")
        # Whoever opens the workspace settles what was begun.
        manage(data, "versions", "list", "--all")
        manage(data, "check_workspace", check=False)
        assert state(root) in (now, then)
        assert not list((root / ".jenny/journal").glob("swap-*"))
    manage(data, "snapshot", "restore", "1", "--yes")
    assert state(root) == then
    assert not list((root / ".jenny").glob("swap-*"))


@pytest.mark.soak
def test_a_killed_restore_leaves_the_old_or_the_new_every_time(data: Path) -> None:
    """Many moments, by chance (``tests/memory/restore/test_killed.py`` is the short form)."""
    check(data, 40)
