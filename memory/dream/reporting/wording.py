"""How a report says things in Markdown."""

from collections.abc import Sequence

from jenny.workspace import diffs

NAMED = 10


def listed(title: str, rows: Sequence[str]) -> str:
    """A list under its title, cut; empty without rows."""
    if not rows:
        return ""
    left = len(rows) - NAMED
    more = [f"- and {left} more"] if left > 0 else []
    return "\n".join([f"{title}:", "", *(f"- {row}" for row in rows[:NAMED]), *more])


def quoted(text: str) -> str:
    """A line of a file, as code, cut."""
    line = " ".join(text.split())
    return diffs.code_span(line if len(line) <= 120 else f"{line[:119]}…")  # noqa: PLR2004 - characters of a line


def plain(text: str) -> str:
    """A sentence in which nothing is Markdown."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|~$#" else char for char in text)
