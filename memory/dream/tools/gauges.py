"""How full a file is, told with every write to it."""

from pathlib import Path

from memory import budgets


def sentence(root: Path, path: str) -> str:
    """A memory file's gauge in a sentence; empty for other files."""
    for gauge in budgets.gauge(root):
        if gauge.file.path == path:
            room = " Make room before you add more." if gauge.near else ""
            return f"{gauge.sentence}.{room}"
    return ""
