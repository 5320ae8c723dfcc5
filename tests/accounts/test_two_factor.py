"""The second step of a login."""

import re
import threading
import time
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client

from jenny.accounts import totp
from jenny.accounts.models import Account, LoginSession, RecoveryCode, TwoFactor
from jenny.accounts.models.two_factor import MOST_FAILURES, PAUSE
from jenny.accounts.services import login
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db


class Phone:
    """An authenticator app with the account's secret; each code it gives is a new one."""

    def __init__(self, person: Account) -> None:
        row = TwoFactor.begin(person)
        self.secret = row.reveal() or ""
        self.step = int(time.time()) // 30 - 1
        self.recovery = row.confirm(self.code()) or []

    def code(self) -> str:
        """A code that was not used yet."""
        code = totp.code_at(self.secret, self.step)
        self.step += 1
        return code


@pytest.fixture
def phone(ana: Account) -> Phone:
    """Ana's, after she set it up."""
    return Phone(ana)


def first_step(client: Client, name: str = "Ana", **more: str) -> Any:
    """The right password."""
    return client.post("/login/", {"username": name, "password": PASSWORD, **more})


def second_step(client: Client, code: str, **more: str) -> Any:
    """A code."""
    return client.post("/login/code/", {"code": code, **more})


def test_the_password_alone_lets_nobody_in(client: Client, ana: Account, phone: Phone) -> None:
    """After it a code is asked for; with that the login is done, and on the list of sessions."""
    answer = first_step(client, next="/settings/account/")
    assert answer["Location"] == "/login/code/?next=%2Fsettings%2Faccount%2F"
    assert client.get("/chat/").status_code == 302
    assert not LoginSession.objects.exists()
    assert "One more step" in client.get("/login/code/").text
    done = second_step(client, phone.code(), next="/settings/account/")
    assert (done.status_code, done["Location"]) == (302, "/settings/account/")
    assert LoginSession.objects.get().account == ana
    assert login.PENDING_LOGIN not in client.session


def test_without_the_password_there_is_no_second_step(client: Client, phone: Phone) -> None:
    """A right code is worth nothing then, and nothing is counted against the account."""
    assert second_step(client, phone.code())["Location"].startswith("/login/?")
    assert TwoFactor.objects.get().failures == 0


def test_a_code_is_taken_once(ana: Account, phone: Phone) -> None:
    """Somebody who looked over the shoulder cannot use it, nor an older one."""
    code = phone.code()
    one, other = Client(), Client()
    first_step(one)
    first_step(other)
    assert second_step(one, code).status_code == 302
    refused = second_step(other, code)
    assert refused.status_code == 422
    assert "was used before" in refused.text
    older = totp.code_at(phone.secret, phone.step - 2)
    assert second_step(other, older).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_a_code_is_taken_once_also_at_the_same_moment(ana: Account) -> None:
    """Of many logins with one code, one gets in."""
    phone = Phone(ana)
    row, code = TwoFactor.objects.get(), phone.code()
    start, won = threading.Barrier(5), []

    def work() -> None:
        start.wait()
        won.append(row.try_code(code))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(won) == [False] * 4 + [True]


@pytest.mark.parametrize("code", ["", "000000", "12345", "abc", "١٢٣٤٥٦", "x" * 500, "\x00"])
def test_a_wrong_code_says_so(client: Client, phone: Phone, code: str) -> None:
    """And what was typed comes back; the password is not asked for again."""
    first_step(client)
    answer = second_step(client, code)
    assert answer.status_code == 422
    assert client.get("/chat/").status_code == 302
    assert second_step(client, phone.code()).status_code == 302


def test_guessing_is_stopped_for_the_account(phone: Phone) -> None:
    """From however many places; the right code is not taken then either, and how long is said."""
    for _ in range(MOST_FAILURES):
        client = Client()
        first_step(client)
        answer = second_step(client, "000000")
    assert answer.status_code == 429
    assert re.search(r"Try again in 1[45] minutes", answer.text)
    assert int(answer["Retry-After"]) > 60
    code = phone.code()
    assert second_step(client, code).status_code == 429
    assert client.get("/login/code/").status_code == 429
    row = TwoFactor.objects.get()
    TwoFactor.objects.update(failed_at=row.failed_at - PAUSE)
    assert second_step(client, code).status_code == 302
    assert TwoFactor.objects.get().failures == 0


def test_a_recovery_code_works_once(ana: Account, phone: Phone) -> None:
    """However it is typed; how many are left is said when they are few."""
    code = phone.recovery[0]
    one, other = Client(), Client()
    first_step(one)
    assert second_step(one, code.upper().replace("-", " ")).status_code == 302
    first_step(other)
    assert second_step(other, code).status_code == 422
    assert RecoveryCode.left(ana) == 9
    for used in phone.recovery[1:8]:
        RecoveryCode.use(ana.pk, used)
    second_step(other, phone.recovery[8])
    assert "You have one recovery code left" in other.get("/settings/account/").text


def test_nothing_secret_lies_in_the_database_in_clear(ana: Account, phone: Phone) -> None:
    """Neither the secret nor a recovery code; nor does one stand for another account."""
    row = TwoFactor.objects.get()
    assert phone.secret.encode() not in bytes(row.ciphertext)
    kept = set(RecoveryCode.objects.values_list("digest", flat=True))
    assert not kept & set(phone.recovery)
    bo = Account.objects.make_account("bo", PASSWORD, "UTC")
    TwoFactor.objects.create(account=bo, ciphertext=row.ciphertext)
    assert TwoFactor.objects.get(account=bo).reveal() is None
    assert not RecoveryCode.use(bo.pk, phone.recovery[0])


def test_half_a_login_runs_out(
    client: Client, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten minutes the password is asked for again."""
    first_step(client)
    later = time.time() + login.PENDING_LOGIN_SECONDS + 1
    monkeypatch.setattr(login.time, "time", lambda: later)
    assert client.get("/login/code/")["Location"].startswith("/login/?")


def test_half_a_login_ends_with_the_password(client: Client, ana: Account, phone: Phone) -> None:
    """A password that was changed meanwhile is not the one that was right."""
    first_step(client)
    ana.set_password("quite another password")
    ana.save()
    assert second_step(client, phone.code())["Location"].startswith("/login/?")


def test_a_planted_session_is_worth_nothing(client: Client, phone: Phone) -> None:
    """Neither after the first step nor after the second."""
    session = client.session
    session["planted"] = "1"
    session.save()
    keys = {session.session_key}
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    first_step(client)
    assert client.session.session_key not in keys
    keys.add(client.session.session_key)
    second_step(client, phone.code())
    assert client.session.session_key not in keys


def test_what_was_typed_is_kept_through_both_steps(phone: Phone) -> None:
    """The text of an ended session waits in the conversation's composer once one is in."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.post("/chat/send", {"text": "a long thought"})
    first_step(client)
    assert "a long thought" in client.get("/login/code/").text
    second_step(client, phone.code())
    assert [one["text"] for one in client.session["kept_text"]] == ["a long thought"]


def test_the_command_turns_it_off(
    ana: Account, phone: Phone, capsys: pytest.CaptureFixture[str]
) -> None:
    """For whoever lost both; sessions end, and the password is enough then."""
    client = Client()
    first_step(client)
    second_step(client, phone.code())
    call_command("reset_two_factor", "--username", "ana", "--json")
    assert '"was_on": true' in capsys.readouterr().out
    assert client.get("/chat/").status_code == 302
    assert first_step(Client())["Location"] == "/chat/"
    assert not RecoveryCode.objects.exists()
    call_command("reset_two_factor", "--username", "ana")
    assert "nothing was changed" in capsys.readouterr().out
