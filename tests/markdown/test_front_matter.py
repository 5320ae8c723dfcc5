"""A Markdown file's header, as people and other programs write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.markdown.front_matter import parse_flag, read_front_matter


@pytest.mark.parametrize(
    ("text", "values", "body"),
    [
        ("---\nsummary: Bees\n---\nbody\n", {"summary": "Bees"}, "body\n"),
        ("\ufeff---\r\nsummary: Bees\r\n---\r\nbody\r\n", {"summary": "Bees"}, "body\n"),
        ("---  \na: 1\n---\t\n\nbody", {"a": "1"}, "\nbody"),
        ("---\na: yes\nb: no\nc: \n---", {"a": "yes", "b": "no", "c": ""}, ""),
        ("---\n---\nbody", {}, "body"),
        ("---\n# only a comment\n---\nbody", {}, "body"),
        ("---\nsummary: “smart” quotes\n---\n", {"summary": "“smart” quotes"}, ""),
        ("no header\n---\nnot: one\n---\n", {}, "no header\n---\nnot: one\n---\n"),
        ("---\na: 1\n---\nbody\n---\nb: 2\n---\n", {"a": "1"}, "body\n---\nb: 2\n---\n"),
        ("\n---\na: 1\n---\n", {}, "\n---\na: 1\n---\n"),
        ("----\na: 1\n----\n", {}, "----\na: 1\n----\n"),
        ("", {}, ""),
    ],
)
def test_a_header_and_the_text_below_it(text: str, values: dict[str, object], body: str) -> None:
    """WIK1: exactly one header, at the very beginning; marks and line ends as they come."""
    found = read_front_matter(text)
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
        ("? [a]\n: 1", "is no text"),
        ("a: &x 1\nb: *x", "line 2 (a value that begins with & or *"),
        ("<<: *x", "begins with & or *"),
        ("a: 1\n...\n--- b", "more than one document"),
        ("a: [" + "b, " * 5_000 + "]", "more than 5,000 values"),
        ("a: \x01", "no YAML"),
        ("a: " + "[" * 50 + "]" * 50, "deeper than 20 levels"),
        ("a: " + "x" * 20_001, "longer than 20,000"),
        ("a: !!python/object/apply:os.system [id]", "begins with !"),
        ("a: !!python/name:os.system x", "begins with !"),
    ],
)
def test_a_header_that_cannot_be_understood_is_said_to_be_so(header: str, said: str) -> None:
    """SKI3: no values, a reason in one line, never a fault, and nothing of it is run."""
    found = read_front_matter(f"---\n{header}\n---\nbody")
    assert found.values == {}
    assert found.body == "body"
    assert said in found.problem
    assert "\n" not in found.problem


def test_a_header_without_an_end_is_no_header() -> None:
    """The text stays whole."""
    found = read_front_matter("---\nsummary: x\n")
    assert found.body == "---\nsummary: x\n"
    assert "no closing line" in found.problem


@given(st.text(alphabet="-a: \n\r\t\"'[]{}&*!|>%@`#,?<=~0123456789.eE_\u2028é", max_size=80))
def test_any_header_is_read_or_refused(header: str) -> None:
    """Whatever stands there, reading it ends in a value."""
    found = read_front_matter(f"---\n{header}\n---\nbody")
    assert isinstance(found.values, dict)
    assert not (found.values and found.problem)


@pytest.mark.parametrize(
    "written",
    [
        *("No", "yes", "on", "Off", "true", "null", "~", "1.10", "007", "0x1F", "1_000", "12:30"),
        *("1e3", ".inf", "2026-01-02", "2026-99-99", "2026-01-02 10:00:00", "1" + "0" * 900),
        *("=", "<<", "50 %", "don't", "C#"),
    ],
)
def test_a_value_is_the_text_that_stands_there(written: str) -> None:
    """No value changes its type or its form, alone or in a list."""
    found = read_front_matter(
        f"---\ntitle: {written}\ntags: [{written}, b]\nkeys:\n  {written}: x\n---\n"
    )
    assert found.values == {"title": written, "tags": [written, "b"], "keys": {written: "x"}}


def test_a_short_header_makes_no_long_values() -> None:
    """Values that would repeat each other are refused, so nothing that is shown can explode."""
    rows = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    found = read_front_matter(f"---\na0: &a0 lol\n{rows}---\nbody")
    assert found.values == {}
    assert "must stand in quotes" in found.problem


@pytest.mark.parametrize(
    ("word", "said"),
    [
        *((word, True) for word in ("true", "True", "YES", "on", "'true'")),
        *((word, False) for word in ("false", "No", "off", "", "~", "null")),
        *((word, None) for word in ("1", "maybe", "[true]", "{a: true}")),
    ],
)
def test_a_switch_is_read_from_its_word(word: str, said: object) -> None:
    """The words for on and off are a short list; anything else is neither."""
    assert parse_flag(read_front_matter(f"---\nalways: {word}\n---\n").values["always"]) is said
