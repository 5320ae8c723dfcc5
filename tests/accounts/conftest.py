"""People for the accounts' tests."""

from collections.abc import Callable

import django
import pytest

# So that the tests here can import models; tests/conftest.py has set the environment.
django.setup()

from django.contrib.auth.hashers import Argon2PasswordHasher  # noqa: E402
from django.test import Client  # noqa: E402

from jenny.accounts.models import Account  # noqa: E402
from tests.support.stack import PASSWORD  # noqa: E402


@pytest.fixture(autouse=True)
def quick_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed for real, with less work: there are hundreds of logins here."""
    monkeypatch.setattr(Argon2PasswordHasher, "memory_cost", 64)
    monkeypatch.setattr(Argon2PasswordHasher, "time_cost", 1)
    monkeypatch.setattr(Argon2PasswordHasher, "parallelism", 1)


@pytest.fixture
def ana(db: None) -> Account:
    """The owner."""
    return Account.objects.make_owner("Ana", PASSWORD, "UTC")


@pytest.fixture
def bo(ana: Account) -> Account:
    """Another account on the same instance."""
    return Account.objects.make_account("bo", PASSWORD, "UTC")


@pytest.fixture
def visitor() -> Callable[..., Client]:
    """Make visitors: browsers whose requests come from pages of ours."""

    def make(**headers: str) -> Client:
        return Client(headers={"Sec-Fetch-Site": "same-origin", **headers})

    return make
