"""Where a conversation may be cut."""

from hypothesis import given
from hypothesis import strategies as st

from memory.history.transcript import WeighedMessage, cut_for_count, cut_for_rest, cut_for_tokens


def talk(turns: str, tokens: int = 10) -> list[WeighedMessage]:
    """``U`` begins a user's turn; anything else is within one."""
    return [WeighedMessage(tokens, letter == "U") for letter in turns]


def test_a_cut_is_before_a_users_turn() -> None:
    """CON9: the first one by which enough is gained; never between a call and its result."""
    messages = talk("UatatUaUata")
    assert cut_for_tokens(messages, 1) == 5
    assert cut_for_tokens(messages, 50) == 5
    assert cut_for_tokens(messages, 51) == 7
    assert cut_for_tokens(messages, 10_000) == 7


def test_one_giant_turn_is_never_split() -> None:
    """CON3: nothing may go; the search ends and says so."""
    assert cut_for_tokens(talk("U" + "at" * 200), 500) == 0
    assert cut_for_tokens([], 1) == 0
    assert cut_for_count(talk("U" + "at" * 200), 120) == 0


def test_what_would_fall_out_of_the_window_goes_first() -> None:
    """120 messages stay at most, as far as turns allow."""
    messages = talk("Ua" * 70)
    assert cut_for_count(messages, 120) == 20
    assert cut_for_count(messages[:120], 120) == 0
    assert cut_for_count(talk("Uat" * 50), 120) == 30
    assert cut_for_count(talk("Uat" * 50), 121) == 30


def test_after_an_idle_time_the_last_messages_stay() -> None:
    """CON10: at least eight, and all of the turn they belong to."""
    assert cut_for_rest(talk("Ua" * 10)) == 12
    assert cut_for_rest(talk("Ua" * 3)) == 0
    assert cut_for_rest(talk("UaUa" + "U" + "t" * 30 + "a")) == 4


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans())), st.integers(0, 1_000))
def test_the_last_exchange_always_stays(rows: list, tokens: int) -> None:
    """Whatever is asked for: a cut is before a turn, and the last turn is behind it."""
    messages = [WeighedMessage(*row) for row in rows]
    for cut in (cut_for_tokens(messages, tokens), cut_for_count(messages, tokens)):
        assert cut == 0 or messages[cut].begins_turn
        starts = [at for at, message in enumerate(messages) if message.begins_turn]
        assert cut <= max(starts, default=0)
