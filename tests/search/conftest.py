"""A workspace, and a store of its passages in each kind of database."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jenny.search import PassageStore, SqliteStore
from jenny.search.postgres import PostgresStore
from jenny.workspace.files import Actor, open_workspace
from memory import write_rules


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_rules.install()
    folder = tmp_path / "workspace"
    folder.mkdir()
    return open_workspace(folder, Actor("setup")).root


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> PassageStore:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "cache/search.sqlite3")
    url = request.getfixturevalue("new_database")()

    @contextlib.contextmanager
    def cursor() -> Iterator[Any]:
        with psycopg.connect(url) as connection, connection.cursor() as found:
            yield found

    return PostgresStore("one", cursor)
