"""The history of an older program is taken over once, and set aside."""

import json
import os
from pathlib import Path

import pytest

from jenny.workspace.check import Finding
from memory.history import check, cursors, legacy, log, prompt, reader
from memory.history.entries import NewHistoryEntry
from tests.memory.history.test_kills import entries as rows_of
from tests.memory.history.test_kills import run

OLD = """\ufeff[2026-01-15 14:30] Ana asked about trains.
She decided for the night train.

[2026-01-16 08:00] [RAW] 3 messages
[2026-01-16 07:58] USER: hello

with a blank line
[2026-01-16 07:59] ASSISTANT [tools: read_file]: hi
[2026-01-16T08:00:01] USER: [2026-01-01 00:00] is no date of mine
[2026-02-01 09:00] One line after the other
[2026-02-01 09:05] is an entry

[2026-13-45 99:99] no such day
[2026-03-01 10:00 CET] another way to write it

Nothing but words.\r
\r
[2026-03-02 11:00]
"""

RAW = """\
[RAW] 3 messages
[2026-01-16 07:58] USER: hello

with a blank line
[2026-01-16 07:59] ASSISTANT [tools: read_file]: hi
[2026-01-16T08:00:01] USER: [2026-01-01 00:00] is no date of mine"""


def lines(history: Path) -> list[dict]:
    """The rows of the history."""
    return [json.loads(line) for line in history.read_text("utf-8").split("\n") if line]


@pytest.fixture
def older(root: Path) -> Path:
    """An older history, last changed on a known day."""
    path = root / legacy.PATH
    path.write_bytes(OLD.encode())
    os.utime(path, (1_790_000_000, 1_790_000_000))
    return path


def test_entries_come_over_with_their_stamps(root: Path, history: Path, older: Path) -> None:
    """Each as it was; what has no stamp gets the file's; Dream does not read them again."""
    data = older.read_bytes()
    done = legacy.take_over(root)
    assert done == legacy.TakenOver(8, "memory/HISTORY.md.bak")
    rows = lines(history)
    assert [row["cursor"] for row in rows] == list(range(1, 9))
    assert [(row["timestamp"], row["content"]) for row in rows] == [
        ("2026-01-15 14:30", "Ana asked about trains.\nShe decided for the night train."),
        (
            "2026-01-16 08:00",
            RAW,
        ),
        ("2026-02-01 09:00", "One line after the other"),
        ("2026-02-01 09:05", "is an entry"),
        ("2026-09-21 14:13", "[2026-13-45 99:99] no such day"),
        ("2026-09-21 14:13", "[2026-03-01 10:00 CET] another way to write it"),
        ("2026-09-21 14:13", "Nothing but words."),
        ("2026-03-02 11:00", "[2026-03-02 11:00]"),
    ]
    assert [row["kind"] for row in rows].count("raw") == 1
    assert cursors.dream_cursor(root) == cursors.counter(root) == 8
    assert reader.read_pending(root).entries == ()
    assert not older.exists()
    assert (root / legacy.KEPT).read_bytes() == data
    assert legacy.take_over(root) is None


def test_what_is_new_comes_behind_it(root: Path, history: Path, older: Path) -> None:
    """The first entry takes it over first; only the new one waits for Dream."""
    (made,) = log.append(root, [NewHistoryEntry("- [durable] new")]).entries
    assert made.cursor == 9
    assert [entry.cursor for entry in reader.read_pending(root).entries] == [9]
    assert len(lines(history)) == 9
    assert not older.exists()


def test_a_turn_takes_it_over(root: Path, history: Path, older: Path) -> None:
    """Nobody need wait for a first entry; the prompt does not show what is old."""
    assert prompt.block(root) is None
    assert not older.exists()
    assert len(lines(history)) == 8


def test_a_history_with_entries_is_not_mixed(root: Path, history: Path, older: Path) -> None:
    """Both files stay as they are, and a person is told."""
    history.write_bytes(b'{"cursor": 1, "content": "mine"}\n')
    assert legacy.take_over(root) is None
    log.append(root, [NewHistoryEntry("next")])
    assert older.read_bytes() == OLD.encode()
    assert [row["content"] for row in lines(history)] == ["mine", "next"]
    (found,) = findings(root)
    assert found.level == "problem"
    assert "has notes already" in found.message


def test_numbers_are_never_used_again(root: Path, older: Path) -> None:
    """An emptied history had numbers, too; nothing that was set aside is written over."""
    (root / "memory" / ".dream_cursor").write_text("40\n")
    (root / "memory" / "history.jsonl").write_text("\n")
    (root / legacy.KEPT).write_text("older still")
    assert legacy.take_over(root) == legacy.TakenOver(8, "memory/HISTORY.md.bak.2")
    assert [entry.cursor for entry in reader.newest(root, 2)] == [47, 48]
    assert (root / legacy.KEPT).read_text() == "older still"


def test_secrets_go_and_long_entries_become_groups(root: Path, history: Path) -> None:
    """As with every entry that is added."""
    key = "ghp_" + "aB3d" * 9
    text = f"[2026-01-01 10:00] The key {key}.\n\n[2026-01-02 10:00] " + "word " * 4_000
    (root / legacy.PATH).write_text(text)
    legacy.take_over(root)
    rows = lines(history)
    assert key not in history.read_text()
    assert rows[0]["content"] == "The key [redacted: GitHub token]."
    assert [row["part"] for row in rows[1:]] == [[1, 3], [2, 3], [3, 3]]
    assert len({row["group"] for row in rows[1:]}) == 1
    assert key in (root / legacy.KEPT).read_text()


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"[2026-01-01 10:00] caf\xe9 noir\n", "caf\ufffd noir"),
        ("[2026-01-01 10:00] café\r\n".encode("utf-16"), "café"),
        (b"[2026-01-01 10:00] a\x00b\xed\xa0\x80\n", None),
    ],
)
def test_odd_bytes_are_kept_in_the_file_set_aside(
    root: Path, history: Path, data: bytes, content: str | None
) -> None:
    """What is no text is marked; the bytes themselves stay where they can be looked at."""
    (root / legacy.PATH).write_bytes(data)
    legacy.take_over(root)
    (row,) = lines(history)
    assert row["timestamp"] == "2026-01-01 10:00"
    assert content in {row["content"], None}
    assert (root / legacy.KEPT).read_bytes() == data


def test_a_blank_one_is_set_aside(root: Path, history: Path) -> None:
    """There is nothing in it, and nobody need look at it again."""
    (root / legacy.PATH).write_text("\n \n")
    assert legacy.take_over(root) == legacy.TakenOver(0, "memory/HISTORY.md.bak")
    assert not history.exists()
    (found,) = findings(root)
    assert (found.path, found.level) == ("memory/HISTORY.md.bak", "note")


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large"])
def test_one_that_cannot_be_read_stops_nobody(root: Path, tmp_path: Path, kind: str) -> None:
    """It stays where it is, entries are added, and a person is told what to do."""
    path = root / legacy.PATH
    if kind == "link":
        (tmp_path / "elsewhere").write_text(OLD)
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(legacy.MOST_BYTES + 1)
    (found,) = findings(root)
    assert (found.path, found.level) == (legacy.PATH, "problem")
    prompt.block(root)
    assert log.append(root, [NewHistoryEntry("new")]).entries[0].cursor == 1
    assert os.path.lexists(path)


def test_check_workspace_takes_it_over_when_asked(root: Path, older: Path) -> None:
    """Without repair it only says that it will be."""
    (found,) = findings(root)
    assert "is taken over with the next message" in found.message
    assert older.exists()
    (found,) = findings(root, repair=True)
    assert found.path == legacy.KEPT
    assert not older.exists()


def test_killed_at_any_moment_nothing_is_lost_or_doubled(in_memory: Path) -> None:
    """Killed before each step that reaches the disk: whoever comes next finds all of it once,
    read by Dream, and the old file under its new name."""
    left = run("die", in_memory, "take_over")
    assert len(left) > 10
    assert left[-1]["through"]
    for row in left:
        then = row["then"]
        rows = [entry for one in rows_of(then).values() for entry in one]
        said = sorted((entry["cursor"], entry["content"]) for entry in rows)
        assert said == [*((at, f"old {at}") for at in range(1, 41)), (41, "after")]
        assert then["HISTORY.md.bak"].count("[2026-") == 40
        assert "HISTORY.md" not in then
        assert then[".dream_cursor"] == "40\n"
        assert not [name for name in then if name.endswith(".bak.2")]


def test_many_at_once_take_it_over_once(in_memory: Path) -> None:
    """Whoever is first does; every new entry stands behind the old ones."""
    (told,) = run("many_first", in_memory, 6)
    (rows,) = rows_of(told["then"]).values()
    assert [row["cursor"] for row in rows] == list(range(1, 47))
    assert [row["content"] for row in rows[:40]] == [f"old {at}" for at in range(1, 41)]
    assert {row["content"] for row in rows[40:]} == {f"new {at}" for at in range(6)}
    assert [name for name in told["then"] if "HISTORY" in name] == ["HISTORY.md.bak"]


def findings(root: Path, *, repair: bool = False) -> list[Finding]:
    """What is said of the older history."""
    return [
        found
        for found in check.check_history(root, repair=repair)
        if found.path.startswith("memory/HISTORY.md")
    ]
