"""Health, error pages and the installable app's files, for whoever asks."""

import json

import pytest
from django.contrib.staticfiles import finders
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from jenny import views

pytestmark = pytest.mark.django_db


def test_health_needs_no_session(client, valkey):
    """A monitor without an account is told that all is well, and which checks were made."""
    assert client.get("/health/live").json() == {"live": True}
    answer = client.get("/health/ready")
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "checks": {"database": True, "redis": True, "migrations": True},
    }
    assert "no-store" in answer.headers["Cache-Control"]


def test_health_is_for_reading(client):
    """Nothing can be posted to the health pages."""
    assert client.post("/health/live").status_code == 405
    assert client.post("/health/ready").status_code == 405


def test_the_icon_is_where_browsers_look_for_it(client):
    """Also before there is an owner, and without a login."""
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert finders.find(answer["Location"].removeprefix("/static/"))


def test_the_manifest_names_icons_that_are_there(client):
    """A phone that installs the page finds every icon."""
    answer = client.get("/manifest.webmanifest")
    assert answer.headers["Content-Type"] == "application/manifest+json"
    manifest = json.loads(answer.content)
    assert manifest["start_url"] == "/chat/"
    assert len(manifest["icons"]) >= 2
    for icon in manifest["icons"]:
        assert finders.find(icon["src"].removeprefix("/static/"))


def test_the_offline_page_and_its_worker_are_for_strangers(client):
    """A browser without a session can keep the page that it shows without a connection."""
    assert "not reachable" in client.get("/offline/").content.decode()
    worker = client.get("/offline/worker.js")
    assert worker.headers["Content-Type"].startswith("text/javascript")
    assert worker.headers["Service-Worker-Allowed"] == "/"


def test_a_foreign_host_name_is_refused_in_words(settings):
    """A request for a name that is not ours gets the page that says which variable to set."""
    answer = Client(headers={"host": "evil.example"}).get("/login/")
    assert answer.status_code == 400
    assert "JENNY_ALLOWED_HOSTS" in answer.content.decode()


def test_what_is_not_there_is_a_page(client, django_user_model):
    """A wrong address answers 404 with a page of ours, logged in or not."""
    django_user_model.objects.create_user("somebody", password="x")
    assert client.get("/no/such/page/").status_code == 404
    client.force_login(django_user_model.objects.get())
    answer = client.get("/no/such/page/")
    assert answer.status_code == 404
    assert "Jenny" in answer.content.decode()


@pytest.mark.parametrize("view", [views.bad_request, views.server_error])
def test_a_fault_is_a_page_even_without_a_database(view, django_db_blocker):
    """The pages for faults need nothing that may be what is broken."""
    with django_db_blocker.block():
        answer = view(RequestFactory().get("/"))
    assert answer.status_code in {400, 500}
    assert "Jenny" in answer.content.decode()


def test_a_full_disk_is_called_so(client, django_user_model):
    """What cannot be stored for lack of room says so, and what to do, instead of a fault."""
    person = django_user_model.objects.create_user("somebody", password="x")
    client.force_login(person)
    client.raise_request_exception = False

    def full(execute, sql, *rest):
        if sql.startswith(("INSERT", "UPDATE")):
            message = "database or disk is full"
            raise OperationalError(message)
        return execute(sql, *rest)

    with connection.execute_wrapper(full):
        answer = client.post("/chat/send", {"text": "Hello"})
    assert answer.status_code == 507
    assert "Make room on the disk" in answer.content.decode()


def test_the_front_door_leads_on(client, django_user_model):
    """The bare address is a way in: to the chat, by way of the login where that is needed."""
    django_user_model.objects.create_user("somebody", password="x")
    answer = client.get("/")
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/?next=")
