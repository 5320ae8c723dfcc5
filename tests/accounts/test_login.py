"""Login, logout, and how guessing is kept slow."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings as django_settings
from django.contrib.auth import hashers
from django.db import connection
from django.test import Client
from django.utils import timezone

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession
from jenny.accounts.services.login import FREE_FAILURES, LONGEST_WAIT_SECONDS
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db
WRONG = "not the password"
LIMIT = 8


def attempt(client: Client, username: str, password: str = WRONG, **headers: str) -> Any:
    """One try."""
    return client.post("/login/", {"username": username, "password": password}, headers=headers)


def test_a_login_leads_to_the_chat(client: Client, ana: Account) -> None:
    """Name in any case, password exactly; the session is on the list from then on."""
    answer = attempt(client, "aNA", PASSWORD, **{"User-Agent": "Firefox/140.0 Linux"})
    assert (answer.status_code, answer["Location"]) == (302, "/chat/")
    assert client.get("/chat/").status_code == 200
    row = LoginSession.objects.get()
    assert (row.account, row.device, row.address) == (ana, "Firefox on Linux", "127.0.0.1")
    assert attempt(client, "Ana", PASSWORD.upper()).status_code == 302  # is in already


def test_the_session_is_a_new_one_after_a_login(client: Client, ana: Account) -> None:
    """A session planted before the login is worth nothing after it."""
    session = client.session
    session["planted"] = "1"
    session.save()
    before = session.session_key
    client.cookies[django_settings.SESSION_COOKIE_NAME] = before
    attempt(client, "Ana", PASSWORD)
    assert client.session.session_key != before
    assert not access.session_is_live(before)


@pytest.mark.parametrize(
    ("username", "password"),
    [("Ana", WRONG), ("nobody", WRONG), ("Ana", ""), ("", PASSWORD), ("Ana", PASSWORD + " ")],
)
def test_a_wrong_login_says_one_sentence(
    client: Client, ana: Account, username: str, password: str
) -> None:
    """Nobody learns which names exist; the form comes back with the name in it."""
    answer = attempt(client, username, password)
    assert answer.status_code == 422
    assert password not in answer.text or not password
    if username and password:
        assert "User name and password do not match" in answer.text
        assert f'value="{username}"' in answer.text


def test_an_unknown_name_costs_the_same_work(
    client: Client, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password is hashed once whether the name exists or not, so time tells nothing."""
    hashed: list[str] = []
    original = hashers.Argon2PasswordHasher.encode

    def counting(self: Any, password: str, salt: str) -> str:
        hashed.append("encode")
        return str(original(self, password, salt))

    verified: list[str] = []
    verify = hashers.Argon2PasswordHasher.verify

    def counting_verify(self: Any, password: str, encoded: str) -> bool:
        verified.append("verify")
        return bool(verify(self, password, encoded))

    monkeypatch.setattr(hashers.Argon2PasswordHasher, "encode", counting)
    monkeypatch.setattr(hashers.Argon2PasswordHasher, "verify", counting_verify)
    attempt(client, "Ana")
    known = len(hashed) + len(verified)
    attempt(client, "nobody")
    assert known == 1
    assert len(hashed) + len(verified) == 2


@pytest.mark.parametrize(
    ("goal", "lands"),
    [
        ("/settings/models/", "/settings/models/"),
        ("/chat/?x=1", "/chat/?x=1"),
        ("https://evil.example/chat/", "/chat/"),
        ("//evil.example/chat/", "/chat/"),
        ("/\\evil.example", "/chat/"),
        ("/chat/\r\nX: 1", "/chat/"),
        ("javascript:alert(1)", "/chat/"),
        ("chat/", "/chat/"),
        ("/nowhere/", "/chat/"),
        ("/login/", "/chat/"),
        ("/logout/", "/chat/"),
        ("/setup/", "/chat/"),
        ("/chat/send", "/chat/"),
        ("/health/live", "/chat/"),
        ("", "/chat/"),
    ],
)
def test_a_login_leads_only_to_pages_of_ours(
    client: Client, ana: Account, goal: str, lands: str
) -> None:
    """The way back is followed, and no link with ?next= leads to another site."""
    page = client.get("/login/", {"next": goal})
    assert page.context["next"] == lands
    answer = client.post("/login/", {"username": "Ana", "password": PASSWORD, "next": goal})
    assert answer["Location"] == lands


def test_guessing_is_stopped_and_says_for_how_long(client: Client, ana: Account) -> None:
    """After a few wrong tries even the right password is not looked at, for minutes."""
    answers = [attempt(client, "Ana").status_code for _ in range(LIMIT)]
    assert answers == [422] * (LIMIT - 1) + [429]
    answer = attempt(client, "ana", PASSWORD)
    assert answer.status_code == 429
    assert "Try again in 15 minutes" in answer.text
    assert answer["Retry-After"] == "900"
    assert not client.session.get("_auth_user_id")


def test_a_name_that_is_none_locks_just_the_same(client: Client, ana: Account) -> None:
    """The lock tells no more than the form does."""
    answers = [attempt(client, "nobody").status_code for _ in range(LIMIT)]
    assert answers == [422] * (LIMIT - 1) + [429]
    assert "with this name" in attempt(client, "nobody").text


def test_other_spellings_of_a_name_are_the_same_name(client: Client, ana: Account) -> None:
    """Two to the n ways to write a name are not n times as many guesses."""
    spellings = ["".join(letters) for letters in itertools.product(*zip("ana", "ANA", strict=True))]
    answers = [attempt(client, name).status_code for name in spellings]
    assert answers[-1] == 429


def test_others_are_not_locked_out(ana: Account, bo: Account) -> None:
    """Guessing at one name, or from one place, does not keep out everybody else."""
    guesser, home = Client(), Client(REMOTE_ADDR="10.0.0.2")
    for _ in range(LIMIT + 3):
        attempt(guesser, "Ana")
    assert attempt(home, "Ana", PASSWORD).status_code == 302
    assert attempt(Client(), "bo", PASSWORD).status_code == 302


def test_the_lock_ends(client: Client, ana: Account) -> None:
    """Once the time is over the right password opens again; tries meanwhile did not extend it."""
    for _ in range(LIMIT + 2):
        attempt(client, "Ana")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE axes_accessattempt SET attempt_time = '2020-01-01 00:00:00'")
    assert attempt(client, "Ana", PASSWORD).status_code == 302


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP"])
def test_a_header_does_not_make_another_address(client: Client, ana: Account, header: str) -> None:
    """Whoever invents an address for each try is locked out all the same."""
    answers = [
        attempt(client, "Ana", **{header: f"10.0.0.{number}"}).status_code
        for number in range(LIMIT)
    ]
    assert answers[-1] == 429


def test_no_password_is_kept(client: Client, ana: Account) -> None:
    """What was typed wrong is often the password of something else."""
    attempt(client, "Ana", "my-bank-password")
    row = AccessAttempt.objects.get()
    assert "my-bank-password" not in str(row.__dict__)


def test_logging_out_ends_the_session(client: Client, ana: Account) -> None:
    """By POST alone; afterwards the cookie is worth nothing."""
    attempt(client, "Ana", PASSWORD)
    key = client.session.session_key
    assert client.get("/logout/").status_code == 405
    assert client.get("/chat/").status_code == 200
    answer = client.post("/logout/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert not access.session_is_live(key)
    client.cookies[django_settings.SESSION_COOKIE_NAME] = key
    assert client.get("/chat/").status_code == 302
    assert not LoginSession.objects.exists()


def test_an_account_that_was_switched_off_is_out(client: Client, ana: Account) -> None:
    """On its next request, and on its open streams."""
    attempt(client, "Ana", PASSWORD)
    key = client.session.session_key
    assert access.session_is_live(key)
    Account.objects.update(is_active=False)
    assert not access.session_is_live(key)
    assert client.get("/chat/").status_code == 302
    assert attempt(Client(), "Ana", PASSWORD).status_code == 422


def test_somebody_in_already_is_sent_on(visitor: Callable[..., Client], ana: Account) -> None:
    """A second tab that stands at the login goes where it wanted to go."""
    client = visitor()
    client.force_login(ana)
    assert client.get("/login/?next=/settings/account/")["Location"] == "/settings/account/"


def test_pages_of_an_account_are_kept_by_no_cache(client: Client, ana: Account) -> None:
    """After logging out, the back button of a shared machine shows nothing."""
    client.force_login(ana)
    for path in ("/chat/", "/settings/account/", "/settings/models/"):
        assert "no-store" in client.get(path)["Cache-Control"]
    assert "no-store" in Client().get("/login/")["Cache-Control"]


def test_guessing_one_name_from_many_addresses_is_slowed_down(
    client: Client, ana: Account, bo: Account
) -> None:
    """Whoever has many addresses gets few tries; a browser that was in before is not held up, other
    names are not, and after a pause a try is let through again."""
    known, stranger = Client(), Client()
    attempt(known, "ana", PASSWORD)
    known.post("/logout/")
    for number in range(FREE_FAILURES):
        assert (
            client.post(
                "/login/",
                {"username": " Ana ", "password": WRONG},
                REMOTE_ADDR=f"203.0.113.{number}",
            ).status_code
            == 422
        )
    held_up = attempt(stranger, "ana", PASSWORD)
    assert held_up.status_code == 429
    assert int(held_up["Retry-After"]) <= LONGEST_WAIT_SECONDS
    assert attempt(Client(), "bo", PASSWORD).status_code == 302
    assert attempt(known, "ana", PASSWORD).status_code == 302
    earlier = timezone.now() - timedelta(seconds=LONGEST_WAIT_SECONDS)
    AccessAttempt.objects.update(attempt_time=earlier)
    assert attempt(stranger, "ana", PASSWORD).status_code == 302


def test_a_new_password_ends_what_a_browser_was_known_for(client: Client, ana: Account) -> None:
    """Whoever knew the old one has no advantage left."""
    attempt(client, "ana", PASSWORD)
    ana.set_password(f"{PASSWORD} anew")
    ana.save()
    client.logout()
    for number in range(FREE_FAILURES):
        Client().post(
            "/login/", {"username": "ana", "password": WRONG}, REMOTE_ADDR=f"203.0.113.{number}"
        )
    assert attempt(client, "ana", f"{PASSWORD} anew").status_code == 429
