"""A workspace of an account, and a time that is moved by hand."""

from datetime import UTC, datetime

import django
import pytest

# So that the tests here can import models; tests/conftest.py has set the environment.
django.setup()

from django.contrib.auth.hashers import Argon2PasswordHasher  # noqa: E402

from jenny.accounts import access  # noqa: E402
from jenny.accounts.models import Account, Workspace  # noqa: E402

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody logs in here, so passwords need not be hashed for long."""
    monkeypatch.setattr(Argon2PasswordHasher, "memory_cost", 64)
    monkeypatch.setattr(Argon2PasswordHasher, "time_cost", 1)
    monkeypatch.setattr(Argon2PasswordHasher, "parallelism", 1)


@pytest.fixture
def workspace(db: None) -> Workspace:
    """The owner's workspace, with its folder."""
    return access.made_workspace(Account.objects.make_owner("saver", "a good long password", "UTC"))
