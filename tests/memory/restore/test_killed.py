"""A restore whose process is killed: the old or the new state, settled by the next start."""

import random
from pathlib import Path

import pytest

from tests.memory.restore import restorer
from tests.support.chance import seed
from tests.support.dying import told


def killed(folder: Path, *how: object) -> list[dict]:
    """What was left each time."""
    return told("tests.memory.restore.restorer", folder / "all", *how)


@pytest.fixture
def ends(in_memory: Path) -> tuple[dict, dict, int]:
    """The state before, the state after, and in how many steps the second is reached."""
    root, _, _ = restorer.make(in_memory / "all")
    before = restorer.state(root)["files"]
    (row,) = killed(in_memory, "steps", 0)
    assert row["files"]["was-folder/x.md"] == "in a folder then"
    return before, row["files"], row["count"]


def check(rows: list[dict], before: dict, after: dict) -> list[bool]:
    """Every one is whole, and nothing that was said is in neither place."""
    for row in rows:
        assert row["journals"] == [], row.get("step")
        assert row["files"] in (before, after), row.get("step")
        if row["files"] == after:
            assert row["offered"] == [3, 4, 5, 6], row.get("step")
            assert len(row["archived"]) == 2, row.get("step")
    return [row["files"] == after for row in rows]


def test_killed_at_steps_all_along(in_memory: Path, ends: tuple[dict, dict, int]) -> None:
    """A sample of all steps that reach the disk, every one of them in ``make soak``."""
    before, after, count = ends
    chance = random.Random(seed())
    sample = sorted(chance.sample(range(1, count + 1), 40))
    turned = check(killed(in_memory, "steps", *sample), before, after)
    assert turned == sorted(turned)
    assert {True, False} == set(turned)


@pytest.mark.soak
def test_killed_at_every_step(in_memory: Path, ends: tuple[dict, dict, int]) -> None:
    """Each fsync, rename, link, unlink and mkdir of a restore."""
    before, after, count = ends
    assert count > 100
    turned = check(killed(in_memory, "steps", *range(1, count + 1)), before, after)
    assert turned == sorted(turned)


def test_killed_at_random(in_memory: Path, ends: tuple[dict, dict, int]) -> None:
    """At random moments, wherever the process is."""
    before, after, _ = ends
    check(killed(in_memory, "random", seed(), 15), before, after)


@pytest.mark.soak
def test_killed_at_200_random_points(in_memory: Path, ends: tuple[dict, dict, int]) -> None:
    """The same, with the full count."""
    before, after, _ = ends
    rows = killed(in_memory, "random", seed(), 200)
    assert len(rows) == 200
    check(rows, before, after)
