"""Settings → Account."""

import pytest
from django.test import Client

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession
from tests.support.stack import PASSWORD

PAGE = "/settings/account/"
NEW = "quite another password"


def elsewhere(person: Account) -> Client:
    """Another browser of the same person."""
    client = Client(headers={"User-Agent": "Mozilla/5.0 (iPhone) Version/19 Safari/604"})
    client.post("/login/", {"username": person.username, "password": PASSWORD})
    return client


def test_the_page_shows_who_is_in_and_from_where(client: Client, ana: Account) -> None:
    """Each session with its device; this one is marked; no session's key is in the page."""
    elsewhere(ana)
    page = client.get(PAGE)
    assert [one["is_own"] for one in page.context["sessions"]].count(True) == 1
    assert "Safari on iPhone" in page.text
    for row in LoginSession.objects.all():
        assert row.session_key not in page.text


def test_one_session_is_ended(client: Client, ana: Account) -> None:
    """The other device is out on its next request; this one stays."""
    other = elsewhere(ana)
    row = LoginSession.objects.get(session_key=other.session.session_key)
    answer = client.post(f"{PAGE}sessions/{row.pk}/end", follow=True)
    assert "Safari on iPhone is ended" in answer.text
    assert other.get("/chat/").status_code == 302
    assert client.get("/chat/").status_code == 200


def test_all_others_are_ended(client: Client, ana: Account) -> None:
    """And how many they were is said."""
    others = [elsewhere(ana) for _ in range(2)]
    answer = client.post(f"{PAGE}sessions/end-others", follow=True)
    assert "2 other sessions are ended" in answer.text
    assert [one.get("/chat/").status_code for one in others] == [302, 302]
    assert client.get("/chat/").status_code == 200


def test_ending_ones_own_session_is_logging_out(client: Client) -> None:
    """It leads to the login."""
    row = LoginSession.objects.get()
    assert client.post(f"{PAGE}sessions/{row.pk}/end")["Location"] == "/login/"
    assert client.get(PAGE).status_code == 302


def test_a_session_that_is_gone_is_not_found(client: Client, ana: Account) -> None:
    """So is somebody else's."""
    bo = Account.objects.make_account("bo", PASSWORD, "UTC")
    elsewhere(bo)
    theirs = LoginSession.objects.get(account=bo)
    assert client.post(f"{PAGE}sessions/{theirs.pk}/end").status_code == 404
    assert access.session_is_live(theirs.session_key)


def test_a_new_password_ends_the_other_sessions(client: Client, ana: Account) -> None:
    """This browser stays in, under a new session; everybody else needs the new password."""
    other = elsewhere(ana)
    before = client.session.session_key
    form = {"old_password": PASSWORD, "new_password": NEW}
    answer = client.post(f"{PAGE}password", form, follow=True)
    assert "Your password is changed. One other session is ended." in answer.text
    assert client.session.session_key != before
    assert client.get("/chat/").status_code == 200
    assert other.get("/chat/").status_code == 302
    assert LoginSession.objects.get().session_key == client.session.session_key
    ana.refresh_from_db()
    assert ana.check_password(NEW)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("wrong", NEW, "not your password"),
        (PASSWORD, "short", "10 characters"),
        (PASSWORD, "", "required"),
        ("", NEW, "required"),
    ],
)
def test_a_wrong_form_changes_nothing(
    client: Client, ana: Account, old: str, new: str, complaint: str
) -> None:
    """It is said at its field, and no password comes back in the page."""
    answer = client.post(f"{PAGE}password", {"old_password": old, "new_password": new})
    assert answer.status_code == 422
    assert complaint in answer.text
    assert NEW not in answer.text
    ana.refresh_from_db()
    assert ana.check_password(PASSWORD)


def test_guessing_the_password_here_is_throttled_too(client: Client) -> None:
    """Whoever finds a session open cannot try passwords without end."""
    form = {"old_password": "wrong", "new_password": NEW}
    answers = [client.post(f"{PAGE}password", form).status_code for _ in range(8)]
    assert answers[-1] == 429
    form["old_password"] = PASSWORD
    assert client.post(f"{PAGE}password", form).status_code == 429
