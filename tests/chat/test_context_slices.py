"""Which part of a conversation goes into the history, over plain rows."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from jenny.chat.services import context_window
from jenny.chat.services.context_window import Pointers


@dataclass
class Block:
    """A block of an answer."""

    kind: str
    text: str = ""
    data: dict = field(default_factory=dict)


class Blocks(list):
    """As a row has them."""

    def all(self):
        """All of them."""
        return self


@dataclass
class Row:
    """A message."""

    pk: int
    kind: str
    turn_id: int
    text: str = ""
    context: str = ""
    created_at: datetime = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
    blocks: Blocks = field(default_factory=Blocks)
    attachments: Blocks = field(default_factory=Blocks)
    turn: None = None


def exchange(first: int, turn: int, words: str = "x" * 400) -> list[Row]:
    """A question and its answer."""
    answer = Row(first + 1, "answer", turn, blocks=Blocks([Block("text", words)]))
    return [Row(first, "user", turn, words, "<context>"), answer]


def talk(turns: int) -> list[Row]:
    """So many exchanges, from message 1 on."""
    return [row for turn in range(turns) for row in exchange(1 + 2 * turn, turn)]


def test_all_of_a_short_chat_reaches_the_history_and_stays_in_the_context():
    """Short chats are not lost: after an idle time they are in the history too."""
    piece = context_window.whole(talk(2), Pointers(0, 0, 0))
    assert piece is not None
    assert ([row.pk for row in piece.rows], piece.through) == ([1, 2, 3, 4], 4)
    assert piece.context_from == 0


def test_after_an_idle_time_the_last_messages_stay_from_a_users_turn_on():
    """CON10: what stays begins with what the user said."""
    piece = context_window.whole(talk(10), Pointers(4, 1, 0))
    assert piece is not None
    assert (piece.rows[0].pk, piece.through, piece.context_from) == (5, 20, 13)


def test_nothing_is_left_to_do_when_all_was_done():
    """A conversation that is in the history is left alone."""
    assert context_window.whole(talk(4), Pointers(8, 0, 0)) is None


def test_what_is_in_the_history_leaves_the_context_without_being_summarised_again():
    """Under pressure, only what is new is summarised."""
    piece = context_window.oldest(talk(6), Pointers(4, 0, 0), tokens=700)
    assert piece is not None
    assert ([row.pk for row in piece.rows], piece.through, piece.context_from) == ([5, 6], 6, 7)


def test_the_last_exchange_always_stays():
    """CON3, CON15: one giant turn is never split, and there is no endless trying."""
    assert (
        context_window.oldest(exchange(1, 1, "x" * 99_999), Pointers(0, 0, 0), tokens=10**6) is None
    )
    piece = context_window.oldest(talk(3), Pointers(0, 0, 0), tokens=10**6, keep=1)
    assert piece is not None
    assert piece.context_from == 5


def test_a_turn_that_took_a_message_in_is_one_piece():
    """CON9: nothing is cut between a question and an answer that stands behind the next one."""
    rows = [Row(1, "user", 1), Row(2, "user", 2), *exchange(3, 1)[1:], *exchange(4, 2)[1:]]
    rows += exchange(7, 3)
    assert [weight.begins_turn for weight in context_window.weighed(rows)] == [
        True, False, False, False, True, False,
    ]  # fmt: skip


def test_what_new_left_behind_comes_first():
    """The session before /new is a slice of its own."""
    piece = context_window.past(talk(4), Pointers(2, 5, 5))
    assert piece is not None
    assert ([row.pk for row in piece.rows], piece.context_from, piece.is_past) == ([3, 4], 5, True)
    assert context_window.past(talk(4), Pointers(4, 5, 5)) is None


@pytest.mark.parametrize(
    "blocks", [[], [Block("thinking", "hm")], [Block("text", "  "), Block("note", "Tried again.")]]
)
def test_an_answer_that_says_nothing_is_left_out(blocks):
    """Thinking and the program's notes are no part of what was said."""
    assert context_window.spoken(Row(2, "answer", 1, blocks=Blocks(blocks))) is None


def test_the_summariser_gets_words_and_tools_and_nothing_that_was_added():
    """CON18: the block with the clock is not part of what the user said."""
    assert context_window.spoken(exchange(1, 1, "hello")[0]).text == "hello"
    tool = Block("tool", data={"name": "grep", "arguments": {"pattern": "ü"}, "result": "found"})
    said = context_window.spoken(
        Row(2, "answer", 1, blocks=Blocks([Block("text", "I look."), tool]))
    )
    assert said is not None
    assert (said.speaker, said.text) == ("assistant", "I look.")
    assert (said.tools[0].arguments, said.tools[0].result) == ('{"pattern": "ü"}', "found")
