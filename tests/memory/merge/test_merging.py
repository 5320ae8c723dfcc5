"""Ledgers of two states put together: nothing that either side knows is lost, and nothing that was
taken out on purpose comes back."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.workspace.files import Actor
from memory import archive, consents
from memory.archive import file_format
from memory.archive.file_format import Archived, Event
from memory.facts import digest
from memory.history import removal
from memory.merge import is_ledger, merge_ledgers

HISTORY, CURSOR, COUNTER = "memory/history.jsonl", "memory/.dream_cursor", "memory/.cursor"
SEGMENT, STONES = "memory/archive/history-2026-02.jsonl", "memory/.forgotten.jsonl"


def line(cursor: int, text: str = "") -> bytes:
    """A line of the history."""
    row = {"cursor": cursor, "timestamp": "2026-02-01 10:00", "content": text or f"fact {cursor}"}
    return json.dumps(row).encode() + b"\n"


def lines(*cursors: int) -> bytes:
    """Several lines."""
    return b"".join(map(line, cursors))


def state(history: bytes, *, read: int | None, **more: bytes) -> dict[str, bytes]:
    """A state of the history."""
    place = {} if read is None else {CURSOR: b"%d\n" % read}
    return {HISTORY: history, **place, **more}


def test_a_history_that_only_went_on_is_left_as_it_is() -> None:
    """The common case: nothing is written, and Dream sees again what it has read since."""
    now, then = state(lines(1, 2, 3, 4, 5), read=4), state(lines(1, 2, 3), read=2)
    done = merge_ledgers(now | {COUNTER: b"5\n"}, then | {COUNTER: b"3\n"})
    assert (done.files, done.reoffer, done.notes) == ({}, (3, 4), ())


def test_entries_that_moved_to_the_archive_are_not_doubled() -> None:
    """They stand in a segment by now, and are known all the same."""
    now = state(lines(4, 5), read=5) | {SEGMENT: lines(1, 2, 3), COUNTER: b"5\n"}
    done = merge_ledgers(now, state(lines(1, 2, 3, 4), read=1))
    assert (done.files, done.reoffer) == ({}, (2, 3, 4, 5))


def test_a_history_that_was_lost_comes_back_in_its_order() -> None:
    """Lines that are missing come back to their places; lines that are none stay."""
    now = state(lines(2) + b"not an entry\n" + lines(6), read=2)
    done = merge_ledgers(now, state(lines(1, 2, 3), read=3))
    assert done.files[HISTORY] == lines(1, 2) + b"not an entry\n" + lines(3, 6)
    assert done.files[COUNTER] == b"6\n"
    assert CURSOR not in done.files
    assert "2 notes" in done.notes[0]


def test_dreams_place_stays_and_one_that_is_missing_is_taken_over() -> None:
    """It never goes back, and never forward past what was read."""
    now, then = state(lines(1, 2, 3), read=3), state(lines(1, 2), read=1)
    assert CURSOR not in merge_ledgers(now, then).files
    assert merge_ledgers(state(lines(1, 2, 3), read=None), then).files[CURSOR] == b"1\n"


def test_an_entry_taken_out_with_its_conversation_does_not_come_back(tmp_path) -> None:
    """A deleted chat stays deleted, whatever snapshot is restored."""
    root = tmp_path
    (root / "memory").mkdir()
    mine = {"cursor": 1, "timestamp": "2026-02-01 10:00", "content": "x", "conversation": "c"}
    before = json.dumps(mine).encode() + b"\n" + line(2)
    (root / HISTORY).write_bytes(before)
    assert removal.remove(root, "c") == 1
    now = {path: (root / path).read_bytes() for path in (HISTORY, STONES)}
    assert now[HISTORY] == line(2)
    assert HISTORY not in merge_ledgers(now, {HISTORY: before}).files
    assert archive.find(root, "x") == ()


def test_what_is_forgotten_on_either_side_stays_forgotten() -> None:
    """Also when it was lifted on one: what was said last holds, by its time."""
    one, two = b'{"id": "a", "at": "1"}', b'{"lifted": "a", "at": "2"}'
    done = merge_ledgers({STONES: one}, {STONES: one + b"\n" + two + b"\ntorn"})
    assert done.files[STONES] == one + b"\n" + two + b"\ntorn\n"
    assert merge_ledgers({STONES: one}, {STONES: one + b"\n"}).files == {}


def test_a_text_of_the_archive_tells_of_the_removals_of_both() -> None:
    """One text that left on both sides is one file with both days; damage changes nothing."""
    text = "Lives in Bern"

    name = f"2026-01-01-{digest(text)[:12]}.md"
    item = Archived(digest(text)[:12], text, "USER.md", "User", (Event("2026-01-01", "dream"),))
    mine, theirs = (
        file_format.render(item),
        file_format.render(file_format.with_event(item, Event("2026-02-02", "chat"))),
    )
    path = f"memory/archive/{name}"
    done = merge_ledgers({path: mine}, {path: theirs})
    found = file_format.parse(name, done.files[path])
    assert found is not None
    assert [event.date for event in found.events] == ["2026-01-01", "2026-02-02"]
    assert merge_ledgers({path: theirs}, {path: mine}).files == {}
    assert merge_ledgers({path: mine}, {path: b"damaged"}).files == {}
    assert merge_ledgers({}, {path: mine}).files == {path: mine}


def test_another_workspaces_entries_get_numbers_of_their_own() -> None:
    """A number taken here stands for another entry there: both stay, and what nobody has read here
    is read."""
    now = state(line(1, "mine") + line(2, "mine too"), read=1)
    then = state(line(1, "theirs") + line(3, "theirs too"), read=1)
    done = merge_ledgers(now, then, is_same=False)
    rows = [json.loads(row) for row in done.files[HISTORY].splitlines()]
    assert [(row["cursor"], row["content"]) for row in rows] == [
        (1, "mine"), (2, "mine too"), (3, "theirs too"), (4, "theirs"),
    ]  # fmt: skip
    assert done.files[COUNTER] == b"4\n"
    assert done.reoffer == (1,)
    assert "new number" in done.notes[1]


def test_an_import_into_an_empty_workspace_goes_on_where_it_was() -> None:
    """Nothing is read twice by Dream that it had read there."""
    then = state(lines(1, 2, 3), read=2) | {COUNTER: b"3\n"}
    done = merge_ledgers({}, then, is_same=False)
    assert done.files == then
    assert done.reoffer == ()


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (HISTORY, True), (CURSOR, True), (COUNTER, True), (STONES, True), (SEGMENT, True),
        ("memory/archive/2026-01-01-0123456789ab.md", True), ("memory/MEMORY.md", False),
        ("memory/.pins.jsonl", False), ("USER.md", False), ("memory/archive.md", False),
        ("memory/.consents.jsonl", True), ("memory/.approved.jsonl", True),
        ("wikis/a/memory/history.jsonl", False),
    ],
)  # fmt: skip
def test_which_files_are_ledgers(path: str, is_one: bool) -> None:
    """These and no others are put together; everything else is brought back as it was."""
    assert is_ledger(path) is is_one


def test_a_consent_that_was_withdrawn_stays_so(tmp_path: Path) -> None:
    """Whoever goes back to a day on which it was given is asked again all the same."""
    person = Actor("browser")
    consents.give(tmp_path, "AGENTS.md", person)
    then = (tmp_path / consents.PATH).read_bytes()
    consents.withdraw(tmp_path, "AGENTS.md", person)
    now = (tmp_path / consents.PATH).read_bytes()
    done = merge_ledgers({consents.PATH: now}, {consents.PATH: then})
    assert consents.PATH not in done.files
    (tmp_path / consents.PATH).write_bytes(
        merge_ledgers({consents.PATH: then}, {consents.PATH: now}).files[consents.PATH]
    )
    assert not consents.given(tmp_path)


@given(
    now=st.sets(st.integers(1, 30)),
    then=st.sets(st.integers(1, 30)),
    moved=st.sets(st.integers(1, 30)),
    read=st.integers(0, 30),
    read_then=st.integers(0, 30),
)
def test_no_entry_is_ever_lost(now, then, moved, read, read_then) -> None:
    """Whatever either side has is there once; whatever the files that come back do not know is
    still to be read, or shown again."""
    current = state(lines(*sorted(now - moved)), read=read) | {SEGMENT: lines(*sorted(now & moved))}
    other = state(lines(*sorted(then)), read=read_then)
    done = merge_ledgers(current, other)
    files = current | done.files
    found = [
        json.loads(row)["cursor"] for path in (HISTORY, SEGMENT) for row in files[path].splitlines()
    ]
    assert sorted(found) == sorted(now | then)
    for cursor in now | then:
        known_then = cursor <= read_then
        assert known_then or cursor > read or cursor in done.reoffer
    last = max([0, *found, read, read_then])
    assert last == 0 or int(files[COUNTER]) >= last
