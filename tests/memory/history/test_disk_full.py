"""A disk that refuses in the middle: an error with its reason, and everything as it was."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jenny.workspace.errors import WriteFailed
from memory.history import log, reader
from memory.history.entries import NewHistoryEntry
from tests.memory.history.conftest import line


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A workspace on a disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted: {mounted.stderr.strip()}")
    try:
        (disk / "workspace" / "memory").mkdir(parents=True)
        yield disk / "workspace"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(root: Path) -> Path:
    """Leave no room on the disk; the file that takes it."""
    filler = root / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_nothing_is_acknowledged_and_nothing_torn(small: Path) -> None:
    """An entry or a group that finds no room is not there at all; with room it goes on."""
    log.append(small, [NewHistoryEntry("first")])
    path = small / "memory" / "history.jsonl"
    before = path.read_bytes()
    filler = fill(small)
    for text in ("a" * 5_000, RAW):
        with pytest.raises(WriteFailed, match="the disk is full"):
            log.append(small, [NewHistoryEntry(text, kind="raw")])
        assert path.read_bytes() == before
    filler.unlink()
    (made,) = log.append(small, [NewHistoryEntry("second")]).entries
    assert made.cursor == 2
    assert [entry.content for entry in reader.read_pending(small).entries] == ["first", "second"]


RAW = "a raw text of many lines\n" * 4_000


def test_moving_waits_for_room(small: Path) -> None:
    """No entry leaves the history before it is in the archive."""
    path = small / "memory" / "history.jsonl"
    path.write_bytes(b"".join(line(number, "x" * 500) for number in range(1, 101)))
    (small / "memory" / ".dream_cursor").write_text("100")
    before = path.read_bytes()
    filler = fill(small)
    with pytest.raises(WriteFailed, match="the disk is full"):
        log.compact(small, cap=10)
    assert path.read_bytes() == before
    filler.unlink()
    assert log.compact(small, cap=10).moved == 90
    assert list((small / "memory").glob("*.tmp")) == []
