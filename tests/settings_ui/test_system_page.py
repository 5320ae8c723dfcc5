"""Settings → System."""

import json
import os
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from jenny.accounts.models import Account, Job, UpSpan
from jenny.accounts.models.activity import GAP
from jenny.accounts.services import health
from jenny.workspace import retention
from settings_ui import tasks
from tests.support.stack import PASSWORD

PAGE = "/settings/system/"
LOOK = "/settings/appearance/"


def test_health_is_what_the_health_check_says(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words, each with what to do."""
    monkeypatch.setattr(health, "_redis", lambda: True)
    page = client.get(PAGE)
    assert "The queue answers." in page.text
    ready = client.get("/health/ready")
    checks = {one.name: one.is_fine for one in page.context["checks"]}
    assert ready.json() == {"ready": True, "checks": checks}
    monkeypatch.setattr(health, "_redis", lambda: False)
    assert client.get("/health/ready").status_code == 503
    page = client.get(PAGE)
    assert "the queue answers. The embedded server is started again by itself" in page.text


def check_files(client: Client) -> str:
    """The page after a check by the button, which a worker did."""
    answer = client.post(f"{PAGE}health/")
    job = Job.objects.get(kind="check", state="queued")
    assert answer.url == f"/jobs/{job.pk}/"
    assert "A check is under way" in client.get(f"{PAGE}health/").text
    tasks.check_files(job.pk)
    assert "What was found" in client.get(answer.url).text
    return client.get(f"{PAGE}health/").text


@pytest.mark.django_db(transaction=True)
def test_the_files_are_checked_in_the_background(client: Client, root: Path) -> None:
    """The page shows what the last check found and when, and looks at no file itself."""
    assert "Not checked yet" in client.get(f"{PAGE}health/").text
    assert "All well" in check_files(client)
    (root / "config.json").write_text("{ broken")
    (root / os.fsdecode(b"not \xff text.md")).write_text("x")
    page = client.get(f"{PAGE}health/").text
    assert "All well" in page
    assert "The files were checked" in page
    page = check_files(client)
    assert "to put right" in page
    assert "config.json" in page
    assert Job.objects.filter(kind="check").count() == 1


def test_every_part_is_shown(client: Client) -> None:
    """Those seen, and those that never were; on two hosts, too."""
    UpSpan.beat("web", "first")
    UpSpan.beat("web", "second")
    page = client.get(PAGE)
    lines = {one.name: one for one in page.context["lines"]}
    assert list(lines) == [
        "Web server",
        "Worker for chats",
        "Worker for the memory",
        "Worker for upkeep",
        "Scheduler",
    ]
    assert lines["Web server"].is_up
    assert "On 2 hosts: first, second" in page.text
    assert page.text.count("It has not been seen yet.") == 4


@pytest.mark.django_db
def test_a_beat_lengthens_or_begins_anew() -> None:
    """A restart within two minutes is no gap, a longer one is; what is old is let go."""
    assert UpSpan.beat("web", "here") is not None
    assert UpSpan.beat("web", "here") is None
    assert UpSpan.objects.count() == 1
    UpSpan.objects.update(last_at=timezone.now() - GAP - GAP)
    assert UpSpan.beat("web", "here") is not None
    assert UpSpan.objects.count() == 2
    UpSpan.objects.filter(last_at__lt=timezone.now() - GAP).update(
        last_at=timezone.now() - retention.ACTIVITY - GAP
    )
    assert UpSpan.beat("beat", "here") is not None
    assert UpSpan.objects.count() == 2


def test_the_disk_is_shown_by_part(client: Client, root: Path) -> None:
    """With how long each is kept; what belongs to all is the owner's to see."""
    (root / "big.txt").write_bytes(b"x" * 123_000)
    page = client.get(PAGE)
    assert "Files of “ana”" in page.text
    assert page.context["parts"][0].size >= 123_000
    assert "Copies of the database" in page.text
    bo = Client()
    bo.force_login(Account.objects.make_account("bo", PASSWORD, "UTC"))
    theirs = bo.get(PAGE)
    assert "Copies of the database" not in theirs.text
    assert "/operator/" not in theirs.text


@pytest.mark.parametrize(("theme", "scheme"), [("dark", "dark"), ("light", "light")])
def test_the_look_is_in_the_page_from_its_first_byte(
    client: Client, ana: Account, theme: str, scheme: str
) -> None:
    """On every page of the account, without script; strangers see the system's."""
    answer = client.post(LOOK, {"theme": theme}, follow=True)
    assert f"The look is {theme} now." in answer.text
    for path in ("/chat/", "/settings/account/"):
        page = client.get(path).text
        assert f'<html lang="en" data-theme="{theme}">' in page
        assert f'<meta name="color-scheme" content="{scheme}">' in page
    assert 'content="light dark"' in Client().get("/login/").text
    assert "already" in client.post(LOOK, {"theme": theme}, follow=True).text
    client.post(LOOK, {"theme": "system"})
    assert '<html lang="en">' in client.get("/chat/").text


def test_an_unknown_look_changes_nothing(client: Client, ana: Account) -> None:
    """And says so."""
    assert "not known" in client.post(LOOK, {"theme": "<pink>"}, follow=True).text
    ana.refresh_from_db()
    assert ana.theme == "system"


def test_zone_and_language_go_through_the_funnel(client: Client, root: Path) -> None:
    """A wrong one is refused at its field."""
    answer = client.post(PAGE, {"language": "de"}, follow=True)
    assert "Saved" in answer.text
    assert json.loads((root / "config.json").read_text())["agents"]["defaults"]["language"] == "de"
    assert client.post(PAGE, {"language": "no such language"}).status_code == 422


def test_the_size_of_the_database_is_known(client: Client) -> None:
    """Never nothing."""
    part = next(one for one in client.get(PAGE).context["parts"] if one.name == "The database")
    assert part.size > 0 or connection.settings_dict["NAME"].startswith("file:memory")
