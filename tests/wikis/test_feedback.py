"""Passages are found again by the words around them."""

import datetime as dt

import pytest

from jenny.markdown import front_matter
from wikis import feedback
from wikis.feedback import Anchor, Feedback

TEXT = "One box is light.  Another\nbox is heavy. A third box\tis gone."


@pytest.mark.parametrize(
    ("passage", "before", "found"),
    [
        ("Another box", "", ("light. ", "Another box", " is heavy.")),
        ("box is", "Another", ("Another ", "box is", " heavy.")),
        ("  box\nis ", "One", ("One ", "box is", " light.")),
        ("box is", "A third ", ("A third ", "box is", " gone.")),
    ],
)
def test_the_words_before_tell_which(
    passage: str, before: str, found: tuple[str, str, str]
) -> None:
    """White space does not count."""
    anchor = feedback.anchor(TEXT, passage, before)
    assert anchor is not None
    assert anchor.text == found[1]
    assert anchor.before.endswith(found[0])
    assert anchor.after.startswith(found[2])


@pytest.mark.parametrize("passage", ["", "  ", "BOX", "a box", "light. box"])
def test_words_that_are_not_there_have_no_anchor(passage: str) -> None:
    """Nor has nothing."""
    assert feedback.anchor(TEXT, passage) is None


def test_what_a_page_reads_has_its_words_apart() -> None:
    """Blocks part words, marks within a word do not; entities are signs."""
    html = "<h3>A</h3><p>b<em>c</em> &amp; d<br>e</p><table><tr><td>f</td><td>g</td></tr></table>"
    assert feedback.squeezed(feedback.words_of(html)) == "A bc & d e f g"


@pytest.mark.parametrize(
    "text",
    ['a "b" \\ \'c\'', "---\n---", "\x00\x07\x85\u2028\ufeff\U0001f41d", "key: [x", "#no comment"],
)  # fmt: skip
def test_whatever_was_selected_makes_a_header_that_can_be_read(text: str) -> None:
    """And says the same, without what no file may hold."""
    one = Feedback(
        feedback.new_id(dt.datetime(2026, 4, 1, tzinfo=dt.UTC)),
        f"wiki/{text}.md", "warn", Anchor(text, text, text), text, "2026-04-01", text,
    )  # fmt: skip
    header = front_matter.read_front_matter(feedback.as_file(one).decode())
    assert not header.problem
    kept = header.values["anchor"]["text"]
    assert [char for char in kept if char.isprintable() and char != " "] == [
        char for char in text if char.isprintable() and char != " "
    ]
