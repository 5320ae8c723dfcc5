"""Entries found by number, taken out on request, and passed over when they were edited away."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from jenny.workspace.write_rules import Actor
from memory import message_sources
from memory.errors import CursorBroken
from memory.history import cursors, log, prompt, reader, removal
from memory.history.entries import NewHistoryEntry
from memory.history.log import compact

PIPELINE = Actor("pipeline", run="test")


def add(root: Path, *texts: str, conversation: str = "a", last: int = 2) -> list[int]:
    """One entry for each text; their numbers."""
    new = [NewHistoryEntry(text, conversation=conversation, messages=(1, last)) for text in texts]
    return [entry.cursor for entry in log.append(root, new).entries]


def test_entries_are_found_wherever_they_are(root):
    """By number, in the file or in what left it; numbers that nobody has are not there."""
    first = add(root, *(f"- fact {number}" for number in range(1, 8)))
    cursors.set_dream_cursor(root, first[-1], PIPELINE)
    assert compact(root, cap=2).moved == 5
    found = reader.find_by_cursor(root, [1, 5, 7, 99])
    assert {number: entry.content for number, entry in found.items()} == {
        1: "- fact 1",
        5: "- fact 5",
        7: "- fact 7",
    }
    assert set(reader.find_by_cursor(root, [1, 7], archived=False)) == {7}
    assert reader.find_by_cursor(root, []) == {}


def test_a_number_is_found_in_a_file_written_by_hand(root):
    """Order and spelling of the lines are the person's; a line that is no entry is passed over."""
    path = root / log.PATH
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        '{ "content": "by hand", "cursor": 9 }\nno entry\n{"cursor": 3, "content": "x"}\n'
    )
    assert reader.find_by_cursor(root, [9])[9].content == "by hand"


def test_what_waits_is_taken_out_on_request(root):
    """HIS5: the un-dreamed entries of one conversation go, whatever stands around them stays, and
    no number is given out again."""
    add(root, "- read already")
    cursors.set_dream_cursor(root, 1, PIPELINE)
    add(root, "- of another", conversation="b")
    gone = add(root, "- waits", "- waits too")
    assert [entry.cursor for entry in removal.waiting(root, "a")] == gone
    assert removal.remove(root, "a") == 2
    left = reader.newest(root, 10)
    assert [(entry.cursor, entry.conversation) for entry in left] == [(1, "a"), (2, "b")]
    assert removal.remove(root, "a") == 0
    assert add(root, "- new") == [gone[-1] + 1]


def test_nothing_is_taken_out_while_nobody_knows_what_dream_has_read(root):
    """A broken cursor of Dream's stops it, with a sentence; the file is as it was."""
    add(root, "- waits")
    (root / "memory/.dream_cursor").write_text("many")
    before = (root / log.PATH).read_bytes()
    with pytest.raises(CursorBroken):
        removal.remove(root, "a")
    assert (root / log.PATH).read_bytes() == before


def test_what_was_edited_away_is_passed_over(root, monkeypatch):
    """Its entries are named to Dream and shown to no chat; when the edit is taken back, they
    are there again."""
    kept, away = add(root, "- said and kept"), add(root, "- said and edited away", last=9)
    gone = {("a", 9): datetime(2020, 1, 1, tzinfo=UTC)}
    monkeypatch.setattr(message_sources, "_SOURCES", [])
    edited = message_sources.EditedMessages(gone)
    none = message_sources.NO_EDITED_MESSAGES
    message_sources.register_message_source(
        message_sources.MessageSource(
            lambda _query: None, lambda at: edited if at == root else none
        )
    )
    entries = reader.read_pending(root).entries
    assert message_sources.edited_cursors(root, entries) == set(away)
    assert prompt.shown(root) == set(kept)
    block = prompt.block(root)
    assert block is not None
    assert "edited away" not in block.text
    assert "said and kept" in block.text
    gone.clear()
    assert prompt.shown(root) == {*kept, *away}
    assert "edited away" in prompt.block(root).text
