"""Sessions that can be listed and ended."""

import datetime as dt

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession

pytestmark = pytest.mark.django_db


def logged_in(person: Account) -> Client:
    """A browser in which *person* is logged in."""
    client = Client()
    client.force_login(person)
    return client


def test_an_ended_session_is_a_strangers_on_its_next_request(ana: Account) -> None:
    """Ending a session on another device takes effect there at once."""
    client = logged_in(ana)
    key = client.session.session_key
    assert access.session_is_live(key)
    LoginSession.objects.get().end()
    assert not access.session_is_live(key)
    assert client.get("/chat/").status_code == 302


def test_a_session_without_its_row_is_no_login(ana: Account) -> None:
    """Even if the session itself survived somewhere: what is not on the list cannot be seen
    and ended, so it does not count."""
    client = logged_in(ana)
    LoginSession.objects.all().delete()
    assert client.get("/chat/").status_code == 302
    assert not Session.objects.exists()


def test_a_session_that_ran_out_is_not_live(ana: Account) -> None:
    """Open streams of it end as well."""
    client = logged_in(ana)
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(seconds=1))
    assert not access.session_is_live(client.session.session_key or "")
    assert client.get("/chat/").status_code == 302


def test_no_session_is_not_live(db: None) -> None:
    """An empty key is nobody's."""
    assert not access.session_is_live("")


def test_a_visit_is_noted_once_a_minute(ana: Account) -> None:
    """Last seen is right to the minute and does not cost a write for every request."""
    client = logged_in(ana)
    client.get("/chat/")
    first = LoginSession.objects.get()
    client.get("/chat/")
    assert LoginSession.objects.get().seen_at == first.seen_at
    LoginSession.objects.update(seen_at=first.seen_at - dt.timedelta(minutes=5))
    client.get("/chat/")
    assert LoginSession.objects.get().seen_at >= first.seen_at


def test_another_address_is_noted_at_once(ana: Account) -> None:
    """Somebody who looks at the list sees where a session is used from now."""
    client = logged_in(ana)
    client.get("/chat/", REMOTE_ADDR="10.1.2.3")
    assert LoginSession.objects.get().address == "10.1.2.3"


def test_a_session_in_use_does_not_run_out(ana: Account) -> None:
    """Whoever comes back every day is not asked for the password every month."""
    client = logged_in(ana)
    client.get("/chat/")
    Session.objects.update(expire_date=timezone.now() + dt.timedelta(days=2))
    session = client.session
    session["renewed"] = "2000-01-01"
    session.save()
    Session.objects.update(expire_date=timezone.now() + dt.timedelta(days=2))
    client.get("/chat/")
    assert Session.objects.get().expire_date > timezone.now() + dt.timedelta(days=29)


def test_a_login_forgets_sessions_that_ran_out(ana: Account) -> None:
    """The list holds what can still be used."""
    logged_in(ana)
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(days=1))
    logged_in(ana)
    assert LoginSession.objects.count() == Session.objects.count() == 1


def test_sessions_of_others_stay(ana: Account, bo: Account) -> None:
    """Ending all of one's own sessions ends nobody else's."""
    first, second, theirs = logged_in(ana), logged_in(ana), logged_in(bo)
    assert ana.end_sessions(keep=second.session.session_key or "") == 1
    assert [one.get("/chat/").status_code for one in (first, second, theirs)] == [302, 200, 200]


def test_a_page_is_shown_in_the_accounts_zone(ana: Account) -> None:
    """Times on pages are the reader's; the zone does not leak into the next request."""
    Account.objects.update(time_zone="Pacific/Kiritimati")
    client = logged_in(ana)
    LoginSession.objects.update(started_at=dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC))
    assert "2 January 2026, 02:00" in client.get("/settings/account/").text
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_zone_that_is_gone_does_not_break_pages(ana: Account) -> None:
    """Zones are renamed from time to time."""
    Account.objects.update(time_zone="Nowhere/Gone")
    assert logged_in(ana).get("/settings/account/").status_code == 200
