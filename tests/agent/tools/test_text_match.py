"""An edit fits exactly and once, or the model is told how its text differs."""

import pytest

from jenny.agent.errors import ToolProblem
from jenny.agent.tools import text_match


def refused(text: str, old: str, new: str = "other") -> str:
    """Why the edit is refused."""
    with pytest.raises(ToolProblem) as caught:
        text_match.replace(text, old, new)
    return caught.value.message


def test_the_one_place_is_replaced_and_nothing_else() -> None:
    """All bytes outside the place stay."""
    made = text_match.replace("a\n  b  \nc\n", "b", "B\nB")
    assert (made.text, made.count, made.line) == ("a\n  B\nB  \nc\n", 1, 2)


def test_every_place_is_replaced_only_on_demand() -> None:
    """A rename can touch all places, and says how many."""
    assert text_match.replace("x y x", "x", "z", every=True).count == 2
    assert "2 times" in refused("x y x", "x")


def test_an_ambiguous_edit_says_how_many_and_where() -> None:
    """The model can add the lines around the one it means."""
    said = refused("one\nfoo\ntwo\nfoo\nfoo\n", "foo")
    assert "3 times (lines 2, 4, 5)" in said


def test_overlapping_places_are_ambiguous_too() -> None:
    """Two readings of one edit are one too many."""
    assert "2 times" in refused("aaa", "aa")


@pytest.mark.parametrize(("old", "new"), [("a", "a"), ("", "x")])
def test_an_edit_that_changes_nothing_is_refused(old: str, new: str) -> None:
    """A model that repeats itself hears of it."""
    assert refused("a b", old, new)


@pytest.mark.parametrize(
    ("text", "old", "kinds"),
    [
        ("foo   bar baz", "foo bar", "white space"),
        ("a\n\tb\n", "a\n  b", "white space"),
        ("word\u00a0word", "word word", "white space"),
        ("The Hive", "the hive", "case"),
        ("say “yes”", 'say "yes"', "quotes"),
        ("it’s", "it's", "quotes"),
        ("café", "cafe\u0301", "unicode"),
        ("2020–2024", "2020-2024", "unicode"),
        ("in\u200bvisible", "invisible", "unicode"),
        ("Say  “Yes”", 'say "yes"', "white space and case and quotes"),
    ],
)
def test_a_near_match_is_never_applied_and_its_difference_named(
    text: str, old: str, kinds: str
) -> None:
    """TOO4: exact match only, and the refusal says what kind of thing is different."""
    said = refused(f"first line\n{text}\nlast line\n", old)
    place = "Lines 2–3 differ" if "\n" in text else "Line 2 differs"
    assert f"{place} only in {kinds}:" in said


def test_words_that_differ_name_the_nearest_line() -> None:
    """The model sees the line it probably meant."""
    said = refused("# Bees\n\n- Hive two is weak\n- Hive three is strong\n", "- Hive two was weak")
    assert "nearest is line 3, which differs in words: '- Hive two is weak'" in said


def test_text_that_is_nowhere_is_said_to_be_nowhere() -> None:
    """No misleading hint."""
    assert "nor anything like it" in refused("abc\n", "something quite other")
    assert "the file is empty" in refused("", "x")


def test_windows_line_ends_are_kept() -> None:
    """A file with CR LF is edited by what a reader of it sees, and stays such a file."""
    made = text_match.replace("a\r\nb\r\nc\r\n", "a\nb", "a\nB\nb")
    assert made.text == "a\r\nB\r\nb\r\nc\r\n"


@pytest.mark.parametrize("old", ["b\nc", "b\r\nc", "b\rc"])
def test_mixed_line_ends_are_no_difference(old: str) -> None:
    """An edit applies as the file is shown, and each line that stays keeps its own end."""
    text = "a\r\nb\nc\r\nd\re\n\r\nf"
    made = text_match.replace(text, old, "b\nX\nc")
    assert made.text == "a\r\nb\nX\nc\r\nd\re\n\r\nf"
    assert text_match.replace(text, "d\ne", "D\nE").text == "a\r\nb\nc\r\nD\rE\n\r\nf"
    assert text_match.replace(text, "\nf", "").text == "a\r\nb\nc\r\nd\re\n"
    assert text_match.replace(text, "c", "y", every=True).text == text.replace("c", "y")


def test_a_large_file_is_searched_for_the_nearest_line_in_bounded_work() -> None:
    """A miss in a file of a megabyte is answered, too."""
    text = "".join(f"- line number {number} of the file\n" for number in range(30_000))
    assert "line 7" in refused(text, "- line number 6 of a file")
