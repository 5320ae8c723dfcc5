"""A Markdown file's header, as people and other programs write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.markdown.front_matter import read


@pytest.mark.parametrize(
    ("text", "values", "body"),
    [
        ("---\nsummary: Bees\n---\nbody\n", {"summary": "Bees"}, "body\n"),
        ("\ufeff---\r\nsummary: Bees\r\n---\r\nbody\r\n", {"summary": "Bees"}, "body\n"),
        ("---  \na: 1\n---\t\n\nbody", {"a": 1}, "\nbody"),
        ("---\na: yes\nb: no\nc: \n---", {"a": True, "b": False, "c": None}, ""),
        ("---\n---\nbody", {}, "body"),
        ("---\n# only a comment\n---\nbody", {}, "body"),
        ("---\nsummary: “smart” quotes\n---\n", {"summary": "“smart” quotes"}, ""),
        ("no header\n---\nnot: one\n---\n", {}, "no header\n---\nnot: one\n---\n"),
        ("---\na: 1\n---\nbody\n---\nb: 2\n---\n", {"a": 1}, "body\n---\nb: 2\n---\n"),
        ("\n---\na: 1\n---\n", {}, "\n---\na: 1\n---\n"),
        ("----\na: 1\n----\n", {}, "----\na: 1\n----\n"),
        ("", {}, ""),
    ],
)
def test_a_header_and_the_text_below_it(text: str, values: dict[str, object], body: str) -> None:
    """WIK1: exactly one header, at the very beginning; marks and line ends as they come."""
    found = read(text)
    assert (found.values, found.body, found.problem) == (values, body, "")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('summary: "a "b" c"', "in line 2"),
        ("a: 1\n\tb: 2", "in line 3"),
        ("a: b: c", "in line 2 (a value with a colon in it must stand in quotes)"),
        ("a: 1\na: 2", "the key “a” is there twice"),
        ("a: {b: 1, b: 2}", "the key “b” is there twice"),
        ("- a\n- b", "no list of “key: value” lines"),
        ("just words", "no list of “key: value” lines"),
        ("day: 2026-99-99", "month must be in"),
        ("n: 1" + "0" * 5000, "no YAML"),
        ("? [a]\n: 1", "unhashable"),
        ("<<: *x", "undefined alias"),
        ("a: \x01", "no YAML"),
        ("[" * 15_000, "no YAML"),
        ("a: " + "x" * 20_001, "longer than 20,000"),
        ("a: !!python/object/apply:os.system [id]", "constructor"),
        ("a: !!python/name:os.system x", "constructor"),
    ],
)
def test_a_header_that_cannot_be_understood_is_said_to_be_so(header: str, said: str) -> None:
    """SKI3: no values, a reason in one line, never a fault, and nothing of it is run."""
    found = read(f"---\n{header}\n---\nbody")
    assert found.values == {}
    assert found.body == "body"
    assert said in found.problem
    assert "\n" not in found.problem


def test_a_header_without_an_end_is_no_header() -> None:
    """The text stays whole."""
    found = read("---\nsummary: x\n")
    assert found.body == "---\nsummary: x\n"
    assert "no closing line" in found.problem


@given(st.text(alphabet="-a: \n\r\t\"'[]{}&*!|>%@`#,?<=~0123456789.eE_\u2028é", max_size=80))
def test_any_header_is_read_or_refused(header: str) -> None:
    """Whatever stands there, reading it ends in a value."""
    found = read(f"---\n{header}\n---\nbody")
    assert isinstance(found.values, dict)
    assert not (found.values and found.problem)
