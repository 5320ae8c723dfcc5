"""A restore while everybody goes on: nothing that was said in the meantime is lost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.memory.restore import restorer

PROJECT = Path(__file__).parents[3]


@contextmanager
def writing(root: Path, what: str, name: str) -> Iterator[list[str]]:
    """A process that writes while the block lasts; afterwards, what was acknowledged."""
    words = [sys.executable, "-m", "tests.memory.restore.racer", root, what, name]
    acknowledged: list[str] = []
    with subprocess.Popen(
        words, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged.append(process.stdout.readline().strip())
        yield acknowledged
        rest, _ = process.communicate()
        acknowledged += rest.splitlines()
        assert process.returncode == 0


def test_what_is_said_during_a_restore_is_still_there(tmp_path: Path) -> None:
    """Two processes add entries and one writes a file while everything is restored again and again:
    each entry that was acknowledged is there once, under a number of its own, and the file is the
    one that was written last or the one of the snapshot."""
    root, store, shot = restorer.make(tmp_path / "all")
    with (
        writing(root, "entries", "a") as first,
        writing(root, "entries", "b") as second,
        writing(root, "files", "chat") as third,
    ):
        for _ in range(3):
            done = restorer.restore(root, store, shot)
            restorer.restore(root, store, done.before.id)
    lines = [
        json.loads(line)
        for path in (root / "memory/history.jsonl", root / "memory/archive/history-2026-02.jsonl")
        for line in path.read_text().splitlines()
    ]
    contents = [row["content"] for row in lines]
    assert len(first) > 1
    assert len(second) > 1
    assert [text for text in (*first, *second) if contents.count(text) != 1] == []
    assert [n for n in range(1, 8) if contents.count(f"fact-{n}") != 1] == []
    numbers = [row["cursor"] for row in lines]
    assert len(set(numbers)) == len(numbers)
    assert int((root / "memory/.cursor").read_text()) >= max(numbers)
    if (root / "chat.md").exists():
        assert (root / "chat.md").read_text() in third
    assert not list(root.rglob("*.kept-*"))
