"""Reading the history: whatever somebody made of the file, what can be read is read."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jenny.workspace.files import Actor
from memory import message_sources
from memory.history import cursors, log, reader
from memory.history.entries import HistoryEntry, NewHistoryEntry
from tests.memory.history.conftest import line

BAD = [
    line("abc"),
    line(None),
    line(3.0),
    line(True),
    line(-1),
    line(0),
    line("7"),
    line(2, None),
    line(2, ["text"]),
    b'{"timestamp": "t", "content": "no cursor"}\n',
    b'[{"cursor": 5, "content": "in a list"}]\n',
    b"7\n",
    b"null\n",
    b"\n",
    b" \r\n",
    b"# a heading\n",
    b'{"cursor": 5, "content": "caf\xe9"}\n',
    b'{"cursor": 9999999999999999999999999, "content": "a"}\n',
    b'{"cursor": 1' + b"0" * 5_000 + b', "content": "a"}\n',
    b"[" * 100_000 + b"\n",
]


def test_bad_lines_are_skipped_and_counted(root: Path, history: Path) -> None:
    """HIS3: the next cursor is above the highest right one; the good lines are all there."""
    history.write_bytes(b"\xef\xbb\xbf" + line(1, "with a mark") + b"".join(BAD) + line(41, "last"))
    assert [entry.content for entry in reader.read_pending(root).entries] == ["with a mark", "last"]
    assert reader.read_all(root).skipped == tuple(range(2, len(BAD) + 2))
    (made,) = log.append(root, [NewHistoryEntry("next")]).entries
    assert made.cursor == 42
    assert reader.read_all(root).entries == 3


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_last_line_hides_no_cursor(root: Path, history: Path, bad: bytes) -> None:
    """The line before it counts, and so does everything further up."""
    history.write_bytes(line(30) + line(12) + bad)
    (made,) = log.append(root, [NewHistoryEntry("next")]).entries
    assert made.cursor == 31
    assert [entry.cursor for entry in reader.read_pending(root).entries] == [30, 12, 31]


def test_an_entry_with_odd_extras_is_an_entry(root: Path, history: Path) -> None:
    """Only cursor and content make one; what else is odd counts as absent."""
    history.write_bytes(
        line(
            1, timestamp=5, kind=[], conversation=7, messages="x", group=1, part=[1], mine={"a": 1}
        )
        + line(2, prompt_visible=0)
        + line(3, prompt_visible=False)
    )
    first, second, third = reader.read_pending(root).entries
    assert (first.timestamp, first.kind, first.messages, first.part) == ("", "", None, None)
    assert [entry.prompt_visible for entry in (first, second, third)] == [True, True, False]


def test_two_entries_of_one_cursor_are_both_read(root: Path, history: Path) -> None:
    """Nothing is lost; the very same line twice is one entry."""
    history.write_bytes(line(1, "a") + line(2, "b") + line(2, "c") + line(1, "a"))
    assert sorted(entry.content for entry in reader.read_pending(root).entries) == ["a", "b", "c"]
    assert reader.read_all(root).twice == (2,)


def test_only_what_dream_has_not_read_is_pending(root: Path, history: Path) -> None:
    """The newest ones when not all are wanted; also where a hand put lines out of order."""
    history.write_bytes(b"".join(line(number, str(number)) for number in range(1, 201)))
    cursors.set_dream_cursor(root, 150, Actor("pipeline"))
    found = reader.read_pending(root)
    assert [entry.cursor for entry in found.entries] == list(range(151, 201))
    assert found.is_all
    found = reader.read_pending(root, most=10)
    assert [entry.cursor for entry in found.entries] == list(range(191, 201))
    assert not found.is_all
    assert reader.read_pending(root, most=50).is_all
    history.write_bytes(line(160) + b"".join(line(number) for number in range(1, 21)))
    assert [entry.cursor for entry in reader.read_pending(root).entries] == [160]


def test_what_is_acknowledged_is_read_under_the_lock(root: Path, history: Path) -> None:
    """Whoever moves Dream's cursor sees nothing that its writer may take back."""
    log.append(root, [NewHistoryEntry("a"), NewHistoryEntry("b" * 9_000)])
    history.write_bytes(history.read_bytes()[:-20])
    assert [entry.content for entry in reader.acknowledged(root).entries] == ["a"]
    assert reader.read_all(root).unfinished == 0


def test_lines_longer_than_a_block_are_read_whole(root: Path, history: Path) -> None:
    """Also many of them, and one beside which nothing stands."""
    texts = ["é" * 300_000, "short", "x" * 16_384, "y" * 16_383]
    history.write_bytes(b"".join(line(at, text) for at, text in enumerate(texts, 1)))
    assert [entry.content for entry in reader.read_pending(root).entries] == texts


def test_what_is_about_the_same_messages_is_recognised(root: Path) -> None:
    """A crash between adding and noting repeats nothing; half a group is no group."""
    log.append(root, [NewHistoryEntry("x" * 20_000, kind="raw", conversation="c", messages=(4, 9))])
    log.append(root, [NewHistoryEntry("other", conversation="c", messages=(10, 12))])
    log.append(root, [NewHistoryEntry("another", conversation="d", messages=(4, 9))])
    assert [entry.cursor for entry in reader.about(root, "c", (4, 9))] == [1, 2]
    assert [entry.content for entry in reader.about(root, "c", (10, 12))] == ["other"]
    assert reader.about(root, "c", (4, 10)) == ()
    path = root / "memory" / "history.jsonl"
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    assert reader.about(root, "c", (4, 9)) == ()


@pytest.mark.parametrize("stamp", ["soon", "", "9999-12-31 23:59", "2026-02-30 10:00"])
def test_a_stamp_that_tells_nothing_stops_nobody(stamp: str) -> None:
    """A hand may have written it; then nothing is known of when the entry was written."""
    assert message_sources.written_at(HistoryEntry(1, stamp, "text")) is None


def test_a_stamp_names_no_zone() -> None:
    """It is the latest moment that it can mean, in whichever zone it was written."""
    written = message_sources.written_at(HistoryEntry(1, "2026-10-25 02:30", "text"))
    assert written == datetime(2026, 10, 25, 14, 31, tzinfo=UTC)


def test_no_history_is_an_empty_one(root: Path) -> None:
    """Nothing is made by looking."""
    assert reader.read_pending(root).entries == ()
    assert reader.read_all(root) == reader.HistoryScan()
    assert reader.newest(root, 5) == ()
    assert list((root / "memory").iterdir()) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "cursor": st.integers(1, 60) | VALUES,
        "content": st.text() | VALUES,
        "timestamp": VALUES,
        "group": st.sampled_from("gh"),
        "part": st.tuples(st.integers(-1, 4), st.integers(-1, 4)),
        "prompt_visible": VALUES,
    },
)
LINES = st.one_of(
    ROWS.map(lambda row: json.dumps(row).encode() + b"\n"),
    st.integers(1, 60).map(line),
    st.binary(max_size=40),
    st.sampled_from(BAD),
)


def is_entry(text: bytes) -> bool:
    """The rule of the documents, said once more."""
    try:
        row = json.loads(text.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(row, dict)
        and type(row.get("cursor")) is int
        and 1 <= row["cursor"] <= 2**62
        and isinstance(row.get("content"), str)
    )


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=st.lists(LINES, max_size=12))
def test_any_file_can_be_added_to(root: Path, history: Path, lines: list[bytes]) -> None:
    """Whatever it holds: nothing raises, entries above stay, the new one is the highest."""
    for leftover in (root / "memory").glob(".*c*"):
        leftover.unlink()
    before = b"".join(lines)
    history.write_bytes(before)
    reader.read_pending(root)
    reader.read_all(root)
    (made,) = log.append(root, [NewHistoryEntry("the new one")]).entries
    after = history.read_bytes()
    assert after.endswith(b"\n")
    good = [text for text in before.split(b"\n") if is_entry(text)]
    highest = max((json.loads(text.decode("utf-8-sig"))["cursor"] for text in good), default=0)
    assert made.cursor > highest or not good
    there = after.split(b"\n")
    gone = [text for text in good if text not in there]
    # Only a group without its end may go, and it is kept aside.
    kept = root / "memory" / ".history.cut"
    aside = kept.read_bytes().split(b"\n") if kept.exists() else []
    assert all(text in aside and b'"group"' in text for text in gone)
    assert reader.newest(root, 1) == (made,)
