"""The history is kept short, and nothing leaves it that Dream has not read."""

import json
from pathlib import Path

import pytest

from jenny.workspace.files import Actor
from memory.errors import CursorBroken
from memory.history import cursors, log, reader
from memory.history.entries import NewHistoryEntry
from tests.memory.history.conftest import line


def cursors_in(path: Path) -> list[int]:
    """The cursors of a file's entries."""
    return [json.loads(text)["cursor"] for text in path.read_bytes().splitlines()]


def dream_has_read(root: Path, cursor: int) -> None:
    """Dream's cursor stands there."""
    cursors.set_dream_cursor(root, cursor, Actor("pipeline"))


def test_only_what_dream_has_read_counts_and_moves(root: Path, history: Path) -> None:
    """HIS1: cap 50, 100 entries of which 20 were read: nothing moves. Of 80 read, 30 do."""
    history.write_bytes(b"".join(line(number) for number in range(1, 101)))
    dream_has_read(root, 20)
    assert log.compact(root, cap=50) == log.Compacted(0, 20, 80)
    assert len(cursors_in(history)) == 100
    dream_has_read(root, 80)
    assert log.compact(root, cap=50) == log.Compacted(30, 50, 20)
    assert cursors_in(history) == list(range(31, 101))
    assert cursors_in(root / "memory/archive/history-2026-11.jsonl") == list(range(1, 31))


def test_a_backlog_is_kept_and_warned_about(root: Path, history: Path) -> None:
    """Dream off for a long time: all of it stays."""
    history.write_bytes(b"".join(line(number) for number in range(1, 1_103)))
    done = log.compact(root)
    assert (done.moved, done.backlog) == (0, 1_102)
    assert done.warning.startswith("1,102 notes of the history wait for Dream. All of them are")
    dream_has_read(root, 600)
    assert log.compact(root).warning == ""


def test_the_very_lines_move(root: Path, history: Path) -> None:
    """Keys that nobody knows, spacing and escapes survive, in what moves and in what stays."""
    lines = [
        b'{"mine": {"a": [1]}, "cursor":1,"content":"caf\\u00e9","timestamp":"2026-01-31 23:59"}',
        b'{"cursor": 2, "content": "no stamp", "x": 1}',
        b"no entry at all",
        b'{"cursor": 3, "timestamp": "2026-02-01 00:00", "content": "b",   "y": null}',
        b'{"cursor": 4, "timestamp": "2026-02-01 00:01", "content": "c", "z": 0}',
    ]
    history.write_bytes(b"\n".join(lines) + b"\n")
    dream_has_read(root, 4)
    assert log.compact(root, cap=1).moved == 3
    folder = root / "memory" / "archive"
    assert (folder / "history-2026-01.jsonl").read_bytes().split(b"\n") == [*lines[:2], b""]
    assert (folder / "history-2026-02.jsonl").read_bytes().split(b"\n") == [lines[3], b""]
    assert history.read_bytes().split(b"\n") == [lines[2], lines[4], b""]
    assert log.list_segments(root) == [
        "memory/archive/history-2026-01.jsonl",
        "memory/archive/history-2026-02.jsonl",
    ]


def test_a_group_moves_as_a_whole_or_stays(root: Path) -> None:
    """One that Dream has read in part stays."""
    for _ in range(2):
        log.append(root, [NewHistoryEntry("x" * 40_000, kind="raw")])
    dream_has_read(root, 5)
    assert log.compact(root, cap=4).moved == 3
    assert [entry.cursor for entry in reader.newest(root, 9)] == [4, 5, 6]
    assert log.compact(root, cap=0).moved == 0
    dream_has_read(root, 6)
    assert log.compact(root, cap=0).moved == 3
    (made,) = log.append(root, [NewHistoryEntry("next")]).entries
    assert made.cursor == 7


def test_what_was_moved_already_is_not_there_twice(root: Path, history: Path) -> None:
    """A history put back from a backup, or a crash between the two files."""
    old = b"".join(line(number) for number in range(1, 21))
    history.write_bytes(old)
    dream_has_read(root, 20)
    log.compact(root, cap=10)
    history.write_bytes(old)
    log.compact(root, cap=5)
    segment = root / "memory/archive/history-2026-11.jsonl"
    assert sorted(cursors_in(segment)) == list(range(1, 16))
    assert cursors_in(history) == list(range(16, 21))


def test_a_broken_cursor_of_dream_moves_nothing(root: Path, history: Path) -> None:
    """Nobody knows what was read; the error names the file."""
    history.write_bytes(b"".join(line(number) for number in range(1, 21)))
    (root / "memory" / ".dream_cursor").write_text("12a")
    with pytest.raises(CursorBroken, match=r"memory/\.dream_cursor holds '12a'"):
        log.compact(root, cap=1)
    assert len(cursors_in(history)) == 20


def test_no_history_stays_none(root: Path) -> None:
    """Nothing is made where nothing was said."""
    assert log.compact(root) == log.Compacted(0, 0, 0)
    assert list((root / "memory").iterdir()) == []
