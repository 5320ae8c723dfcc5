"""A workspace with a past, and backups of it."""

import io
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jenny.workspace.backup import writer
from jenny.workspace.backup.encryption import Encryptor, FileKey
from jenny.workspace.backup.format import Manifest
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from jenny.workspace.versions.commits import commit_pending

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PASSPHRASE = "correct horse battery staple"
FILE_KEY = FileKey.new(PASSPHRASE)
KEY = FILE_KEY.key
TABLE = "conversations.jsonl"
type Make = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with files of several kinds, two versions and two snapshots."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "USER.md").write_bytes(b"# User\n")
    (folder / "memory/MEMORY.md").write_bytes(b"one\r\ntwo\r\n")
    (folder / "Käse 🧀.txt").write_bytes("käse\n".encode())
    (folder / "picture.png").write_bytes(os.urandom(700_000))
    (folder / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    os.utime(folder / "USER.md", (1_700_000_001, 1_700_000_001))
    commit_pending(folder)
    create(Store(tmp_path / "snapshots.git"), folder, "manual", now=NOW)
    (folder / "memory/MEMORY.md").write_bytes(b"one\r\nthree\r\n")
    commit_pending(folder)
    return folder


@pytest.fixture
def make(tmp_path: Path, root: Path) -> Make:
    """Make a backup of the workspace; plain, or encrypted."""

    def made(*, plain: bool = False, rows: tuple[dict, ...] = (), name: str = "backup") -> Path:
        store = Store(tmp_path / "snapshots.git")
        shot = create(store, root, "export", now=NOW).snapshot
        buffer = io.BytesIO()
        with store.open() as repo:
            contents = writer.Contents(repo, shot, root / "memory/.git", {TABLE: rows})
            sink = buffer if plain else Encryptor(buffer, FILE_KEY)
            writer.write_backup(sink, contents, Manifest("source", "mine", NOW.isoformat(), "1"))
        if not plain:
            sink.close()
        path = tmp_path / name
        path.write_bytes(buffer.getvalue())
        return path

    return made
