"""Settings → Models."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jenny.accounts import access, connections
from jenny.accounts.models import Account, ApiKey
from jenny.chat.models import Conversation
from jenny.workspace.config import load_config
from tests.model_server import Fail, ModelServer, Say

PAGE = "/settings/models/"
ANTHROPIC = "https://api.anthropic.com"
KEY = "sk-ant-api03-abcdefghijklmnop"
# Nobody is there: most tests here are about what is saved, and not about the try before it.
UNTRIED = {"untried": "1"}
LOCAL = {
    "connection": "endpoint",
    "baseUrl": "http://localhost:11434",
    "model": "qwen",
    **UNTRIED,
}
CLAUDE = {"connection": "anthropic", "apiKey": KEY, **UNTRIED}


def row(client: Client, name: str) -> Any:
    """The line of the page about the model called *name*."""
    return next(one for one in client.get(PAGE).context["rows"] if one.name == name)


def said(client: Client, url: str, **form: str) -> str:
    """POST a form, follow, and return the sentence on the page."""
    answer = client.post(url, form, follow=True)
    assert answer.status_code == 200, answer.text
    return " ".join(str(message) for message in answer.context["messages"])


def test_a_fresh_page_shows_the_demo_model_in_use(client: Client) -> None:
    """Somebody who skipped the question sees what answers, and how to connect a model."""
    page = client.get(PAGE)
    assert row(client, "demo").is_current
    assert "no language model" in page.text
    assert page.context["form"]["connection"].value() == "anthropic"


def test_a_key_connects_claude(client: Client, ana: Account, root: Path) -> None:
    """One key is enough; the page then shows its last four letters and nothing more."""
    form = {**CLAUDE, "model": "claude-x", "maxTokens": "500"}
    assert "claude" in said(client, PAGE, **form)
    line = row(client, "claude")
    assert (line.model, line.address, line.key, line.is_current) == (
        "claude-x",
        ANTHROPIC,
        "••••mnop",
        True,
    )
    assert load_config(root).presets["claude"].max_tokens == 500
    page = client.get(PAGE).text
    assert KEY not in page
    assert KEY[:12] not in page
    endpoint, preset = access.model_for(ana.current_workspace)
    assert (endpoint.key, preset.model) == (KEY, "claude-x")


def test_the_key_is_ciphertext_in_the_database_and_nowhere_else(
    client: Client, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in config.json, its copies, the log, the session."""
    said(client, PAGE, **CLAUDE)
    assert KEY.encode() not in bytes(ApiKey.objects.get().ciphertext)
    files = [file for file in root.rglob("*") if file.is_file()]
    assert files
    assert all(KEY.encode() not in file.read_bytes() for file in files)
    assert KEY not in caplog.text
    assert KEY not in str(dict(client.session))


def test_a_wrong_form_does_not_show_the_key_again(client: Client) -> None:
    """A page that comes back for another field has the key's field empty."""
    form = {"connection": "endpoint", "apiKey": KEY, "baseUrl": "nonsense", "model": "m"}
    answer = client.post(PAGE, form)
    assert answer.status_code == 422
    assert KEY not in answer.text
    assert "An address looks like" in answer.text


def test_a_key_is_not_sent_to_a_new_address(client: Client, ana: Account) -> None:
    """Changing a preset's address leaves the key with the old one."""
    said(client, PAGE, **CLAUDE)
    url = "/settings/models/preset/claude/"
    said(client, url, model="m", baseUrl="https://evil.example", **UNTRIED)
    endpoint, _ = access.model_for(ana.current_workspace)
    assert (endpoint.base_url, endpoint.key) == ("https://evil.example", "")
    assert row(client, "claude").key == "none"


def test_a_key_is_replaced_or_left_alone(client: Client, ana: Account) -> None:
    """An empty field keeps the key; a filled one takes its place."""
    said(client, PAGE, **CLAUDE)
    url = "/settings/models/preset/claude/"
    assert KEY not in client.get(url).text
    assert "••••mnop" in client.get(url).text
    said(client, url, model="claude-y", baseUrl=ANTHROPIC, **UNTRIED)
    assert ana.keys() == {ANTHROPIC: KEY}
    said(client, url, model="claude-y", baseUrl=ANTHROPIC, apiKey=KEY + "-new1", **UNTRIED)
    assert ana.keys() == {ANTHROPIC: KEY + "-new1"}


def test_a_removed_key_is_gone_and_said_to_be_missing(client: Client, ana: Account) -> None:
    """Claude is not silently replaced by the demo model: the line says what is missing."""
    said(client, PAGE, **CLAUDE)
    key = ApiKey.objects.get()
    assert ANTHROPIC in said(client, f"/settings/models/keys/{key.pk}/remove")
    assert ana.keys() == {}
    line = row(client, "claude")
    assert (line.key, line.is_current) == ("missing", True)


def test_a_key_of_another_instance_is_said_to_be_unreadable(
    client: Client, ana: Account, settings: Any
) -> None:
    """After the secret key changed, the page asks for the key anew instead of failing."""
    said(client, PAGE, **CLAUDE)
    ApiKey.objects.update(ciphertext=b"made with another secret key")
    assert "no longer readable" in row(client, "claude").key
    assert "enter it again" in client.get(PAGE).text


def test_saving_the_same_says_that_nothing_was_written(client: Client, root: Path) -> None:
    """The page does not claim a write that did not happen."""
    said(client, PAGE, **LOCAL, name="home")
    before = (root / "config.json").read_bytes()
    url = "/settings/models/preset/home/"
    form = {"model": "qwen", "baseUrl": "http://localhost:11434"}
    assert "nothing was written" in said(client, url, **form)
    assert (root / "config.json").read_bytes() == before
    assert "Nothing to change" in said(client, "/settings/models/use", name="home")


def test_choosing_between_models(client: Client, root: Path) -> None:
    """One click makes another model the default, the demo model too, and back."""
    said(client, PAGE, **LOCAL, name="home")
    said(client, PAGE, **LOCAL, name="second")
    assert row(client, "second").is_current
    for name in ("home", "demo", "second"):
        assert name in said(client, "/settings/models/use", name=name)
        assert row(client, name).is_current
        assert load_config(root).agents.defaults.model == name
    assert client.post("/settings/models/use", {"name": "gone"}).status_code == 404


def test_the_environments_model_can_be_chosen(client: Client, root: Path, settings: Any) -> None:
    """It is listed with where its key is from, and choosing it writes no key anywhere."""
    settings.JENNY_API_KEY, settings.JENNY_MODEL = "sk-env-secret-0123", "claude-env"
    said(client, PAGE, **LOCAL, name="home")
    line = row(client, "environment")
    assert (line.model, line.key) == ("claude-env", "from the environment")
    said(client, "/settings/models/use", name="environment")
    assert row(client, "environment").is_current
    assert "sk-env-secret" not in client.get(PAGE).text
    assert load_config(root).agents.defaults.model == ""


def test_a_wrong_variable_is_told(client: Client, settings: Any) -> None:
    """The operator's mistake is named on the page that it is about."""
    settings.JENNY_API_BASE_URL = "localhost:11434"
    assert "ANTHROPIC_BASE_URL cannot be used" in client.get(PAGE).text


def test_a_removed_preset_can_be_put_back(client: Client, root: Path) -> None:
    """Removing says so and offers to undo it; what was written by hand comes back as well."""
    said(client, PAGE, **LOCAL, name="home")
    connections.save_preset(root, "home", {"note": "by hand"}, use=False)
    page = client.post("/settings/models/preset/home/remove", follow=True)
    assert "home is removed" in page.text
    assert "home" not in load_config(root).presets
    assert "home is back" in said(client, "/settings/models/put-back")
    written = json.loads((root / "config.json").read_text())
    assert written["modelPresets"]["home"]["note"] == "by hand"
    assert written["agents"]["defaults"]["model"] == "home"
    assert client.post("/settings/models/put-back").status_code == 404


def test_a_new_name_reaches_conversations_in_the_trash(client: Client, ana: Account) -> None:
    """A conversation that is brought back after a rename still asks the model that it chose."""
    said(client, PAGE, **LOCAL, name="home")
    chat = Conversation.objects.create(
        workspace=ana.current_workspace, preset="home", deleted_at=timezone.now()
    )
    url = "/settings/models/preset/home/"
    form = {"model": "qwen", "baseUrl": LOCAL["baseUrl"], "name": "attic", **UNTRIED}
    assert "home is called attic now" in said(client, url, **form)
    chat.refresh_from_db()
    assert chat.preset == "attic"


def test_a_preset_that_is_not_there_is_not_found(client: Client) -> None:
    """Neither its page nor its removal."""
    assert client.get("/settings/models/preset/gone/").status_code == 404
    assert client.post("/settings/models/preset/gone/remove").status_code == 404


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("home", "already"),
        ("demo", "none of"),
        ("two words", "one word"),
        ("../x", "one word"),
        ("-x", "one word"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    client: Client, root: Path, name: str, complaint: str
) -> None:
    """It has to be typed after /model, and means one thing."""
    said(client, PAGE, **LOCAL, name="home")
    answer = client.post(PAGE, {**LOCAL, "name": name})
    assert answer.status_code == 422
    assert complaint in answer.text
    assert list(load_config(root).presets) == ["home"]


def test_a_name_is_made_from_the_model(client: Client, root: Path) -> None:
    """The same model on two servers gets two names; the same connection is changed, not added, and
    what was left empty stays."""
    said(client, PAGE, **LOCAL, maxTokens="900")
    said(client, PAGE, **{**LOCAL, "baseUrl": "http://localhost:8080"})
    said(client, PAGE, **LOCAL)
    found = load_config(root).presets
    assert list(found) == ["qwen", "qwen-2"]
    assert found["qwen"].max_tokens == 900
    assert load_config(root).agents.defaults.model == "qwen"


@pytest.mark.parametrize("name", ["with space", "dotted.name", "plus+colon:1"])
def test_names_made_by_hand_have_their_page(client: Client, root: Path, name: str) -> None:
    """config.json allows more than the form; what is there can be changed and removed."""
    connections.save_preset(root, name, {"model": "m"}, use=True)
    page = client.get(PAGE)
    assert page.status_code == 200
    url = next(part.split('"')[0] for part in page.text.split('href="') if "preset/" in part)
    assert client.get(url).status_code == 200


def test_a_key_pasted_into_the_models_field_is_not_written(client: Client, root: Path) -> None:
    """config.json refuses it, and the page says why."""
    answer = client.post(PAGE, {**LOCAL, "model": KEY + "0123456789"})
    assert answer.status_code == 422
    assert "no keys" in answer.text
    assert not (root / "config.json").exists()


def test_a_broken_file_is_told_and_not_overwritten(client: Client, root: Path) -> None:
    """SET1: a trailing comma; the page says what is wrong and where a copy lies."""
    (root / "config.json").write_text('{"modelPresets": {},}')
    assert "cannot be read" in client.get(PAGE).text
    assert (root / "config.json").read_text() == '{"modelPresets": {},}'


class TestButton:
    """The test button."""

    def test_it_asks_the_model_once_and_says_how_it_went(
        self, client: Client, model: ModelServer
    ) -> None:
        """With the stored key, really, and in words."""
        model.script(Say("hello"))
        said(
            client, PAGE, connection="endpoint", baseUrl=model.url, model="m", apiKey=KEY,
            name="t", **UNTRIED,
        )  # fmt: skip
        assert "m answered in" in said(client, "/settings/models/test", name="t")
        assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert len(model.requests) == 1

    def test_it_says_what_is_wrong_in_place(self, client: Client, model: ModelServer) -> None:
        """For htmx as a fragment, without the frame of the page."""
        model.script(Fail(401))
        said(client, PAGE, connection="endpoint", baseUrl=model.url, model="m", name="t", **UNTRIED)
        answer = client.post("/settings/models/test", {"name": "t"}, headers={"HX-Request": "true"})
        assert answer.status_code == 200
        assert "<html" not in answer.text
        assert "wants a key" in answer.text or "refused the key" in answer.text

    def test_without_a_key_nothing_is_asked(self, client: Client, root: Path) -> None:
        """Claude without a key: said at once."""
        connections.save_preset(root, "claude", {"model": "m", "baseUrl": ANTHROPIC}, use=True)
        assert "needs an API key" in said(client, "/settings/models/test", name="claude")

    def test_a_name_that_is_gone(self, client: Client) -> None:
        """Removed in another tab meanwhile."""
        assert "no model called gone" in said(client, "/settings/models/test", name="gone")


class TestTrying:
    """A connection is tried once before it is accepted."""

    @pytest.fixture
    def form(self, model: ModelServer) -> dict[str, str]:
        """A server that is there, with a key."""
        return {
            "connection": "endpoint", "baseUrl": model.url, "model": "m", "apiKey": KEY,
            "name": "t",
        }  # fmt: skip

    def test_what_answers_is_saved(
        self, client: Client, model: ModelServer, form: dict[str, str], ana: Account
    ) -> None:
        """One call with the very key; then it is in use."""
        model.script(Say("hello"))
        assert "Saved" in said(client, PAGE, **form)
        assert row(client, "t").is_current
        assert ana.keys() == {model.url: KEY}
        assert [one.headers["authorization"] for one in model.requests] == [f"Bearer {KEY}"]

    def test_what_fails_is_told_and_not_saved(
        self, client: Client, model: ModelServer, form: dict[str, str], ana: Account, root: Path
    ) -> None:
        """The page says what the server said; nothing is stored, the key is shown nowhere, and
        what was typed besides stands there again."""
        model.script(Fail(401))
        answer = client.post(PAGE, form)
        assert answer.status_code == 422
        assert "refused the key" in answer.text
        assert "Save anyway" in answer.text
        assert KEY not in answer.text
        assert KEY not in str(dict(client.session))
        assert answer.context["form"]["model"].value() == "m"
        assert ana.keys() == {}
        assert "t" not in load_config(root).presets

    def test_it_can_be_saved_all_the_same(
        self, client: Client, model: ModelServer, form: dict[str, str], ana: Account
    ) -> None:
        """The second button sends the form as the page shows it: without the key, which waits."""
        model.script(Fail(500))
        assert client.post(PAGE, form).status_code == 422
        assert "Saved" in said(client, PAGE, **{**form, "apiKey": "", "untried": "1"})
        assert ana.keys() == {model.url: KEY}
        assert len(model.requests) == 1
        assert "untried_key" not in client.session

    def test_another_try_takes_the_key_along(
        self, client: Client, model: ModelServer, form: dict[str, str], ana: Account
    ) -> None:
        """Only the model's name was wrong: the key need not be typed again."""
        model.script(Fail(404))
        assert client.post(PAGE, form).status_code == 422
        model.script(Say("hello"))
        assert "Saved" in said(client, PAGE, **{**form, "apiKey": "", "model": "right"})
        assert ana.keys() == {model.url: KEY}
        assert model.requests[1].headers["authorization"] == f"Bearer {KEY}"

    def test_the_key_that_waits_goes_to_its_own_address_only(
        self, client: Client, model: ModelServer, form: dict[str, str], ana: Account
    ) -> None:
        """Another address was typed meanwhile, or the page opened anew: it is not sent there."""
        model.script(Fail(500))
        client.post(PAGE, form)
        elsewhere = {**form, "apiKey": "", "baseUrl": "http://127.0.0.1:9", "untried": "1"}
        assert "Saved" in said(client, PAGE, **elsewhere)
        assert ana.keys() == {}
        model.script(Fail(500))
        assert client.post(PAGE, {**form, "name": "u"}).status_code == 422
        client.get(PAGE)
        said(client, PAGE, **{**form, "apiKey": "", "name": "u", "untried": "1"})
        assert ana.keys() == {}

    def test_a_preset_is_tried_when_it_asks_otherwise(
        self, client: Client, model: ModelServer, form: dict[str, str], root: Path
    ) -> None:
        """A new model is tried with the stored key; a longer reply alone costs no call."""
        said(client, PAGE, **form, **UNTRIED)
        url = "/settings/models/preset/t/"
        same = {"model": "m", "baseUrl": model.url}
        assert "is saved" in said(client, url, **same, maxTokens="500")
        assert model.requests == []
        model.script(Fail(404, "not_found_error", "model: other"))
        answer = client.post(url, {**same, "model": "other"})
        assert answer.status_code == 422
        assert "does not know the model" in answer.text
        assert load_config(root).presets["t"].model == "m"
        assert "is saved" in said(client, url, **{**same, "model": "other", "untried": "1"})
        assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
