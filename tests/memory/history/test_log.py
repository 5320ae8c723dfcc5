"""Adding to the history: what is acknowledged is there, once, under a cursor of its own."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jenny.workspace import config, line_files, locks
from jenny.workspace.errors import LockTimeout, PathRefused, WriteFailed, WriteRefused
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.locks import Level
from memory.history import cursors, log, reader
from memory.history.entries import NewHistoryEntry
from tests.memory.history.conftest import line


def rows(history: Path) -> list[dict]:
    """The file's lines, read without the product."""
    return [json.loads(text) for text in history.read_bytes().split(b"\n") if text]


def add(root: Path, *contents: str) -> list[int]:
    """Add notes; their cursors."""
    made = log.append(root, [NewHistoryEntry(content, kind="note") for content in contents])
    return [entry.cursor for entry in made.entries]


def test_an_entry_is_one_line_that_people_can_search(root: Path, history: Path) -> None:
    """Characters stand as they are; the keys are those that users may rely on."""
    log.append(
        root,
        [NewHistoryEntry("- [durable] Žofie má 2 kočky 🐈", conversation="c1", messages=(3, 9))],
    )
    text = history.read_text(encoding="utf-8")
    assert "Žofie má 2 kočky 🐈" in text
    assert text.count("\n") == 1
    (row,) = rows(history)
    assert (row["cursor"], row["conversation"], row["messages"]) == (1, "c1", [3, 9])
    assert datetime.strptime(row["timestamp"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    assert set(row) == {"cursor", "timestamp", "content", "kind", "conversation", "messages"}
    assert (root / "memory" / ".cursor").read_text() == "1\n"


def test_cursors_rise_over_acts(root: Path) -> None:
    """Also past the point where they get another digit."""
    assert add(root, "a", "b") == [1, 2]
    assert [add(root, "x")[0] for _ in range(12)] == list(range(3, 15))


def test_a_cursor_is_never_used_again(root: Path, history: Path) -> None:
    """Not when the file is emptied or removed, its counter is, or an older one is put back."""
    add(root, "a", "b", "c")
    old = history.read_bytes()
    history.write_bytes(b"")
    assert add(root, "d") == [4]
    history.unlink()
    assert add(root, "e") == [5]
    history.write_bytes(old)
    assert add(root, "f") == [6]
    (root / "memory" / ".cursor").unlink()
    assert add(root, "g") == [7]
    (root / "memory" / ".cursor").write_bytes(b"2\n")
    assert add(root, "h") == [8]
    (root / "memory" / ".cursor").write_bytes(b"\xff\x00 lots\n")
    assert add(root, "i") == [9]
    assert cursors.counter(root) == 9


def test_what_others_add_between_is_seen(root: Path, history: Path) -> None:
    """A process that added the last line itself looks again as soon as anybody else wrote: an
    entry more, half a line, or another file in its place."""
    assert add(root, "a") == [1]
    with history.open("ab") as file:
        file.write(line(7, "of another process"))
    assert add(root, "b") == [8]
    with history.open("ab") as file:
        file.write(b'{"cursor": 9, "timest')
    assert add(root, "c") == [9]
    assert [row["cursor"] for row in rows(history)] == [1, 7, 8, 9]
    other = history.with_name("other")
    other.write_bytes(history.read_bytes() + line(20, "in the file put in its place"))
    other.replace(history)
    assert add(root, "d") == [21]


def test_cursors_go_on_above_what_dream_has_read(root: Path) -> None:
    """Else what comes next would count as read: a history that is gone, a cursor that is not."""
    (root / "memory" / ".dream_cursor").write_text("50")
    assert add(root, "a") == [51]
    assert [entry.cursor for entry in reader.read_pending(root).entries] == [51]


def test_what_left_for_the_archive_still_counts(root: Path) -> None:
    """With the file and both numbers lost, the archive's cursors do not come again."""
    (root / "memory" / "archive").mkdir()
    (root / "memory" / "archive" / "history-2026-10.jsonl").write_bytes(line(77) + line(78))
    assert add(root, "a") == [79]


@pytest.mark.parametrize("number", ["abc", "-5", "0x10", "1.0", "٣", "1 2"])
def test_a_broken_cursor_of_dream_stops_no_chat(root: Path, number: str) -> None:
    """Adding goes on; what would move the cursor names the file and how to repair it."""
    (root / "memory" / ".dream_cursor").write_text(number)
    assert add(root, "a") == [1]
    with pytest.raises(cursors.CursorBroken, match=r"memory/\.dream_cursor.*--repair"):
        reader.read_pending(root)


@pytest.mark.parametrize("number", [b"", b" \n\t", b"0", b"0\n"])
def test_a_blank_cursor_of_dream_is_none(root: Path, number: bytes) -> None:
    """Nothing was read yet, as with no file at all."""
    (root / "memory" / ".dream_cursor").write_bytes(number)
    assert cursors.dream_cursor(root) == 0


@pytest.mark.parametrize(
    ("end", "kept", "read"),
    [
        (b'{"cursor": 2, "timestamp": "t", "content": "whole"}', ["whole"], 3),
        (b'{"cursor": 2, "timestamp": "t", "cont', [], 2),
        (b"\0" * 500, [], 2),
        (b'{"cursor": 2, "content": "\xc5', [], 2),
    ],
)
def test_half_a_line_swallows_no_neighbour(
    root: Path, history: Path, end: bytes, kept: list[str], read: int
) -> None:
    """A whole line without its end gets one; anything less goes, and is kept aside."""
    history.write_bytes(line(1, "first") + end)
    add(root, "next")
    assert [row["content"] for row in rows(history)] == ["first", *kept, "next"]
    assert [entry.cursor for entry in reader.read_pending(root).entries] == list(range(1, read + 1))
    cut = root / "memory" / ".history.cut"
    assert (cut.read_bytes() == end + b"\n") if not kept else not cut.exists()


def test_a_group_without_its_end_goes_as_a_whole(root: Path, history: Path) -> None:
    """It was never acknowledged; what stood before it stays, what comes next is not part of it."""
    add(root, "before")
    log.append(root, [NewHistoryEntry("x" * 40_000, kind="raw")])
    whole = history.read_bytes()
    lines = whole.splitlines(keepends=True)
    for end in (len(lines[0] + lines[1]), len(whole) - len(lines[3]) + 50, len(whole) - 700):
        history.write_bytes(whole[:end])
        assert [entry.content for entry in reader.read_pending(root).entries] == ["before"]
        add(root, "after")
        assert [row["content"] for row in rows(history)] == ["before", "after"]


def test_what_was_cut_off_gives_no_cursor_back(root: Path, history: Path) -> None:
    """Somebody may have seen it, with the counter lost too."""
    history.write_bytes(line(1) + line(7, group="g", part=[1, 2]))
    assert add(root, "after") == [8]


def test_a_group_of_nonsense_is_none(root: Path, history: Path) -> None:
    """Such an entry stands for itself."""
    before = b"".join(
        line(number, group="g", part=part)
        for number, part in enumerate([[0, 0], [3, 2], [-1, 4], [1, 1]], 1)
    )
    history.write_bytes(before)
    assert add(root, "after") == [5]
    assert history.read_bytes().startswith(before)


def test_a_whole_group_stays(root: Path, history: Path) -> None:
    """Also without the line's end after its last part."""
    log.append(root, [NewHistoryEntry("x" * 40_000, kind="raw")])
    history.write_bytes(history.read_bytes()[:-1])
    add(root, "after")
    assert [row.get("part") for row in rows(history)] == [[1, 3], [2, 3], [3, 3], None]


def test_a_neighbour_within_a_broken_group_stays(root: Path, history: Path) -> None:
    """Whatever somebody made of the file by hand, an entry is not cut off for another's sake."""
    parts = [line(number, group="g", part=[number, 3]) for number in (1, 2, 3)]
    history.write_bytes(parts[0] + line(9, "neighbour") + parts[2])
    add(root, "after")
    assert [row["content"] for row in rows(history)] == ["text", "neighbour", "after"]


def test_a_raw_text_keeps_every_character(root: Path) -> None:
    """CON2: as one group whose parts put together are the text, none above 16,000 characters."""
    text = "[RAW] 60 messages\n" + "".join(f"{n}: word {n % 7}\n\n  tail \n" for n in range(4000))
    made = log.append(root, [NewHistoryEntry(text, kind="raw")]).entries
    assert "".join(entry.content for entry in made) == text
    assert max(len(entry.content) for entry in made) <= 16_000
    assert [entry.part for entry in made] == [(n, len(made)) for n in range(1, len(made) + 1)]
    assert len({entry.group for entry in made}) == 1
    assert reader.read_pending(root).entries == made


def test_a_long_summary_is_cut_between_its_bullets(root: Path) -> None:
    """No fact is split; none is lost."""
    bullets = [f"- [durable] fact {number} {'word ' * 30}end" for number in range(300)]
    made = log.append(root, [NewHistoryEntry("\n".join(bullets))]).entries
    assert [b for entry in made for b in entry.content.split("\n")] == bullets
    assert max(len(entry.content) for entry in made) <= 8_000


def test_secrets_are_taken_out_before_anything_is_cut(root: Path, history: Path) -> None:
    """Also where a key lies across the border of two parts; the hit is told."""
    key = "sk-ant-api03-" + "aB3" * 30
    made = log.append(root, [NewHistoryEntry("x" * 15_970 + " " + key + " end", kind="raw")])
    assert [(hit.kind, hit.count) for hit in made.secrets] == [("Anthropic key", 1)]
    assert b"aB3" not in history.read_bytes()


def test_stamps_are_in_the_workspaces_zone(root: Path) -> None:
    """HIS4: half past midnight for the person, whatever the server's zone; both change nights."""
    late = datetime(2026, 11, 30, 15, 30, tzinfo=UTC)
    made = log.append(root, [NewHistoryEntry("a", when=late)], zone="Asia/Tokyo")
    assert made.entries[0].timestamp == "2026-12-01 00:30"
    config.change_config(
        root, lambda raw: raw.update(agents={"defaults": {"timezone": "Europe/Prague"}})
    )
    night = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    made = log.append(root, [NewHistoryEntry("b", when=when) for when in night], zone="Asia/Tokyo")
    assert [entry.timestamp for entry in made.entries] == ["2026-10-25 02:30"] * 2
    spring = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    made = log.append(root, [NewHistoryEntry("c", when=spring)])
    assert made.entries[0].timestamp == "2026-03-29 03:30"


def test_odd_characters_are_kept_or_made_fit(root: Path) -> None:
    """Line ends of other alphabets split nothing; half a character does not stop the entry."""
    text = "a\u2028b\u0085c\r\nd\0e \ud83d tail"
    (entry,) = log.append(root, [NewHistoryEntry(text, kind="note")]).entries
    assert reader.read_pending(root).entries == (entry,)
    assert entry.content == "a\u2028b\u0085c\r\nde � tail"


def test_a_busy_history_is_an_error_and_nothing_is_advanced(root: Path, history: Path) -> None:
    """Whoever cannot have the lock in time adds nothing."""
    add(root, "a")
    before = history.read_bytes()
    import threading

    with locks.hold(root, locks.Level.HISTORY):
        problems = []

        def other() -> None:
            try:
                log.append(root, [NewHistoryEntry("b")], timeout=0.05)
            except LockTimeout as error:
                problems.append(error.message)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "busy" in problems[0]
    assert history.read_bytes() == before
    assert cursors.counter(root) == 1


def test_an_entry_must_say_something(root: Path, history: Path) -> None:
    """Nothing is nothing to keep."""
    with pytest.raises(ValueError, match="say something"):
        log.append(root, [NewHistoryEntry("fine"), NewHistoryEntry(" \n")])
    assert log.append(root, []).entries == ()
    assert not history.exists()


def test_nobody_else_writes_it(root: Path) -> None:
    """TOO1: tools and pages are refused, whatever they call the file."""
    add(root, "a")
    for kind in ("chat", "dream", "browser", "command"):
        for path in ("memory/history.jsonl", "./memory/../memory/history.jsonl", "memory/.cursor"):
            with pytest.raises(WriteRefused):
                open_workspace(root, Actor(kind)).write(path, b"")


def test_a_link_is_not_followed(root: Path, history: Path, tmp_path: Path) -> None:
    """What lies outside stays as it is, and the sentence says what is wrong."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b"mine\n")
    history.symlink_to(outside)
    with pytest.raises((WriteFailed, PathRefused)):
        add(root, "a")
    with pytest.raises(PathRefused):
        reader.read_pending(root)
    assert outside.read_bytes() == b"mine\n"


def test_a_backup_made_of_hard_links_stays_as_it_is(
    root: Path, history: Path, tmp_path: Path
) -> None:
    """The history gets a file of its own and goes on."""
    add(root, "a")
    backup = tmp_path / "backup.jsonl"
    backup.hardlink_to(history)
    before = backup.read_bytes()
    assert add(root, "b") == [2]
    assert backup.read_bytes() == before
    assert [row["content"] for row in rows(history)] == ["a", "b"]


def test_a_cursor_that_nothing_can_follow_is_an_error(root: Path, history: Path) -> None:
    """Rather than an entry that nobody would read."""
    history.write_bytes(line(2**62))
    with pytest.raises(WriteFailed, match="so large"):
        add(root, "a")
    assert history.read_bytes() == line(2**62)


def test_half_a_line_that_a_hand_adds_meanwhile_hides_no_entry(root: Path, history: Path) -> None:
    """What is acknowledged can be read, whatever an editor had written by then."""
    add(root, "before")
    with (
        locks.hold(root, Level.HISTORY),
        line_files.open_growing(root, log.PATH, log.ACTOR) as file,
        history.open("ab", buffering=0) as session,
    ):
        session.write(b'{"by": "ha')
        file.add(line(2, "ours"))
        session.write(b'nd"}\n')
    assert [entry.content for entry in reader.read_pending(root).entries] == ["before", "ours"]
    assert add(root, "after") == [3]
    assert b'{"by": "ha' in history.read_bytes()
