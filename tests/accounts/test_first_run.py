"""The first run: from the printed link to the chat."""

import re
import shutil
import threading
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client

from jenny.accounts.models import Account, Workspace
from jenny.accounts.services import first_run
from jenny.workspace.config import load_config
from tests.model_server import Fail, ModelServer
from tests.settings_ui.test_presets import Server, local

__all__ = ["local"]

pytestmark = pytest.mark.django_db
GOOD = {"username": "anatole", "password": "correct horse battery staple", "zone": "Asia/Tokyo"}


@pytest.fixture
def token() -> str:
    """The token that counts now."""
    return first_run.current_token(settings.JENNY_DATA)


@pytest.fixture(autouse=True)
def no_folders() -> None:
    """The data folder is the process's own; what an earlier test left there is no finding."""
    shutil.rmtree(settings.JENNY_DATA.workspaces, ignore_errors=True)


def admitted(token: str) -> Client:
    """A browser that followed the printed link."""
    client = Client()
    client.get(f"/setup/?token={token}")
    return client


@pytest.mark.parametrize("path", ["/", "/chat/", "/login/", "/settings/models/", "/setup/model/"])
def test_every_page_leads_to_the_set_up(client: Client, path: str) -> None:
    """Whatever a first visitor opens, they land where they can begin."""
    answer = client.get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/setup/")


@pytest.mark.parametrize(
    ("headers", "status", "place"),
    [
        ({"HX-Request": "true"}, 200, ("HX-Redirect", "/setup/")),
        ({"Accept": "application/json"}, 401, ("Content-Type", "application/json")),
    ],
)
def test_scripts_are_sent_there_in_their_way(
    client: Client, headers: dict[str, str], status: int, place: tuple[str, str]
) -> None:
    """A page left open over a reset goes to the set-up as a whole, not into a corner of itself."""
    answer = client.get("/chat/", headers=headers)
    assert answer.status_code == status
    assert answer[place[0]] == place[1]


def test_health_needs_no_owner(client: Client) -> None:
    """A container is healthy before somebody has set it up."""
    assert client.get("/health/live").status_code == 200


def test_the_link_works_and_leaves_the_address_bar(client: Client, token: str) -> None:
    """The token is in no address after the first hit, and not in the page."""
    answer = client.get(f"/setup/?token={token}")
    assert (answer.status_code, answer["Location"]) == (302, "/setup/")
    page = client.get("/setup/")
    assert page.status_code == 200
    assert token not in page.text
    assert 'name="token"' not in page.text
    assert token not in str(dict(client.session))


def test_from_the_link_to_the_chat(token: str) -> None:
    """A name, a password, a model: three steps, and the workspace is there with its files."""
    client = admitted(token)
    answer = client.post("/setup/", GOOD)
    assert (answer.status_code, answer["Location"]) == (302, "/setup/model/")
    owner = Account.objects.get()
    assert owner.is_superuser
    assert owner.time_zone == "Asia/Tokyo"
    assert client.get("/setup/model/").status_code == 200
    answer = client.post("/setup/model/", {"connection": "demo"})
    assert (answer.status_code, answer["Location"]) == (302, "/chat/")
    workspace = Workspace.objects.get()
    assert (workspace.root / "SOUL.md").exists()
    assert load_config(workspace.root).agents.defaults.model == "demo"
    assert client.get("/chat/").status_code == 200


def test_the_form_alone_is_enough(token: str) -> None:
    """Token, name and password in one form, as a script would post them."""
    assert Client().post("/setup/", {**GOOD, "token": token}).status_code == 302
    assert Account.objects.get().username == "anatole"


@pytest.mark.parametrize("given", ["wrong", "", "ü", "\0"])
def test_a_wrong_token_says_where_the_right_one_is(given: str, token: str) -> None:
    """Nobody becomes the owner by guessing, and whoever copied badly is helped."""
    for answer in (
        Client().post("/setup/", {**GOOD, "token": given}),
        Client().get("/setup/", {"token": given or "-"}),
    ):
        assert answer.status_code == 403
        assert "setup_token in the data folder" in answer.text
        assert token not in answer.text
    assert not Account.objects.exists()


def test_a_proof_of_an_old_token_is_worthless(token: str) -> None:
    """A session that proved a token that was replaced since has to prove the new one."""
    client = admitted(token)
    first_run.forget_token(settings.JENNY_DATA)
    assert client.post("/setup/", GOOD).status_code == 403


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("password", "short", "10 characters"),
        ("password", "1234567890123", "entirely numeric"),
        ("password", "anatole-12", "similar"),
        ("username", "", "required"),
        ("username", "a b", "has letters, digits"),
        ("username", "<b>", "has letters, digits"),
    ],
)
def test_a_bad_form_comes_back_with_a_sentence(
    token: str, field: str, value: str, said: str
) -> None:
    """What is wrong is told at its field, and nothing was made."""
    answer = admitted(token).post("/setup/", {**GOOD, field: value})
    assert answer.status_code == 422
    assert said in answer.text
    assert not Account.objects.exists()
    error = re.search(rf'id="(id_{field}_error)"', answer.text)
    assert error is not None
    assert f'aria-describedby="id_{field}' in answer.text or error[1] in answer.text


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "x" * 64])
def test_a_browser_without_a_zone_gets_the_operators(
    token: str, zone: str, settings: pytest.FixtureRequest
) -> None:
    """Nonsense from the browser is not stored."""
    settings.JENNY_TIME_ZONE = "Europe/Berlin"
    admitted(token).post("/setup/", {**GOOD, "zone": zone})
    assert Account.objects.get().time_zone == "Europe/Berlin"


def test_the_set_up_is_gone_once_there_is_an_owner(token: str) -> None:
    """404, for everybody, also with the right token; and the token is no longer kept."""
    client = admitted(token)
    client.post("/setup/", GOOD)
    for one in (client, Client()):
        assert one.get("/setup/").status_code == 404
        assert one.get(f"/setup/?token={token}").status_code == 404
        assert one.post("/setup/", {**GOOD, "token": token}).status_code == 404
    assert not settings.JENNY_DATA.setup_token.exists()
    assert Account.objects.count() == 1


def test_the_session_is_a_new_one_after_the_set_up(token: str) -> None:
    """Whoever knew the session before does not know it now."""
    client = admitted(token)
    before = client.session.session_key
    client.post("/setup/", GOOD)
    assert client.session.session_key != before


@pytest.mark.django_db(transaction=True)
def test_two_people_finishing_at_once_make_one_owner(token: str) -> None:
    """The database lets one through; the other is told that it is done, and nothing is half."""
    clients = [admitted(token) for _ in range(2)]
    gate = threading.Barrier(2)
    statuses: list[int] = []

    def finish(client: Client, name: str) -> None:
        gate.wait()
        statuses.append(client.post("/setup/", {**GOOD, "username": name}).status_code)
        connections.close_all()

    threads = [
        threading.Thread(target=finish, args=(client, name))
        for client, name in zip(clients, ("ana", "bo"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 404]
    assert Account.objects.count() == 1
    assert Workspace.all_objects.count() == 1


class TestModel:
    """The second step."""

    @pytest.fixture
    def person(self, token: str) -> Client:
        """Somebody who has just become the owner."""
        client = admitted(token)
        client.post("/setup/", GOOD)
        return client

    def test_a_key_is_enough(self, person: Client) -> None:
        """Paste a key: Claude answers from then on, and the key is in no file and no page."""
        key = "sk-ant-api03-abcdefghijklmnop"
        form = {"connection": "anthropic", "apiKey": f" {key}\n", "untried": "1"}
        answer = person.post("/setup/model/", form)
        assert answer.status_code == 302
        owner = Account.objects.get()
        assert owner.keys() == {"https://api.anthropic.com": key}
        root = Workspace.objects.get().root
        assert load_config(root).presets["claude"].model.startswith("claude-")
        assert all(key not in file.read_text() for file in root.rglob("*.json*"))
        assert key not in person.get("/settings/models/").text

    def test_another_server(self, person: Client) -> None:
        """A local server needs an address and a model, and no key."""
        form = {"connection": "endpoint", "baseUrl": "http://localhost:11434/v1", "model": "qwen"}
        form["untried"] = "1"
        assert person.post("/setup/model/", form).status_code == 302
        preset = load_config(Workspace.objects.get().root).presets["qwen"]
        assert (preset.base_url, preset.model) == ("http://localhost:11434", "qwen")
        assert Account.objects.get().keys() == {}

    def test_it_is_tried_before_it_is_accepted(self, person: Client) -> None:
        """A key that does not work is told at once, and the second button goes on with it."""
        form = {"connection": "endpoint", "model": "m", "apiKey": "typed-key-0123456789"}
        with ModelServer() as model:
            model.script(Fail(401))
            answer = person.post("/setup/model/", form | {"baseUrl": model.url})
            assert answer.status_code == 422
            assert "refused the key" in answer.text
            assert load_config(Workspace.objects.get().root).presets == {}
            again = form | {"baseUrl": model.url, "apiKey": "", "untried": "1"}
            assert person.post("/setup/model/", again)["Location"] == "/chat/"
            assert Account.objects.get().keys() == {model.url: "typed-key-0123456789"}
            assert len(model.requests) == 1

    def test_no_provider_is_reached_from_here(self, person: Client) -> None:
        """The tests cannot ask a real one: whatever goes out goes to a proxy that is not there."""
        form = {"connection": "anthropic", "apiKey": "sk-ant-api03-abcdefghijklmnop"}
        answer = person.post("/setup/model/", form)
        assert answer.status_code == 422
        assert "could not be reached" in answer.text

    @pytest.mark.parametrize(
        ("form", "field"),
        [
            ({}, "connection"),
            ({"connection": "other"}, "connection"),
            ({"connection": "anthropic"}, "apiKey"),
            ({"connection": "anthropic", "apiKey": "two words"}, "apiKey"),
            ({"connection": "endpoint", "model": "m"}, "baseUrl"),
            ({"connection": "endpoint", "baseUrl": "http://localhost"}, "model"),
            ({"connection": "endpoint", "baseUrl": "file:///x", "model": "m"}, "baseUrl"),
        ],
    )
    def test_what_is_missing_is_said_at_its_field(
        self, person: Client, form: dict[str, str], field: str
    ) -> None:
        """And nothing is stored."""
        answer = person.post("/setup/model/", form)
        assert answer.status_code == 422
        assert field in answer.context["form"].errors
        assert load_config(Workspace.objects.get().root).presets == {}

    def test_the_environment_is_offered_first(
        self, person: Client, settings: pytest.FixtureRequest
    ) -> None:
        """Where the operator set a key, that is said, and taken unless one chooses otherwise."""
        settings.JENNY_API_KEY, settings.JENNY_MODEL = "sk-env", "claude-env"
        page = person.get("/setup/model/")
        first = page.context["form"].fields["connection"].choices[0]
        assert first[0] == page.context["form"]["connection"].value() == "environment"
        assert "claude-env at https://api.anthropic.com" in page.text
        assert "sk-env" not in page.text
        assert person.post("/setup/model/", {"connection": "environment"}).status_code == 302

    def test_a_stranger_is_not_asked(self, person: Client) -> None:
        """The second step is the owner's."""
        answer = Client().get("/setup/model/")
        assert answer.status_code == 302
        assert parse_qs(urlsplit(answer["Location"]).query) == {"next": ["/setup/model/"]}


@pytest.mark.parametrize(("choice", "slug"), [("attach", "anatole"), ("new", "anatole-2")])
def test_files_that_lie_there_are_offered(token: str, choice: str, slug: str) -> None:
    """As after the loss of the database: the page says what it found and asks; only whoever has the
    token learns of it."""
    folder = settings.JENNY_DATA.workspaces / "anatole"
    folder.mkdir(parents=True)
    (folder / "SOUL.md").write_text("mine")
    stranger = Client().post("/setup/", {**GOOD, "token": "wrong"})
    assert str(folder) not in stranger.text
    client = admitted(token)
    asked = client.post("/setup/", GOOD)
    assert asked.status_code == 422
    assert str(folder) in asked.text
    assert 'value="attach"' in asked.text
    assert not Account.objects.exists()
    answer = client.post("/setup/", {**GOOD, "folder": choice})
    assert answer.status_code == 302
    client.get("/chat/")
    assert Workspace.objects.get().slug == slug
    assert (folder / "SOUL.md").read_text() == "mine"
    assert (folder / "USER.md").exists() == (choice == "attach")
    page = unescape(client.get("/chat/").text)
    assert ("“anatole” begins in the new folder" in page) == (choice == "new")


@pytest.mark.parametrize("lies", ["folder", "link", "file", "empty", "nothing"])
def test_a_new_folder_beside_another_is_told(token: str, lies: str) -> None:
    """Also for an account whose workspaces are gone: every page says what was found, where the
    workspace begins instead, and how the files are used after all. An empty folder is used."""
    client = admitted(token)
    client.post("/setup/", GOOD)
    Workspace.all_objects.all().delete()
    folder = settings.JENNY_DATA.workspaces / "anatole"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if lies == "link":
        folder.symlink_to(settings.JENNY_DATA.root)
    elif lies == "file":
        folder.write_text("mine")
    elif lies != "nothing":
        folder.mkdir()
        if lies == "folder":
            (folder / "SOUL.md").write_text("mine")
    page = unescape(client.get("/chat/").text)
    row = Workspace.objects.get()
    is_beside = lies in {"folder", "link", "file"}
    assert row.slug == ("anatole-2" if is_beside else "anatole")
    assert (f"{folder} lies there already" in page) == is_beside
    assert (f"“anatole” begins in the new folder {row.root}" in page) == is_beside
    assert ("it asks whether to use them" in page) == (lies == "folder")
    if lies != "folder":
        return
    client.post(f"/settings/workspaces/{row.pk}/rename", {"name": "first"})
    asked = client.post("/settings/workspaces/", {"name": "anatole"})
    assert 'value="attach"' in asked.text
    client.post("/settings/workspaces/", {"name": "anatole", "folder": "attach"})
    assert Workspace.objects.filter(slug="anatole").exists()
    assert (folder / "SOUL.md").read_text() == "mine"
    assert "begins in the new folder" not in client.get("/chat/").text


def test_model_servers_are_found_and_used_with_one_press(
    token: str, local: tuple[type[Server], str]
) -> None:
    """The set-up lists what this machine's servers have; one press connects a model, which is
    called by its name."""
    _, url = local
    client = admitted(token)
    client.post("/setup/", GOOD)
    page = client.post("/setup/model/", {"look": "1"})
    assert page.status_code == 200
    assert "Ollama" in page.text
    assert "Use<span" in page.text
    fragment = client.post("/setup/model/", {"look": "1"}, headers={"HX-Request": "true"})
    assert "<form" in fragment.text
    assert "<html" not in fragment.text
    form = {"connection": "endpoint", "baseUrl": url, "model": "qwen3:8b"}
    for name, value in form.items():
        assert f'name="{name}" value="{value}"' in fragment.text
    # This server only lists its models.
    assert client.post("/setup/model/", form).status_code == 422
    assert client.post("/setup/model/", {**form, "untried": "1"})["Location"] == "/chat/"
    config = load_config(Workspace.objects.get().root)
    assert config.agents.defaults.model == "qwen3-8b"


def test_the_login_says_how_a_lost_password_is_replaced(token: str) -> None:
    """Whoever forgot it learns what to ask for."""
    admitted(token).post("/setup/", GOOD)
    assert "manage.py reset_password --username NAME" in Client().get("/login/").text
