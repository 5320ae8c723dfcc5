"""No text takes the server's time out of proportion, and what is not formatted can be read.

Work is counted in calls of functions, Python's and C's, not timed.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from jenny.markdown import limits
from jenny.markdown.render import render
from tests.support.html import Seen

GROWING: dict[str, Callable[[int], str]] = {
    "quotes in quotes": lambda n: ">" * n + "x",
    "lists in lists": lambda n: "- " * n + "x",
    "lists, ever deeper": lambda n: "".join("  " * min(i, 60) + "- a\n" for i in range(n // 40)),
    "open brackets": lambda n: "[" * n,
    "open links": lambda n: "[a](" * (n // 4),
    "open images": lambda n: "![[" * (n // 3),
    "backticks": lambda n: "`a" * (n // 2),
    "backticks, ever more": lambda n: "".join("`" * i + "a" for i in range(int((2 * n) ** 0.5))),
    "stars": lambda n: "*a **b " * (n // 7),
    "underscores": lambda n: "_a_" * (n // 3),
    "dollars": lambda n: "$a " * (n // 3),
    "dollars by line": lambda n: "$$\na\n" * (n // 5),
    "parentheses": lambda n: "\\(" * (n // 2),
    "colons": lambda n: "http:" * (n // 5),
    "addresses": lambda n: "https://a.b/c " * (n // 14),
    "tags": lambda n: "<b>" * (n // 3),
    "tags in tags": lambda n: "<b><i>" * (n // 13) + "</i></b>" * (n // 13),
    "angles": lambda n: "<" * n,
    "entities": lambda n: "&amp;" * (n // 5),
    "backslashes": lambda n: "\\" * n,
    "short lines": lambda n: "a\n" * (n // 2),
    "headings": lambda n: "# a\n" * (n // 4),
    "rules": lambda n: "---\n" * (n // 4),
    "items": lambda n: "1. a\n" * (n // 5),
    "tables": lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * (n // 6),
    "wide table": lambda n: "|" + "a|" * (n // 4) + "\n|" + "-|" * (n // 4) + "\n",
    "tables of short rows": lambda n: "|" * 300 + "\n" + "|-" * 299 + "|\n" + "|\n" * (n // 2),
    "definitions": lambda n: "[a]: x\n" * (n // 7),
    "definition lists": lambda n: "a\n: b\n\n" * (n // 7),
    "definition lists in lists": lambda n: "a\n: b\n  : c\n" * (n // 12),
    "definition lists, indented": lambda n: "a\n:   a\n    :   a\n        :   a\n\n" * (n // 29),
    "definition lists that end": lambda n: "a\n: # h\nx\n\n" * (n // 11),
    "data of short rows": lambda n: (
        ("```csv\n" + "," * 39 + "\n" + ",\n" * 150 + "```\n") * (n // 351)
    ),
    "data of few rows": lambda n: ("```csv\n" + "," * 39 + "\n" + ",\n" * 9 + "```\n") * (n // 69),
    "nested data": lambda n: (
        ("```json\n[" + ",".join(["[" * 18 + "0" + "]" * 18] * 9) + "]\n```\n") * (n // 355)
    ),
    "notes": lambda n: "".join(f"[^{i}]: x\n\n" for i in range(n // 12)),
    "uses of a note": lambda n: "[^1]\n\n" * (n // 6) + "[^1]: x",
    "uses of a long target": lambda n: "[a]: /" + "x" * 2000 + "\n\n" + "[a]\n\n" * (n // 5),
    "code": lambda n: "```python\n" + "f'{" * (n // 3),
    "formula": lambda n: "$$\n" + "\\frac{1}{" * (n // 9) + "\n$$",
    "pictures": lambda n: "![a](https://x.y/z)\n\n" * (n // 21),
    "one word": lambda n: "x" * n,
}


def calls(source: str) -> int:
    """How many functions are called to render *source*."""
    count = 0

    def tick(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        if event.endswith("call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        render(source)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", GROWING)
def test_work_grows_with_the_length(name: str) -> None:
    """Four times the text takes about four times the work, or less."""
    make = GROWING[name]
    render(make(100))
    # Between two lengths that both lie below what is formatted, and two above.
    for length in (400, 6_000):
        assert calls(make(4 * length)) <= 5 * calls(make(length)) + 2_000


@pytest.mark.parametrize("name", GROWING)
def test_output_grows_with_the_length(name: str) -> None:
    """No short text makes a long page; what the largest of texts makes can still be sent."""
    html = render(GROWING[name](40_000))
    assert len(html) <= 25 * 40_000 + 3 * limits.REFERENCE_TARGETS
    assert Seen(html).faults == []


@pytest.mark.parametrize(
    "source",
    [
        ">" * 100_000 + " the end",
        "[" * 100_000 + " the end",
        "`a" * 50_000 + " the end",
        "x" * 2_000_000 + " the end",
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 50_000 + "|the end|2|",
        "- a\n" * 60_000 + "- the end",
        "```python\n" + "a = 1\n" * 100_000 + "# the end\n",
        "a\n" * 150_000 + "the end",
        "|" * 900 + "\n" + "|-" * 899 + "|\n" + "|\n" * 5_000 + "|the end",
    ],
    ids=lambda source: f"{source[:6]!r} {len(source)}",
)
def test_largest(source: str) -> None:
    """Texts far beyond what anybody writes are shown to their last word."""
    assert "the end" in Seen(render(source)).text
