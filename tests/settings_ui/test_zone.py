"""The time zone is set in one place, Settings → System, and means one thing."""

from pathlib import Path

import pytest
from django.test import Client

from jenny.accounts.models import Account, Workspace
from jenny.agent import clock
from jenny.workspace import config
from settings_ui.services import workspaces

PAGE = "/settings/system/"
KEY = "agents.defaults.timezone"


def of(row: Workspace) -> str:
    """The zone that a workspace names."""
    return str(config.load_config(row.root).values[KEY])


def test_the_pages_and_the_workspaces_follow(client: Client, ana: Account, root: Path) -> None:
    """What Jenny writes and what pages show is one zone; a workspace that names none needs none,
    and other people's stay where they are."""
    named, plain = workspaces.create(ana, "named"), workspaces.create(ana, "plain")
    config.change_config(
        named.root, lambda data: data.update(agents={"defaults": {"timezone": "UTC"}})
    )
    bob = Account.objects.make_account("bob", "a long enough password", "UTC")
    answer = client.post(PAGE, {"timezone": "Asia/Tokyo"}, follow=True)
    assert "Time zone: none → Asia/Tokyo" in answer.text
    ana.refresh_from_db()
    bob.refresh_from_db()
    assert (ana.time_zone, bob.time_zone) == ("Asia/Tokyo", "UTC")
    assert config.load_config(root).values[KEY] == "Asia/Tokyo"
    assert (of(named), of(plain)) == ("Asia/Tokyo", "")
    assert not (plain.root / "config.json").exists()


def test_an_empty_choice_is_the_accounts_own(client: Client, ana: Account, root: Path) -> None:
    """The workspace names none any more; the account's is as it was."""
    client.post(PAGE, {"timezone": "Asia/Tokyo"})
    client.post(PAGE, {"timezone": ""})
    ana.refresh_from_db()
    assert ana.time_zone == "Asia/Tokyo"
    assert config.load_config(root).values[KEY] == ""
    assert "The account&#x27;s own (now Asia/Tokyo)" in client.get(PAGE).text


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "localtime"])
def test_no_other_zone_is_taken(client: Client, ana: Account, root: Path, zone: str) -> None:
    """What is no zone is refused, and nothing is written anywhere."""
    assert client.post(PAGE, {"timezone": zone}).status_code == 422
    ana.refresh_from_db()
    assert ana.time_zone == "UTC"
    assert not (root / "config.json").exists()


def test_every_zone_can_be_chosen_there_and_nowhere_else(client: Client) -> None:
    """All of them are offered, and the account's page has no second place for it."""
    page = client.get(PAGE).text
    assert page.count("<option") == len(clock.zone_names()) + 1
    assert "<option" not in client.get("/settings/account/").text
    assert client.post("/settings/account/timezone", {"timezone": "UTC"}).status_code == 404
