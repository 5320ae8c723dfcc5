"""A workspace with a history of one's own for each test."""

import json
from pathlib import Path

import pytest

from jenny.workspace.write_rules import register_rule
from memory import write_rules


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace folder, in which the product's rules hold."""
    register_rule(write_rules.guard_protected_files)
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    return folder


@pytest.fixture
def history(root: Path) -> Path:
    """Where the history will be."""
    return root / "memory" / "history.jsonl"


def line(cursor: object, content: object = "text", **more: object) -> bytes:
    """A line of the file as somebody else may have written it."""
    row = {"cursor": cursor, "timestamp": "2026-11-30 10:00", "content": content, **more}
    return json.dumps(row).encode() + b"\n"
