"""Settings → Workspaces: make, work in another, rename, delete, bring back."""

import datetime as dt
import json
import re
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django.utils import timezone

from jenny.accounts.models import Account, Job, Workspace
from jenny.chat.models import Conversation, Message, Turn
from jenny.workspace.config import load_config
from memory.models import DreamRun
from memory.services import snapshots
from settings_ui.errors import WorkspaceRefused
from settings_ui.services import workspaces
from tests.settings_ui.test_models_page import said
from tests.support.place import Place

PAGE = "/settings/workspaces/"


@pytest.fixture
def second(client: Client, ana: Account) -> Workspace:
    """Ana's other workspace; she works in it, in this session."""
    assert "“Work” is made" in said(client, PAGE, name="Work", folder="new")
    return Workspace.objects.get(name="Work")


def first_of(ana: Account) -> Workspace:
    """The workspace that came with the account; folders of other tests may have its name."""
    return ana.workspaces.order_by("created_at")[0]


def at(row: Workspace, what: str) -> str:
    """The address of what can be done with it."""
    return f"{PAGE}{row.pk}/{what}"


def delete(client: Client, row: Workspace) -> str:
    """Delete it with a yes; the sentence."""
    return said(client, at(row, "delete"), confirm="yes")


def test_a_new_workspace_is_empty_and_worked_in(
    client: Client, ana: Account, root: Path, second: Workspace
) -> None:
    """Its folder has fresh files; settings saved now are its own, and nothing of the first's."""
    assert (second.root / "USER.md").exists()
    said(client, "/settings/conversation/", maxMessages="77")
    assert load_config(second.root).agents.defaults.max_messages == 77
    assert load_config(root).agents.defaults.max_messages != 77
    assert "Work" in client.get("/chat/").text


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "work", "a\u202eb", "ana"])
def test_a_name_that_cannot_be_is_refused(client: Client, second: Workspace, name: str) -> None:
    """With the reason beside the field, and nothing made."""
    answer = client.post(PAGE, {"name": name})
    assert answer.status_code == 422
    assert Workspace.objects.count() == 2
    assert client.post(at(second, "rename"), {"name": name}).status_code == (
        302 if name == "work" else 422
    )


def test_a_rename_keeps_the_folder(client: Client, second: Workspace) -> None:
    """The name is for people; the folder's never changes."""
    slug = second.slug
    assert "“Garden” is the name now" in said(client, at(second, "rename"), name="Garden")
    assert "nothing was written" in said(client, at(second, "rename"), name="Garden")
    second.refresh_from_db()
    assert (second.name, second.slug) == ("Garden", slug)


def test_a_session_keeps_to_its_workspace(client: Client, ana: Account, second: Workspace) -> None:
    """Switching on one device does not move another under somebody's hands; a new login begins
    where the account was last."""
    phone = Client()
    phone.force_login(ana)
    said(phone, at(first_of(ana), "use"))
    assert client.get(PAGE).context["rows"][1]["is_current"]
    assert phone.get(PAGE).context["rows"][0]["is_current"]
    third = Client()
    third.force_login(ana)
    assert third.get(PAGE).context["rows"][0]["is_current"]


def test_a_form_of_another_tab_writes_into_no_wrong_workspace(
    client: Client, ana: Account, root: Path, second: Workspace
) -> None:
    """A page that was opened before the switch says so, and offers the way back; by script too."""
    page = client.get("/settings/conversation/").text
    assert f'name="in_workspace" value="{second.pk}"' in page
    first = first_of(ana)
    said(client, at(first, "use"))
    form = {"maxMessages": "50", "in_workspace": str(second.pk)}
    answer = client.post("/settings/conversation/", form)
    assert answer.status_code == 409
    assert "Switch to “Work”" in answer.text
    scripts = {"X-Workspace": str(second.pk), "Accept": "application/json"}
    assert client.post("/files/upload/", {}, headers=scripts).status_code == 409
    answer = client.post(
        "/chat/send",
        {"text": "Words that stay", "in_workspace": str(second.pk)},
        headers={"HX-Request": "true"},
    )
    assert "HX-Redirect" in answer.headers
    assert "Words that stay" in client.get("/chat/").text
    for folder in (root, second.root):
        assert load_config(folder).agents.defaults.max_messages == 120
    assert not Conversation.objects.exists()
    assert client.post("/logout/", {"in_workspace": str(second.pk)}).status_code == 302


def test_a_conversation_of_another_workspace_asks_first(
    client: Client, ana: Account, second: Workspace
) -> None:
    """Its page is not mixed with the other workspace's list; the way there goes through a yes."""
    first = first_of(ana)
    chat = Conversation.objects.create(workspace=first, title="Bees")
    url = f"/chat/{chat.pk}/"
    assert "This conversation is in “ana”" in client.get(url).text
    answer = client.post(at(first, "use"), {"next": url}, follow=True)
    assert answer.redirect_chain == [(url, 302)]
    evil = client.post(at(first, "use"), {"next": "//evil.example/"})
    assert evil.headers["Location"] == PAGE


def test_strangers_workspaces_are_not_there(client: Client, second: Workspace) -> None:
    """Neither to work in nor to rename, delete or bring back."""
    bob = Account.objects.make_account("bob", "a long enough password", "UTC").current_workspace
    assert bob is not None
    Workspace.make(bob.owner, "more")
    for what in ("use", "rename", "delete", "bring-back"):
        assert client.post(at(bob, what), {"name": "x", "confirm": "yes"}).status_code == 404
    workspaces.delete(bob)
    assert client.post(at(bob, "bring-back")).status_code == 404
    assert not re.search(r"\bbob\b", client.get(PAGE).text)


def test_deleting_asks_takes_a_snapshot_stops_and_can_be_undone(
    client: Client, ana: Account, second: Workspace
) -> None:
    """The page says what is inside; without a yes nothing happens; what runs is stopped; brought
    back it is as it was, and its name was used by nobody meanwhile."""
    (second.root / "note.md").write_text("bees")
    chat = Conversation.objects.create(workspace=second, title="Bees")
    Message.objects.create(conversation=chat, kind="user", text="hello")
    turn = Turn.objects.create(conversation=chat)
    run = DreamRun.begin(second, "manual")
    page = client.get(at(second, "delete")).text
    assert "1 conversation with 1 message" in page
    assert "2 runs under way there are stopped" in page
    assert client.post(at(second, "delete")).status_code == 422
    assert Workspace.objects.filter(pk=second.pk).exists()

    assert "“Work” is deleted" in delete(client, second)
    turn.refresh_from_db()
    run.refresh_from_db()
    assert (turn.state, run.state) == ("stopped", "ended")
    assert client.get(f"/chat/{chat.pk}/").status_code == 404
    assert client.get("/chat/").context["workspace"] == first_of(ana)
    assert workspaces.inside(second).snapshots == 1
    said(client, PAGE, name="Work", folder="new")
    assert Workspace.objects.get(name="Work").slug != second.slug

    assert "“Work” is back" in said(client, at(second, "bring-back"))
    said(client, at(second, "use"))
    assert client.get(f"/chat/{chat.pk}/").status_code == 200
    assert (second.root / "note.md").read_text() == "bees"


def test_one_that_is_being_restored_stays_until_then(
    client: Client, ana: Account, second: Workspace
) -> None:
    """Nobody takes a folder away from under a restore, an export or an import."""
    job = Job.ask(second, ana, "restore", {})
    answer = client.post(at(second, "delete"), {"confirm": "yes"})
    assert answer.status_code == 422
    assert "just being restored" in answer.text
    Job.objects.filter(pk=job.pk).update(state="done")
    assert "is deleted" in delete(client, second)


def test_work_that_begins_while_it_is_being_deleted_keeps_it(
    client: Client, ana: Account, second: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for in another tab while the snapshot before is taken: nothing is deleted."""
    take = snapshots.take_snapshot

    def taken(row: Workspace, *about: str, **more: str) -> object:
        Job.ask(row, ana, "restore", {})
        return take(row, *about, **more)

    monkeypatch.setattr(snapshots, "take_snapshot", taken)
    answer = client.post(at(second, "delete"), {"confirm": "yes"})
    assert answer.status_code == 422
    assert "just being restored" in answer.text
    assert Workspace.objects.filter(pk=second.pk).exists()


def test_the_last_one_stays(client: Client, ana: Account) -> None:
    """It is said why, and what to do."""
    first = first_of(ana)
    assert "your only workspace" in client.get(at(first, "delete")).text
    answer = client.post(at(first, "delete"), {"confirm": "yes"})
    assert answer.status_code == 422
    assert "is the only workspace" in answer.text


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_delete_the_last_two_at_once_leave_one(ana: Account) -> None:
    """Whoever is slower is told that it is the only one."""
    rows = [first_of(ana), workspaces.create(ana, "other")]
    gate = threading.Barrier(2)
    refused: list[str] = []

    def go(row: Workspace) -> None:
        gate.wait()
        try:
            workspaces.delete(row)
        except WorkspaceRefused as error:
            refused.append(error.message)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=go, args=[row]) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert Workspace.objects.count() == 1


def test_after_thirty_days_it_is_gone_for_good(
    client: Client, ana: Account, second: Workspace
) -> None:
    """Folder, snapshots and conversations go; the slug is still never used again."""
    Conversation.objects.create(workspace=second)
    delete(client, second)
    now = timezone.now()
    assert workspaces.purge(now + dt.timedelta(days=29)) == 0
    assert second.root.exists()
    assert workspaces.purge(now + dt.timedelta(days=31)) == 1
    assert not second.root.exists()
    assert not Conversation.objects.exists()
    assert workspaces.purge(now + dt.timedelta(days=31)) == 0
    assert client.post(at(second, "bring-back")).status_code == 404
    assert Workspace.make(ana, "Work").slug != second.slug


def test_the_commands(place: Place) -> None:
    """``create_workspace`` and ``delete_workspace``, from outside, while the app runs."""

    def asked(*words: str) -> dict:
        return json.loads(place.stack.manage(*words, "--json"))

    made = asked("create_workspace", "Second life")
    assert made["ok"]
    assert made["workspace"] == "second-life"
    assert Path(made["folder"], "SOUL.md").exists()
    slug = made["workspace"]
    assert asked("delete_workspace", slug)["deleted"]
    assert asked("delete_workspace", slug, "--bring-back")["ok"]


def test_a_command_that_may_not_says_why(ana: Account) -> None:
    """The exit code is not 0, and nothing was changed."""
    call_command("delete_workspace", first_of(ana).slug, "--dry-run", stdout=(out := StringIO()))
    assert "Nothing was deleted" in out.getvalue()
    with pytest.raises(CommandError, match="only workspace"):
        call_command("delete_workspace", first_of(ana).slug)
    with pytest.raises(CommandError, match="no account called"):
        call_command("create_workspace", "x", "--username", "nobody")
    with pytest.raises(CommandError, match="already"):
        call_command("create_workspace", "ANA")
    with pytest.raises(CommandError, match="can be brought back"):
        call_command("delete_workspace", "gone", "--bring-back")
    assert Workspace.objects.count() == 1
