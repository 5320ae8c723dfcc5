"""A process killed at any moment loses nothing that was acknowledged and leaves nothing torn."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.memory.history import act
from tests.support.chance import seed
from tests.support.dying import told


def run(*words: object) -> list[dict]:
    """What the processes tell."""
    return told("tests.memory.history.act", *words)


def entries(files: dict[str, str]) -> dict[str, list[dict]]:
    """The rows of the history and of each segment; every line must be one."""
    return {
        name: [json.loads(text) for text in content.split("\n") if text]
        for name, content in files.items()
        if name.endswith(".jsonl")
    }


def contents(rows: list[dict]) -> list[str]:
    """What the entries say, in their order."""
    return [row["content"] for row in rows]


OLD = [str(number) for number in range(1, 41)]


@pytest.mark.parametrize("name", ["append", "torn"])
def test_adding_is_all_or_nothing(in_memory: Path, name: str) -> None:
    """Killed before each step: the old entries and either nothing more, or all of the act."""
    left = run("die", in_memory, name)
    assert len(left) > 4
    assert left[-1]["through"]
    turned = []
    for row in left:
        rows = entries(row["then"])
        every = sorted((entry for one in rows.values() for entry in one), key=lambda e: e["cursor"])
        said = contents(every)
        assert said[:40] == OLD
        assert said[-1] == "after"
        middle = said[40:-1]
        # The single entry of the act may be there without its group, which is unacknowledged.
        assert middle in ([], ["the one"]) or middle[0] == "the one"
        assert "".join(middle[1:]) in ("", act.RAW)
        cursors = [entry["cursor"] for entry in every]
        assert cursors == sorted(set(cursors))
        turned.append(len(middle) > 1)
    assert turned == sorted(turned)
    assert turned[-1]


def test_moving_loses_nothing_and_doubles_nothing(in_memory: Path) -> None:
    """HIS6: killed before each step, the history is the old or the new file; then every entry is
    in one place."""
    left = run("die", in_memory, "compact")
    assert len(left) > 8
    for row in left:
        history = contents(entries(row["left"])["history.jsonl"])
        assert history in (OLD, OLD[15:])
        rows = entries(row["then"])
        every = Counter(entry["content"] for one in rows.values() for entry in one)
        assert every == Counter([*OLD, "after"])
        assert contents(rows["history.jsonl"]) == [*OLD[15:], "after"]
        for name, one in rows.items():
            if name != "history.jsonl":
                assert {f"history-{entry['timestamp'][:7]}.jsonl" for entry in one} == {
                    Path(name).name
                }
    assert contents(entries(left[0]["left"])["history.jsonl"]) == OLD
    assert contents(entries(left[-1]["left"])["history.jsonl"]) == OLD[15:]


def crowd(folder: Path, workers: int, times: int, kills: int) -> None:
    """Many at once; then what was acknowledged is compared with what is on disk."""
    chosen = seed()
    (told,) = run("crowd", folder, chosen, workers, times, kills)
    assert told["killed_adding"], f"nobody was killed while adding (seed {chosen})"
    acknowledged = {}
    for worker in range(workers):
        lines = (folder / f"acks-{worker}").read_text().splitlines()
        assert len(lines) == times
        for text in lines:
            content, _, given = text.partition(" ")
            acknowledged[content] = json.loads(given)
    found: dict[str, list[int]] = {}
    given_out: list[int] = []
    for name, text in act.state(folder / "workspace").items():
        if not name.endswith(".jsonl"):
            continue
        rows = [json.loads(one) for one in text.split("\n") if one and not one.startswith("#")]
        cursors = [row["cursor"] for row in rows]
        assert cursors == sorted(set(cursors)), name
        given_out += cursors
        for row in rows:
            if not row.get("part") or row["part"][0] == 1:
                found.setdefault(row["content"].split("\n")[0], []).append(row["cursor"])
    assert len(given_out) == len(set(given_out))
    for content, cursors in acknowledged.items():
        assert found[content] == cursors[:1], f"{content} (seed {chosen})"
        assert set(cursors) <= set(given_out)


def test_what_somebody_adds_by_hand_meanwhile_stays(in_memory: Path) -> None:
    """An editor or ``echo >>`` knows of no lock; its lines and ours stand one behind another."""
    (found,) = run("beside", in_memory, 5_000, 200)
    rows = entries(found["then"])["history.jsonl"]
    assert [row["by"] for row in rows if "by" in row] == [f"hand {at}" for at in range(5_000)]
    ours = [row["cursor"] for row in rows if str(row.get("content")).startswith("ours")]
    assert ours == found["made"] == list(range(42, 242))


def test_many_add_at_once_while_some_are_killed(in_memory: Path) -> None:
    """HIS2: every acknowledged entry is there once, under a cursor of its own, though others move,
    read and restore meanwhile. A short form; ``make soak`` runs all of it."""
    crowd(in_memory, workers=8, times=40, kills=60)


@pytest.mark.soak
def test_very_many_add_at_once_while_some_are_killed(tmp_path: Path) -> None:
    """8 processes add 500 entries each, on a real disk."""
    crowd(tmp_path, workers=8, times=500, kills=400)
