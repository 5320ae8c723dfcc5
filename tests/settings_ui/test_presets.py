"""Settings → Models: prices, names, copies, what is asked for what, servers on this machine."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.test import Client

from jenny.accounts import access, connections
from jenny.accounts.connections import Product
from jenny.accounts.models import Account
from jenny.agent.tokens import Usage
from jenny.chat.models import Conversation
from jenny.workspace.config import load_config
from tests.settings_ui.test_models_page import LOCAL, PAGE, UNTRIED, row, said

HOME = "/settings/models/preset/home/"
BASE = {"model": "qwen", "baseUrl": "http://localhost:11434"}
PRICES = {"inputPrice": "3", "outputPrice": "15", "cacheReadPrice": "0.3", "cacheWritePrice": ""}


@pytest.fixture
def home(client: Client) -> str:
    """A preset that answers in chats."""
    said(client, PAGE, **LOCAL, name="home")
    return "home"


def dreams(root: Path) -> str:
    """Which model Dream asks."""
    return str(load_config(root).agents.defaults.dream.model_override)


class Server(BaseHTTPRequestHandler):
    """A model server: what it has, and whether it knows the Messages API."""

    models: object = {"data": [{"id": "qwen3:8b", "owned_by": "library"}]}
    status = 200
    knows = True

    def do_GET(self) -> None:
        """Its models."""
        self._answer(self.status, self.models)

    def do_POST(self) -> None:
        """An empty request: refused, or not known."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(400 if self.knows else 404, {"error": {}})

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Server], str]]:
    """A server on a port that counts as Ollama's; its class, to be changed, and its address."""
    kind = type("Kind", (Server,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    products = (Product("Ollama", port, "a newer Ollama"),)
    for name in ("find_servers", "is_one"):
        function = getattr(connections, name)
        monkeypatch.setattr(function, "__defaults__", (products,))
    yield kind, f"http://127.0.0.1:{port}"
    server.shutdown()
    server.server_close()


def test_prices_give_costs(client: Client, ana: Account, root: Path, home: str) -> None:
    """What a turn costs is worked out by them; the list says them in words."""
    assert "no prices" in client.get(PAGE).text
    said(client, HOME, **BASE, **PRICES)
    _, preset = access.model_for(ana.current_workspace)
    assert preset.prices is not None
    cost = preset.prices.cost(Usage(1_000_000, 100_000, cache_read=1_000_000))
    assert f"{cost:.2f}" == "4.80"
    assert "$3 in, $15 out a million tokens" in client.get(PAGE).text
    assert 'value="0.3"' in client.get(HOME).text
    said(client, HOME, **BASE, inputPrice="", outputPrice="", cacheReadPrice="")
    assert load_config(root).presets["home"].input_price is None
    assert "inputPrice" not in (root / "config.json").read_text()


@pytest.mark.parametrize(
    ("prices", "complaint"),
    [
        ({"inputPrice": "3"}, "both prices"),
        ({"cacheReadPrice": "3"}, "both prices"),
        ({"inputPrice": "-1", "outputPrice": "1"}, "from 0 to 100,000"),
        ({"inputPrice": "three", "outputPrice": "1"}, "from 0 to 100,000"),
        ({"inputPrice": "nan", "outputPrice": "1"}, "from 0 to 100,000"),
        ({"temperature": "9"}, "from 0 to 2"),
        ({"thinking": "always"}, "valid choice"),
    ],
)
def test_a_wrong_number_is_refused_and_nothing_is_written(
    client: Client, root: Path, home: str, prices: dict[str, str], complaint: str
) -> None:
    """The field says what it takes; what was typed stands there again."""
    before = (root / "config.json").read_bytes()
    answer = client.post(HOME, {**BASE, **prices})
    assert answer.status_code == 422
    assert complaint in answer.text
    assert (root / "config.json").read_bytes() == before


def test_a_script_that_knows_fewer_fields_takes_none_away(
    client: Client, root: Path, home: str
) -> None:
    """A form without the prices leaves them; so a page of an older version does."""
    said(client, HOME, **BASE, **PRICES)
    said(client, HOME, **BASE, maxTokens="900")
    found = load_config(root).presets["home"]
    assert (found.max_tokens, found.input_price, found.output_price) == (900, 3.0, 15.0)


def test_a_new_name_is_followed_everywhere(
    client: Client, ana: Account, root: Path, home: str
) -> None:
    """By the default, by Dream, by conversations; what nobody here knows stays, and its place."""
    said(client, PAGE, **LOCAL, name="other")
    connections.save_preset(root, "home", {"note": "by hand"}, use=True)
    connections.assign(root, "home", "home")
    chat = Conversation.objects.create(workspace=ana.current_workspace, preset="home")
    assert "is called house now" in said(client, HOME, **BASE, name="house")
    chat.refresh_from_db()
    assert chat.preset == "house"
    assert (load_config(root).agents.defaults.model, dreams(root)) == ("house", "house")
    raw = json.loads((root / "config.json").read_text())
    assert list(raw["modelPresets"]) == ["house", "other"]
    assert raw["modelPresets"]["house"]["note"] == "by hand"
    for taken in ("other", "demo", "two words"):
        answer = client.post("/settings/models/preset/house/", {**BASE, "name": taken})
        assert answer.status_code == 422


def test_a_key_says_what_it_is_for(client: Client, root: Path, home: str) -> None:
    """By its address; one that nothing here uses says that, too."""
    place = "http://localhost:11434"
    said(client, HOME, **BASE, **UNTRIED, apiKey="sk-local-0123456789")
    (key,) = client.get(PAGE).context["keys"]
    assert (key["row"].origin, key["used_by"]) == (place, ["home"])
    said(client, HOME, **BASE | {"baseUrl": "http://localhost:1"}, **UNTRIED)
    assert "for no model of this workspace" in client.get(PAGE).text


def test_a_copy_is_another_preset(client: Client, root: Path, home: str) -> None:
    """With all that the first one says; each copy has a name of its own."""
    said(client, HOME, **BASE, **PRICES)
    for _ in range(2):
        said(client, f"{HOME}copy")
    assert list(load_config(root).presets) == ["home", "home-2", "home-3"]
    assert load_config(root).presets["home-3"].output_price == 15
    assert client.post("/settings/models/preset/gone/copy").status_code == 404


def test_what_is_asked_for_what(client: Client, root: Path, home: str) -> None:
    """Chats and Dream are chosen side by side; each line says what it is asked for."""
    said(client, PAGE, **LOCAL, name="small")
    url = "/settings/models/assign"
    assert "Saved" in said(client, url, model="home", modelOverride="small")
    assert row(client, "home").uses == ("chat, titles and summaries", "tidying of projects")
    assert row(client, "small").uses == ("Dream",)
    assert "Nothing was written" in said(client, url, model="home", modelOverride="small")
    assert "Nothing was saved" in said(client, url, model="home", modelOverride="gone")
    assert dreams(root) == "small"
    said(client, url, model="demo", modelOverride="")
    assert (load_config(root).agents.defaults.model, dreams(root)) == ("demo", "")


def test_deleting_one_in_use_says_what_happens(
    client: Client, ana: Account, root: Path, home: str
) -> None:
    """Who answers then, whom Dream asks then, which conversations will ask; and back again."""
    connections.assign(root, "home", "home")
    Conversation.objects.create(workspace=ana.current_workspace, preset="home")
    page = client.get(HOME).text
    assert "After that, the demo model does" in page
    assert "Dream asks the model that answers in chats" in page
    assert "One conversation chose it by name" in page
    client.post(f"{HOME}remove")
    assert not load_config(root).problems
    assert dreams(root) == ""
    said(client, "/settings/models/put-back")
    assert dreams(root) == "home"


def test_two_savers_at_once_lose_nothing(client: Client, root: Path, home: str) -> None:
    """One changes a preset while others make some: all of it is there afterwards."""
    gate = threading.Barrier(6)

    def make(number: int) -> None:
        gate.wait()
        connections.save_preset(root, f"p{number}", {"model": "m"}, use=False)

    threads = [threading.Thread(target=make, args=[number]) for number in range(5)]
    for thread in threads:
        thread.start()
    gate.wait()
    said(client, HOME, **BASE, **PRICES)
    for thread in threads:
        thread.join()
    assert set(load_config(root).presets) == {"home", *(f"p{number}" for number in range(5))}
    assert load_config(root).presets["home"].input_price == 3


class TestServersHere:
    """Model servers on this machine."""

    def test_one_that_is_ready_is_added_by_a_click(
        self, client: Client, root: Path, local: tuple[type[Server], str]
    ) -> None:
        """Its models are listed; a click makes a preset, which is not used before somebody says."""
        _, url = local
        page = client.post("/settings/models/look").text
        assert "Ollama" in page
        assert "qwen3:8b" in page
        name = "qwen3-8b"
        form = {"baseUrl": url, "model": "qwen3:8b"}
        assert f"{name} is added" in said(client, "/settings/models/add", **form)
        assert load_config(root).presets[name].base_url == url
        assert row(client, "demo").is_current

    def test_what_is_missing_is_said(self, client: Client, local: tuple[type[Server], str]) -> None:
        """One that is too old, one without a model, one that wants a key, and none at all."""
        kind, _ = local
        headers = {"HX-Request": "true"}

        def looked() -> str:
            answer = client.post("/settings/models/look", headers=headers)
            assert "<html" not in answer.text
            return answer.text

        kind.knows = False
        assert "does not work with Jenny. She needs a newer Ollama" in looked()
        kind.knows, kind.models = True, {"data": []}
        assert "no model yet" in looked()
        kind.status = 401
        assert "wants a key" in looked()
        kind.status, kind.models = 200, ["something", "else"]
        assert "No model server answered" in looked()

    def test_nobody_is_asked_unasked(
        self, client: Client, local: tuple[type[Server], str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Opening the page looks at no port."""
        kind, _ = local
        asked: list[str] = []
        monkeypatch.setattr(kind, "do_GET", lambda server: asked.append(server.path))
        client.get(PAGE)
        assert not asked

    def test_only_what_was_found_is_added(self, client: Client, root: Path) -> None:
        """The click's address is one of the usual ones here, whatever a form says."""
        for url in ("http://169.254.169.254", "http://127.0.0.1:6379", "https://evil.example"):
            form = {"baseUrl": url, "model": "m"}
            assert client.post("/settings/models/add", form).status_code == 404
        assert not (root / "config.json").exists()

    def test_hostile_names_are_left_out(self, local: tuple[type[Server], str]) -> None:
        """What a server says is not believed to be a name."""
        kind, _ = local
        odd = [{"id": "a\nb"}, {"id": 7}, {"id": "x" * 300}, "no", {"id": "fine"}, {"id": "fine"}]
        kind.models = {"data": odd}
        assert connections.find_servers()[0].models == ("fine",)


def test_a_form_takes_back_nothing_that_others_saved_since(
    client: Client, root: Path, home: str
) -> None:
    """One tab gives it prices while another, opened before, changes its model."""
    page = client.get(HOME).text
    was = dict(re.findall(r'<input type="hidden" name="(was\.\w+)" value="([^"]*)">', page))
    assert was["was.model"] == "qwen"
    old = {name.removeprefix("was."): value for name, value in was.items()} | was
    said(client, HOME, **old | UNTRIED | {"model": "qwen-2"})
    said(client, HOME, **old | PRICES)
    found = load_config(root).presets["home"]
    assert (found.model, found.input_price) == ("qwen-2", 3.0)
