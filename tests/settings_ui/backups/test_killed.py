"""An import that is killed leaves the old state or the new one, whole, and nothing lying about."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.chance import seed
from tests.support.stack import ROOT


def told(tmp_path: Path, *words: str, **more: str) -> list[dict]:
    """What is there after each kill."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("JENNY_")},
        "JENNY_DATA_DIR": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "jenny.settings",
        "PYTHONPATH": str(ROOT),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.settings_ui.backups.importer", *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def check(old: dict, new: dict, found: list[dict]) -> None:
    """Each is the old or the new state."""
    assert old["files"] != new["files"]
    assert old["said"] != new["said"]
    for one in found:
        assert (one["open"], one["noted"], one["swaps"], one["backups"]) == (0, 0, [], [])
        state = {name: one[name] for name in ("files", "rows", "said")}
        assert state in [{name: side[name] for name in state} for side in (old, new)]


def test_killed_at_any_step_it_is_old_or_new(tmp_path: Path) -> None:
    """SIGKILL before steps that reach the disk or end a transaction, all over the way; the next
    process finishes or takes back: never half the files, never conversations without them."""
    today, times = seed(), 300 if "JENNY_SOAK" in os.environ else 8
    print(f"seed {today}")
    old, new, *found = told(tmp_path, str(today), str(times))
    check(old, new, found)
    assert len(found) == times


def test_on_postgresql_it_is_the_same(tmp_path: Path, new_database: Callable[[], str]) -> None:
    """Imported twice, nothing is doubled; into a new workspace, all of it is there once more."""
    first, second, third = told(tmp_path, "thrice", DATABASE_URL=new_database())
    assert first == second
    assert first["rows"]["Conversation"] == 1
    doubled = {name: 2 * count for name, count in first["rows"].items()}
    assert third["rows"] == doubled
    assert third["said"] == sorted(2 * first["said"])
