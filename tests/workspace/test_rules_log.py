"""Refused writes in the log."""

import logging
from pathlib import Path

import django
import pytest

from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace

# So that the apps' write rules are in force.
django.setup()


@pytest.mark.parametrize("path", ["memory/history.jsonl", "AGENTS.md", "config.json"])
def test_a_refused_write_is_logged_without_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """The log says which rule refused whom, in which run, and nothing of the text or the file."""
    workspace = open_workspace(tmp_path, Actor("chat", run="turn:7"))
    with caplog.at_level(logging.INFO), pytest.raises(WriteRefused) as refused:
        workspace.write(path, b"A secret about the bees.")
    (line,) = [row for row in caplog.records if row.getMessage() == "write.refused"]
    assert (line.rule, line.actor, line.run) == (refused.value.rule, "chat", "turn:7")
    assert "bees" not in str(vars(line))
    assert path not in str(vars(line))
