"""Settings → Account → Two-factor."""

import re
import time

import pytest
from django.test import Client

from jenny.accounts import totp
from jenny.accounts.models import Account, RecoveryCode, TwoFactor
from tests.settings_ui.test_account_page import elsewhere
from tests.support.stack import PASSWORD

PAGE = "/settings/account/two-factor/"


def code_now(person: Account, offset: int = 0) -> str:
    """What the app shows."""
    secret = TwoFactor.objects.get(account=person).reveal() or ""
    return totp.code_at(secret, int(time.time()) // 30 + offset)


def set_up(client: Client, person: Account) -> list[str]:
    """Turn it on as a person does; the recovery codes."""
    client.post(f"{PAGE}begin", {"password": PASSWORD})
    page = client.post(f"{PAGE}confirm", {"code": code_now(person, -1)})
    return list(page.context["codes"])


def test_it_is_set_up_with_a_picture_and_a_code(client: Client, ana: Account) -> None:
    """Until the first code nothing is asked of anybody; then other sessions end, and the recovery
    codes are shown once."""
    other = elsewhere(ana)
    assert "Set it up" in client.get("/settings/account/").text
    assert client.post(f"{PAGE}begin", {"password": PASSWORD}).status_code == 302
    page = client.get(PAGE)
    secret = TwoFactor.objects.get().reveal() or ""
    assert secret in page.text.replace(" ", "")
    assert re.search(r"<svg[^>]*viewBox[^>]*>", page.text)
    assert "style=" not in page.text
    assert TwoFactor.of(ana) is None
    shown = client.post(f"{PAGE}confirm", {"code": code_now(ana)})
    assert shown.status_code == 200
    assert "One other session is ended" in shown.text
    assert len(shown.context["codes"]) == 10
    assert shown["Cache-Control"] == "no-store"
    assert other.get("/chat/").status_code == 302
    again = client.get(PAGE)
    assert shown.context["codes"][0] not in again.text
    assert "10 recovery codes can still be used" in again.text
    assert secret not in again.text.replace(" ", "")


@pytest.mark.parametrize(
    ("what", "form", "complaint"),
    [
        ("begin", {"password": "wrong"}, "not your password"),
        ("begin", {}, "required"),
        ("confirm", {"code": "000000"}, "not the code that the app shows"),
        ("confirm", {}, "required"),
    ],
)
def test_a_wrong_form_turns_nothing_on(
    client: Client, ana: Account, what: str, form: dict[str, str], complaint: str
) -> None:
    """It says what is wrong at its field."""
    if what == "confirm":
        client.post(f"{PAGE}begin", {"password": PASSWORD})
    answer = client.post(PAGE + what, form)
    assert answer.status_code == 422
    assert complaint in answer.text
    assert TwoFactor.of(ana) is None


def test_it_is_turned_off_with_password_and_code(client: Client, ana: Account) -> None:
    """Whoever finds a session open cannot turn it off with one of them alone."""
    codes = set_up(client, ana)
    for form in ({"password": PASSWORD}, {"password": "wrong", "code": codes[0]}, {}):
        assert client.post(f"{PAGE}end", form).status_code == 422
        assert TwoFactor.of(ana) is not None
    wrong = client.post(f"{PAGE}end", {"password": PASSWORD, "code": "000000"})
    assert "This code is not right" in wrong.text
    # A wrong password uses no code up.
    done = client.post(f"{PAGE}end", {"password": PASSWORD, "code": codes[0]}, follow=True)
    assert "Two-factor is off" in done.text
    assert not TwoFactor.objects.exists()
    assert not RecoveryCode.objects.exists()


def test_new_codes_take_the_place_of_the_old(client: Client, ana: Account) -> None:
    """They are shown once, too."""
    old = set_up(client, ana)
    page = client.post(f"{PAGE}renew", {"password": PASSWORD, "code": code_now(ana)})
    new = page.context["codes"]
    assert len(new) == 10
    assert not set(new) & set(old)
    assert not RecoveryCode.use(ana.pk, old[0])
    assert RecoveryCode.use(ana.pk, new[0])


def test_what_is_on_is_not_begun_anew(client: Client, ana: Account) -> None:
    """A second tab does not take the secret away that the phone has."""
    set_up(client, ana)
    before = TwoFactor.objects.get().reveal()
    client.post(f"{PAGE}begin", {"password": PASSWORD})
    assert client.post(f"{PAGE}confirm", {"code": "000000"}).status_code == 302
    assert TwoFactor.objects.get().reveal() == before
    assert TwoFactor.of(ana) is not None


def test_setting_up_can_be_left(client: Client) -> None:
    """The secret is forgotten, without a password: nothing was on."""
    client.post(f"{PAGE}begin", {"password": PASSWORD})
    client.post(f"{PAGE}end")
    assert not TwoFactor.objects.exists()


def test_another_secret_key_is_said(
    client: Client, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says that no code can be right any more, and what to do."""
    set_up(client, ana)
    monkeypatch.setattr(TwoFactor, "reveal", lambda _self: None)
    assert "manage.py reset_two_factor --username ana" in client.get(PAGE).text
