"""How full a file is, told with every write to it."""

from dataclasses import replace
from pathlib import Path

from memory import budgets


def sentence(root: Path, path: str, text: str) -> str:
    """A memory file's gauge in a sentence, by its *text* as the run sees it; empty for other
    files."""
    for measured in budgets.gauge(root):
        if measured.file.path == path:
            gauge = replace(measured, chars=len(text.removeprefix("\ufeff")))
            room = " Make room before you add more." if gauge.near else ""
            return f"{gauge.sentence}.{room}"
    return ""
