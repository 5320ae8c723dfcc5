"""No fact is lost: random edits, moves, rewordings, prunes and rewrites by several processes, each
killed at another of its steps to the disk."""

from pathlib import Path

import pytest

from tests.support.chance import seed
from tests.support.dying import told


def played(folder: Path, number: int, rounds: int, *more: str) -> list[dict]:
    """What each round told."""
    rows = told("tests.memory.conserving", folder, str(number), str(rounds), *more)
    assert len(rows) == rounds
    assert sum(row["failed"] for row in rows) == 0, f"seed {number}"
    assert all(row["journals"] == [] for row in rows)
    return rows


@pytest.mark.parametrize(
    "rounds", [pytest.param(60, id="few"), pytest.param(1000, id="many", marks=pytest.mark.soak)]
)
def test_every_word_is_somewhere(in_memory, rounds):
    """Each word that was acknowledged is found in some file, after every round of kills."""
    chosen = seed()
    rows = played(in_memory, chosen, rounds)
    assert sum(row["killed"] for row in rows) > rounds // 4, f"seed {chosen}"
    lost = {row["round"]: row["missing"] for row in rows if row["missing"]}
    assert lost == {}, f"seed {chosen}"
    assert max(row["planted"] for row in rows) > 30


def test_the_search_would_notice(in_memory):
    """Without the archive words are missed, so that the test above can fail."""
    assert any(row["missing"] for row in played(in_memory, seed(), 6, "blind"))


def test_a_removal_is_one_act(in_memory):
    """Killed at each of its steps in turn, a person's removal has happened with its copy in the
    archive and its tombstone, or not at all."""
    rows = told("tests.memory.conserving", in_memory, "turns")
    whole = {"USER.md": True}
    gone = [row["left"] for row in rows if row["left"] != whole]
    assert rows[-1]["through"]
    assert 3 < len(gone) < len(rows) - 3
    for left in gone:
        archived = [path for path in left if path.startswith("memory/archive/")]
        assert left == {"USER.md": False, "memory/.forgotten.jsonl": True, archived[0]: True}
