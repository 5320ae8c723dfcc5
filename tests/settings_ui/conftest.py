"""Somebody in the settings."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest

# So that the tests here can import models; tests/conftest.py has set the environment.
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.hashers import Argon2PasswordHasher  # noqa: E402
from django.test import Client  # noqa: E402

from jenny.accounts.models import Account  # noqa: E402
from jenny.chat.services import search  # noqa: E402
from jenny.search.postgres import PostgresStore  # noqa: E402
from tests.model_server import ModelServer  # noqa: E402
from tests.support.stack import PASSWORD  # noqa: E402


@pytest.fixture(autouse=True)
def quick_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed for real, with less work."""
    monkeypatch.setattr(Argon2PasswordHasher, "memory_cost", 64)
    monkeypatch.setattr(Argon2PasswordHasher, "time_cost", 1)
    monkeypatch.setattr(Argon2PasswordHasher, "parallelism", 1)


@pytest.fixture(autouse=True)
def no_folders() -> None:
    """A test begins without workspaces' folders, since it begins without their rows."""
    shutil.rmtree(settings.JENNY_DATA.workspaces, ignore_errors=True)


@pytest.fixture
def ana(db: None) -> Account:
    """The owner, with a workspace."""
    account = Account.objects.make_owner("ana", PASSWORD, "UTC")
    assert account.current_workspace is not None
    account.current_workspace.make_folder()
    return account


@pytest.fixture
def root(ana: Account) -> Path:
    """Ana's workspace folder."""
    assert ana.current_workspace is not None
    return ana.current_workspace.root


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the search is kept in a file, or in a real PostgreSQL."""
    search._indexes.clear()
    if request.param == "sqlite":
        return
    url = request.getfixturevalue("new_database")()

    @contextlib.contextmanager
    def cursor() -> Iterator[Any]:
        with psycopg.connect(url) as connection, connection.cursor() as found:
            yield found

    monkeypatch.setattr(search, "_store", lambda workspace: PostgresStore(workspace, cursor))


@pytest.fixture
def person(database: None, client: Client) -> Client:
    """Ana's browser, with the index of one of the databases."""
    return client


@pytest.fixture
def client(ana: Account) -> Client:
    """Ana's browser."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(ana)
    return client


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model's server."""
    with ModelServer() as server:
        yield server
