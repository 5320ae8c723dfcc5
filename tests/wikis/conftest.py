"""Somebody with wikis, at their pages."""

from pathlib import Path

import django
import pytest

# So that the tests here can import models; tests/conftest.py has set the environment.
django.setup()

from django.contrib.auth.hashers import Argon2PasswordHasher  # noqa: E402
from django.test import Client  # noqa: E402

from jenny.accounts.models import Account  # noqa: E402
from tests.support.stack import PASSWORD  # noqa: E402


@pytest.fixture
def ana(db: None, monkeypatch: pytest.MonkeyPatch) -> Account:
    """The owner, with a workspace."""
    for name, value in (("memory_cost", 64), ("time_cost", 1), ("parallelism", 1)):
        monkeypatch.setattr(Argon2PasswordHasher, name, value)
    account = Account.objects.make_owner("ana", PASSWORD, "UTC")
    assert account.current_workspace is not None
    account.current_workspace.make_folder()
    return account


@pytest.fixture
def root(ana: Account) -> Path:
    """Ana's workspace folder."""
    assert ana.current_workspace is not None
    return ana.current_workspace.root


@pytest.fixture
def client(ana: Account) -> Client:
    """Ana's browser."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(ana)
    return client


def get(client: Client, path: str, **more: object) -> str:
    """A page's text."""
    answer = client.get(path, **more)
    assert answer.status_code == 200, (answer.status_code, answer.headers.get("Location"), path)
    return answer.content.decode()


def put(root: Path, path: str, text: str | bytes) -> Path:
    """A file below ``wikis/``."""
    file = root / "wikis" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file
