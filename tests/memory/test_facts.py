"""A memory file taken apart: every line that says something is part of just one fact."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.facts import decoded, digest, facts, normal, stated, units

TEXT = """\
# About

Prose of two
lines. And a second sentence here.

- one
  that goes on
  - nested
1. first
2) second

| a | b |
|---|---|
| 1 | 2 |

```py
# no heading

code
```
<!-- a
comment -->
---
## Next
* [ ] task
"""


def test_the_kinds_of_facts():
    """Bullets, numbers, prose, rows, code and comments are facts; headings and rules are not."""
    found = [(fact.kind, fact.first, fact.last, fact.heading) for fact in facts(TEXT)]
    assert found == [
        ("heading", 1, 1, "About"),
        ("paragraph", 3, 4, "About"),
        ("bullet", 6, 7, "About"),
        ("bullet", 8, 8, "About"),
        ("numbered", 9, 9, "About"),
        ("numbered", 10, 10, "About"),
        ("table", 12, 12, "About"),
        ("rule", 13, 13, "About"),
        ("table", 14, 14, "About"),
        ("code", 16, 20, "About"),
        ("comment", 21, 22, "About"),
        ("rule", 23, 23, "About"),
        ("heading", 24, 24, "Next"),
        ("bullet", 25, 25, "Next"),
    ]
    nested = facts(TEXT)[3]
    assert (nested.text, nested.under) == ("nested", "one\nthat goes on")
    assert units(facts(TEXT)[1]) == ("Prose of two lines.", "And a second sentence here.")


@pytest.mark.parametrize("change", ["crlf", "cr", "bom", "wrapped"])
def test_how_lines_end_is_no_matter(change):
    """Line ends, a byte order mark and line breaks in prose change no fact."""
    data = TEXT.encode()
    if change == "crlf":
        data = data.replace(b"\n", b"\r\n")
    if change == "cr":
        data = data.replace(b"\n", b"\r")
    if change == "bom":
        data = b"\xef\xbb\xbf" + data
    if change == "wrapped":
        data = data.replace(b"two\nlines", b"two lines")
    assert {normal(fact.text) for fact in stated(data)} == {
        normal(fact.text) for fact in stated(TEXT.encode())
    }


LINES = "|word|- bullet|  - sub|1. n|# h|---|```|~~~|<!-- c|-->|> q|    deep|\ttab|===|- |<b>"
ROWS = [*LINES.split("|"), "| r |", "|-|"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ROWS), max_size=14).map("\n".join))
def test_no_line_falls_between(text):
    """Every line with something on it lies in one fact, in order, whatever stands around it."""
    seen = [number for fact in facts(text) for number in range(fact.first, fact.last + 1)]
    assert seen == sorted(set(seen))
    full = {number for number, line in enumerate(text.split("\n"), 1) if line.strip()}
    assert full <= set(seen)
    for fact in facts(text):
        assert "word" not in fact.text or fact.has_content


def test_odd_bytes_lose_nothing():
    """Bytes that are no text, NUL, ten million characters on one line: what is readable stays."""
    (fact,) = stated(b"- caf\xe9 token\x00x\n")
    assert fact.text == "caf\\xe9 token\x00x"
    (fact,) = stated(b"x" * 10_000_000)
    assert len(fact.text) == 10_000_000
    assert decoded(None) == ""
    assert digest("A b.") == digest("a  B") != digest("a c")
