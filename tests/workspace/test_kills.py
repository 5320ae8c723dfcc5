"""A process killed at any moment of an act leaves the old or the new state, never a mix."""

import json
from pathlib import Path

import pytest

from tests.support.chance import seed
from tests.support.dying import told
from tests.workspace import act


def killed(folder: Path, name: str, command: str = "die", *only: int) -> list[dict]:
    """What was left each time the act was killed, at each of its steps in turn."""
    left = told("tests.workspace.act", command, folder, name, *only)
    assert left[-1]["through"]
    assert all(row["journals"] == [] for row in left)
    return left


def contents(row: dict) -> dict[str, bytes]:
    """The files that were left, settings apart."""
    return {
        path: text.encode()
        for path, text in row["files"].items()
        if not path.startswith("config.json")
    }


BEFORE = act.OLD
AFTER = {path: data for path, data in (act.OLD | act.NEW).items() if data is not None}


def test_one_file_is_old_or_new(in_memory: Path) -> None:
    """Killed before each fsync and rename of a write, the file is whole every time."""
    left = killed(in_memory, "write")
    after = BEFORE | {"a.md": act.NEW["a.md"]}
    assert len(left) > 3
    assert all(contents(row) in (BEFORE, after) for row in left)
    assert contents(left[0]) == BEFORE
    assert contents(left[-1]) == after


def test_several_files_are_all_old_or_all_new(in_memory: Path) -> None:
    """An act on several files, killed at each step, is finished or undone by the next start."""
    left = killed(in_memory, "many")
    assert len(left) > 10
    assert all(contents(row) in (BEFORE, AFTER) for row in left)
    assert contents(left[0]) == BEFORE
    assert contents(left[-1]) == AFTER
    # Once the journal is written, the act is finished: there are kills on both sides of it.
    turned = [contents(row) == AFTER for row in left]
    assert turned == sorted(turned)
    assert 3 < turned.index(True) < len(turned) - 3


def test_the_next_start_may_be_killed_as_well(in_memory: Path) -> None:
    """Killed in the act and again while it is being settled, it still ends whole (a sample)."""
    first = seed() % 30 + 1
    left = killed(in_memory, "many", "die-twice", first)
    assert all(contents(row) in (BEFORE, AFTER) for row in left), f"first kill at {first}"


@pytest.mark.soak
def test_every_start_may_be_killed_as_well(in_memory: Path) -> None:
    """Every pair of kills, in the act and while it is being settled."""
    left = killed(in_memory, "many", "die-twice")
    assert len(left) > 100
    assert all(contents(row) in (BEFORE, AFTER) for row in left)


def test_settings_are_old_or_new(in_memory: Path) -> None:
    """Killed while it changes them, the settings and their backup can be read every time."""
    left = killed(in_memory, "settings")
    numbers = []
    for row in left:
        raw = json.loads(row["files"]["config.json"])
        assert raw["mine"] == 1
        numbers.append(raw["agents"]["defaults"]["maxMessages"])
        if "config.json.bak" in row["files"]:
            backup = json.loads(row["files"]["config.json.bak"])
            assert backup["agents"]["defaults"]["maxMessages"] == 101
    assert numbers == sorted(numbers)
    assert {numbers[0], numbers[-1]} == {101, 102}


def test_seeding_is_finished_by_doing_it_again(in_memory: Path) -> None:
    """A first start that was killed leaves whole files only."""
    left = killed(in_memory, "seeding")
    templates = {path: act.seed.template(path) for path in act.seed.SHIPPED}
    for row in left:
        files = contents(row)
        assert {path: data for path, data in files.items() if path in BEFORE} == BEFORE
        made = {path: data for path, data in files.items() if path not in BEFORE}
        assert made.items() <= templates.items()
