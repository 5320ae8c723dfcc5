"""The workspace's folder: made on the first visit, and never silently made anew."""

import shutil

import pytest
from django.conf import settings
from django.test import Client

from jenny.accounts.models import Account, Workspace
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ana: Account) -> Client:
    """Ana's browser."""
    client = Client()
    client.force_login(ana)
    return client


def test_a_folder_that_is_gone_is_told_and_not_replaced(client: Client) -> None:
    """A volume that was not mounted must not look like an empty memory."""
    assert client.get("/chat/").status_code == 200
    root = Workspace.objects.get().root
    shutil.rmtree(root)
    answer = client.get("/chat/")
    assert answer.status_code == 503
    assert "There is no workspace folder" in answer.text
    assert not root.exists()
    answer = client.get("/chat/", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["message"][:8]) == (503, "There is")


def test_a_folder_that_cannot_be_made_is_tried_again(client: Client) -> None:
    """The disk was in the way at the first visit: the next one finds it as it should be."""
    folder = settings.JENNY_DATA.workspaces
    aside = folder.with_name("workspaces-aside")
    if folder.exists():
        folder.rename(aside)
    folder.write_text("in the way")
    try:
        answer = client.get("/chat/")
        assert answer.status_code == 503
        assert "cannot be made" in answer.text
    finally:
        folder.unlink()
        if aside.exists():
            aside.rename(folder)
    assert client.get("/chat/").status_code == 200
    assert (Workspace.objects.get().root / "SOUL.md").exists()


def test_somebody_without_a_workspace_gets_one(client: Client, ana: Account) -> None:
    """Whatever became of the others, there is always one to talk in."""
    Workspace.objects.all().delete()
    assert client.get("/chat/").status_code == 200
    ana.refresh_from_db()
    assert ana.current_workspace is not None
    assert ana.current_workspace.owner == ana


def test_a_workspace_of_somebody_else_is_never_the_current_one(ana: Account, bo: Account) -> None:
    """Even when a row says so: a new session begins in one of the account's own."""
    Account.objects.filter(pk=ana.pk).update(current_workspace=bo.current_workspace)
    client = Client()
    client.post("/login/", {"username": "ana", "password": PASSWORD})
    assert client.get("/chat/").status_code == 200
    ana.refresh_from_db()
    assert ana.current_workspace is not None
    assert ana.current_workspace.owner == ana
