"""Settings → Privacy: what leaves this machine, and the switch that pauses it."""

import json
from pathlib import Path

import pytest
from django.test import Client
from django.utils.html import escape

from jenny.accounts import access, connections
from jenny.accounts.models import Account, Workspace
from jenny.agent.errors import CallsPaused
from jenny.agent.run_kinds import USAGE_KINDS
from jenny.chat.models import Conversation
from jenny.workspace.config import load_config
from memory.services import dream_scheduler
from settings_ui.views import privacy
from tests.model_server import Gate, ModelServer
from tests.settings_ui.test_models_page import said
from tests.support.place import Place, answers

PAGE = "/settings/privacy/"
PAUSE = {"pauseModelCalls": "true"}
RESUME = {"pauseModelCalls": "false"}


def recipient(client: Client, host: str) -> privacy.Recipient:
    """What the page says of *host*."""
    return next(one for one in client.get(PAGE).context["recipients"] if one.host == host)


def test_with_the_demo_model_nothing_leaves(client: Client) -> None:
    """The fresh state is said plainly, and what a model would be sent is listed."""
    page = client.get(PAGE)
    assert "Nothing leaves this machine" in page.text
    assert recipient(client, "Jenny herself").is_used
    for kind in ("Chat", "Titles", "Summaries", "Dream"):
        assert f"<dt>{kind}</dt>" in page.text


def test_every_kind_of_run_says_what_it_sends(client: Client) -> None:
    """A kind that is new and that nobody described is a gap in what the page promises."""
    page = client.get(PAGE).text
    for kind in USAGE_KINDS.values():
        assert f"<dt>{kind.label}</dt><dd>{escape(kind.privacy)}</dd>" in page


def test_each_preset_host_is_named_with_what_it_is_asked_for(
    client: Client, root: Path, ana: Account
) -> None:
    """Worked out from the settings and from the conversations, not from a text."""
    connections.save_preset(
        root, "far", {"model": "m", "baseUrl": "https://models.example"}, use=True
    )
    connections.save_preset(
        root, "near", {"model": "q", "baseUrl": "http://localhost:11434"}, use=False
    )
    connections.save_preset(
        root, "lan", {"model": "z", "baseUrl": "http://192.168.1.9:8000"}, use=False
    )
    page = client.get(PAGE).text
    assert "goes to models.example, and to nobody else" in page
    assert recipient(client, "models.example").models[0].uses == (
        "chat, titles and summaries",
        "tidying of projects",
        "Dream",
    )
    assert recipient(client, "localhost:11434").place == "machine"
    assert not recipient(client, "192.168.1.9:8000").is_used
    for _ in range(2):
        Conversation.objects.create(workspace=ana.current_workspace, preset="lan")
    raw = json.loads((root / "config.json").read_text())
    raw["agents"]["defaults"]["dream"] = {"modelOverride": "near"}
    (root / "config.json").write_text(json.dumps(raw))
    assert "192.168.1.9:8000" in client.get(PAGE).context["message"]
    assert recipient(client, "192.168.1.9:8000").models[0].uses == ("2 conversations",)
    assert recipient(client, "localhost:11434").models[0].uses == ("Dream",)


def test_other_peoples_conversations_are_not_counted(client: Client, root: Path) -> None:
    """Nothing of another account's is on the page."""
    other = Account.objects.make_account("bob", "a long enough password", "UTC")
    Conversation.objects.create(workspace=other.current_workspace, preset="secretive")
    connections.save_preset(
        root, "secretive", {"model": "m", "baseUrl": "https://x.example"}, use=False
    )
    assert not recipient(client, "x.example").is_used


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("http://127.0.0.1:1234", "machine"),
        ("http://[::1]:1234", "machine"),
        ("http://gpu:8000", "network"),
        ("http://10.0.0.4", "network"),
        ("https://api.anthropic.com", "elsewhere"),
        ("https://localhost.example.org", "elsewhere"),
    ],
)
def test_where_an_address_is(address: str, place: str) -> None:
    """Names that only look like this machine are not taken for it."""
    assert privacy.place_of(address) == place


def test_the_switch_is_written_and_said_everywhere(client: Client, root: Path) -> None:
    """In config.json, so that it travels; a second click says that nothing changed."""
    assert "All model calls are paused" in said(client, PAGE, **PAUSE)
    assert load_config(root).privacy.pause_model_calls is True
    assert "were paused already" in said(client, PAGE, **PAUSE)
    assert "All model calls are paused" in client.get("/chat/").text
    assert "All model calls are paused" in said(client, "/settings/models/test", name="demo")
    assert "resumed" in said(client, PAGE, **RESUME)
    assert load_config(root).privacy.pause_model_calls is False
    assert "were not paused" in said(client, PAGE, **RESUME)
    assert "All model calls are paused in" not in client.get("/chat/").text


@pytest.mark.parametrize("form", [{}, {"pauseModelCalls": "perhaps"}])
def test_a_wrong_form_changes_nothing(client: Client, root: Path, form: dict[str, str]) -> None:
    """Neither pauses nor resumes."""
    assert client.post(PAGE, form).status_code == 422
    assert not (root / "config.json").exists()


def test_a_new_connection_is_not_tried_while_paused(
    client: Client, root: Path, model: ModelServer
) -> None:
    """Saving a preset would ask the model once; while paused it says so, and asks nobody."""
    said(client, PAGE, **PAUSE)
    form = {"connection": "endpoint", "baseUrl": model.url, "model": "m", "name": "t"}
    answer = client.post("/settings/models/", form)
    assert answer.status_code == 422
    assert "All model calls are paused" in answer.text
    assert not model.requests
    said(client, "/settings/models/", **form, untried="1")
    assert "t" in load_config(root).presets


def test_another_workspace_is_not_paused(client: Client, ana: Account) -> None:
    """The switch is the workspace's own."""
    other = Workspace.make(ana, "other")
    other.make_folder()
    said(client, PAGE, **PAUSE)
    with pytest.raises(CallsPaused):
        access.model_for(ana.current_workspace)
    assert access.model_for(other)[0].is_demo
    assert dream_scheduler.start_run(ana.current_workspace, "manual").run is None
    assert dream_scheduler.start_run(other, "manual").run is not None


def test_what_is_paused_waits_and_goes_on(place: Place, words: str) -> None:
    """An answer under way ends with its text kept; what is sent meanwhile is stored; a summary
    and Dream say so and count nothing; resumed, one answer is made for all that waited."""
    gate = f"never {words}"
    place.model.script("The beginning. ", Gate(gate), "late", when=answers(words))
    chat = place.owner.begin(words)
    with place.owner.events(chat) as live:
        live.wait_for(lambda event: "The beginning" in event.get("html", ""))
        assert place.owner.post(PAGE, **PAUSE).status_code == 302
        thread = place.owner.answer(chat)
    place.model.open(gate)
    assert "The beginning." in thread
    assert 'data-reason="paused"' in thread
    asked = len(place.model.requests)
    place.owner.send(chat, f"more {words}")
    assert place.owner.answer(chat).count("All model calls are paused") == 2
    place.owner.send(chat, "/compact")
    place.owner.send(chat, "/dream")
    thread = place.owner.answer(chat)
    assert "Nothing was started; what was said is kept." in thread
    place.idle(chat)
    assert place.column(chat, "summarised_through") == 0
    assert not place.entries(chat)
    assert len(place.model.requests) == asked
    place.model.script("Now I answer both.", when=answers(f"more {words}"))
    assert place.owner.post(PAGE, **RESUME).status_code == 302
    assert "Now I answer both." in place.owner.answer(chat)


@pytest.mark.parametrize("text", ["{,}", "", '{"agents": {"def'])
def test_a_broken_file_does_not_stop_the_switch(client: Client, root: Path, text: str) -> None:
    """It is set aside, and the switch is written beside what was right before."""
    said(client, "/settings/conversation/", maxMessages="77")
    (root / "config.json").write_text(text)
    assert client.get(PAGE).status_code == 200
    assert "are paused" in said(client, PAGE, **PAUSE)
    found = load_config(root)
    assert found.privacy.pause_model_calls is True
    assert found.agents.defaults.max_messages == 77
    assert text == "" or [
        file for file in root.glob("config.corrupt-*") if file.read_text() == text
    ]


def test_a_newer_file_is_not_touched(client: Client, root: Path) -> None:
    """A newer Jenny wrote it: the page says so, and nothing is paused by half."""
    text = '{"configVersion": 99, "agents": {}}'
    (root / "config.json").write_text(text)
    answer = client.post(PAGE, PAUSE)
    assert answer.status_code == 422
    assert "newer" in answer.text
    assert (root / "config.json").read_text() == text
