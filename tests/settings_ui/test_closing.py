"""An account is deleted."""

import json
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from jenny.accounts.models import Account, ApiKey, Leftover, UsageDay, Workspace
from jenny.chat.models import Conversation, Message, Turn
from memory.models import DreamRun
from settings_ui.services import accounts
from settings_ui.services.backups import storage
from tests.settings_ui.test_two_factor_page import set_up
from tests.support.stack import PASSWORD

PAGE = "/settings/account/delete/"


@pytest.fixture
def bo(ana: Account) -> Account:
    """Another account, with something of each kind."""
    person = Account.objects.make_account("bo", PASSWORD, "UTC")
    workspace = person.current_workspace
    assert workspace is not None
    workspace.make_folder()
    chat = Conversation.objects.create(workspace=workspace)
    Message.objects.create(conversation=chat, kind=Message.Kind.USER, text="a secret of Bo's")
    Turn.objects.create(conversation=chat)
    DreamRun.begin(workspace, "manual")
    ApiKey.keep(person, "https://models.example.org", "sk-bo-000000000000000000")
    UsageDay.objects.create(account=person, day="2026-01-01", kind="chat", model="m")
    for folder in (
        settings.JENNY_DATA.snapshots / f"{workspace.pk}.git",
        settings.JENNY_DATA.trash / str(workspace.pk),
        settings.JENNY_DATA.uploads / str(person.pk),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_text("x")
    return person


def folders(person: Account) -> list[Path]:
    """Where files of the account lie."""
    workspace = person.current_workspace
    assert workspace is not None
    data = settings.JENNY_DATA
    return [
        workspace.root,
        data.snapshots / f"{workspace.pk}.git",
        data.trash / str(workspace.pk),
        data.uploads / str(person.pk),
    ]


def index_of(person: Account) -> Path:
    """Where the words of the account's wikis lie, to be searched."""
    workspace = person.current_workspace
    assert workspace is not None
    return Path(settings.JENNY_DATA.cache / "wikis" / f"{workspace.pk}.sqlite3")


def logged_in(person: Account) -> Client:
    """Their browser."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(person)
    return client


def test_everything_of_it_goes_and_nothing_of_others(ana: Account, bo: Account) -> None:
    """Rows, folders and sessions; the page said before what goes. The slug is never used again."""
    client, second, places = logged_in(bo), logged_in(bo), folders(bo)
    index = index_of(bo)
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_bytes(b"words")
    backup, other = storage.new(bo), storage.new(ana)
    backup.hold()
    places += [index, backup.path]
    said = client.get(PAGE).text
    assert "“bo”" in said
    assert "1 API key, 2 sessions" in said
    answer = client.post(PAGE, {"password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert "The account “bo” is deleted" in client.get("/login/").text
    assert [place for place in places if place.exists()] == []
    assert other.path.exists()
    other.drop()
    assert not Account.objects.filter(username="bo").exists()
    for model in (Conversation, Message, Turn, DreamRun, ApiKey, UsageDay):
        assert not model.objects.exists(), model
    assert second.get("/chat/").status_code == 302
    assert logged_in(ana).get("/chat/").status_code == 200
    assert ana.current_workspace is not None
    assert ana.current_workspace.root.is_dir()
    assert Workspace.make(ana, "bo").slug != "bo"


@pytest.mark.parametrize("form", [{}, {"password": "wrong"}])
def test_a_wrong_password_deletes_nothing(bo: Account, form: dict[str, str]) -> None:
    """It says so at its field."""
    answer = logged_in(bo).post(PAGE, form)
    assert answer.status_code == 422
    assert Account.objects.filter(pk=bo.pk).exists()
    assert all(place.exists() for place in folders(bo))


def test_a_second_factor_is_asked_for(bo: Account) -> None:
    """The password alone does not do."""
    client = logged_in(bo)
    codes = set_up(client, bo)
    assert client.post(PAGE, {"password": PASSWORD}).status_code == 422
    assert client.post(PAGE, {"password": PASSWORD, "code": codes[0]}).status_code == 302
    assert not Account.objects.filter(pk=bo.pk).exists()


def test_an_owner_names_who_follows(client: Client, ana: Account, bo: Account) -> None:
    """There is always one owner while there are accounts."""
    assert 'name="successor"' in client.get(PAGE).text
    assert client.post(PAGE, {"password": PASSWORD}).status_code == 422
    assert client.post(PAGE, {"password": PASSWORD, "successor": ana.pk}).status_code == 422
    assert client.post(PAGE, {"password": PASSWORD, "successor": bo.pk}).status_code == 302
    bo.refresh_from_db()
    assert bo.is_superuser
    assert Account.objects.count() == 1


def test_the_last_account_leaves_a_first_day(client: Client, ana: Account) -> None:
    """It is said before; afterwards every page leads to the set-up."""
    assert "as on the first day" in client.get(PAGE).text
    client.post(PAGE, {"password": PASSWORD})
    assert not Account.objects.exists()
    assert client.get("/login/", follow=False)["Location"] == "/setup/"


def test_a_deletion_that_broke_off_is_finished(
    bo: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between rows and folders: the next tidying clears them, and what a run wrote late."""
    places = folders(bo)
    with monkeypatch.context() as patch:
        patch.setattr(accounts, "clear", lambda: 0)
        accounts.delete_account(bo)
    assert all(place.exists() for place in places)
    assert Leftover.objects.filter(cleared_at=None).count() == 2
    assert accounts.clear() == 2
    places[0].mkdir()
    (places[0] / "late.md").write_text("written by a run that was under way")
    assert accounts.clear() == 0
    assert [place for place in places if place.exists()] == []


def test_a_slug_that_is_somebody_s_is_not_cleared(ana: Account, bo: Account) -> None:
    """After a restored database a row may have it again: files of the living stay."""
    assert ana.current_workspace is not None
    row = ana.current_workspace
    Leftover.objects.create(slug="gone", name=str(row.pk))
    Leftover.objects.create(slug=row.slug, name="00000000-0000-4000-8000-000000000000")
    accounts.clear()
    assert row.root.is_dir()


def test_a_slug_that_was_gone_before_is_no_hindrance(bo: Account) -> None:
    """A database that was put back from a copy may hold both the row and the note that it is gone;
    the account can be deleted all the same."""
    places = folders(bo)
    Leftover.objects.create(slug="bo", name="00000000-0000-4000-8000-000000000000")
    accounts.delete_account(bo)
    assert [place for place in places if place.exists()] == []
    assert Leftover.objects.filter(slug="bo").count() == 1


def test_what_cannot_be_cleared_is_tried_again(
    bo: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that refuses leaves the note that says what is to go."""
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_args, **_more: None)
        accounts.delete_account(bo)
    assert Leftover.objects.filter(cleared_at=None).count() == 2
    accounts.clear()
    assert not Leftover.objects.filter(cleared_at=None).exists()


def test_the_command_says_first_and_deletes_then(
    ana: Account, bo: Account, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --yes nothing goes; an owner needs a successor."""
    call_command("delete_account", "--username", "bo", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["deleted"], told["goes"]["keys"]) == (False, 1)
    assert told["goes"]["workspaces"][0]["name"] == "bo"
    assert Account.objects.count() == 2
    with pytest.raises(CommandError, match="--new-owner"):
        call_command("delete_account", "--username", "ana", "--yes")
    call_command("delete_account", "--username", "ana", "--yes", "--new-owner", "bo")
    assert "bo is the owner now" in capsys.readouterr().out
    assert Account.objects.get().is_superuser
    call_command("delete_account", "--username", "bo", "--yes", "--json")
    assert "no account any more" in capsys.readouterr().out
