"""What is sent to a model, where, and with which key."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.reply import StepEnd
from tests.agent.asking import QUICK, ask, provider
from tests.model_server import Fail, Gate, ModelServer

TOOL = {"name": "grep", "description": "Find.", "input_schema": {"type": "object"}}
PLAIN = Preset(name="p", model="m")


def test_the_request_says_what_was_asked(model):
    """Model, limit, system prompt, messages and tools arrive as they are meant."""
    system = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    ask(provider(model, max_tokens=123), "Hello", system=system, tools=[TOOL])
    (request,) = model.requests
    block = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    assert request.path == "/v1/messages"
    assert request.json == {
        "model": "scripted",
        "max_tokens": 123,
        "stream": True,
        "system": system,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": [block]}],
    }


def test_equal_turns_send_equal_bytes(model):
    """The provider's prompt cache holds, since nothing moves between two requests."""
    for _ in range(2):
        ask(provider(model), tools=[TOOL])
    assert model.requests[0].body == model.requests[1].body


def test_the_key_goes_along_and_nothing_of_this_machine_does(model, monkeypatch):
    """The endpoint gets its own key. What the SDK would add (facts about the machine, headers and
    keys from environment variables of its own) does not leave."""
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-of-the-environment",
        "ANTHROPIC_AUTH_TOKEN": "token-of-the-environment",
        "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer other\nX-Secret: other",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_PROFILE": "other",
    }.items():
        monkeypatch.setenv(name, value)
    # As in a process that starts with them: a client is made when an address is first asked.
    ask(provider(model, key="the-key"))
    headers = model.requests[0].headers
    assert headers["authorization"] == "Bearer the-key"
    assert headers["anthropic-version"]
    assert "environment" not in str(headers)
    assert "other" not in str(headers)
    assert not [name for name in headers if name.startswith("x-")]
    assert headers["accept-encoding"] == "identity"


def test_a_server_without_a_key_is_asked_without_one(model, monkeypatch):
    """A local server needs no key, and gets none from anywhere else."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
    assert isinstance(ask(provider(model, key=""))[-1], StepEnd)
    assert "authorization" not in model.requests[0].headers
    assert "x-api-key" not in model.requests[0].headers


def test_two_accounts_at_one_address_send_their_own_keys(model):
    """Connections are shared, keys never are."""
    for key in ("first", "second", ""):
        ask(provider(model, key=key))
    sent = [request.headers.get("authorization") for request in model.requests]
    assert sent == ["Bearer first", "Bearer second", None]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_never_follows_a_redirect(model, status):
    """A server that points elsewhere does not get the key carried there."""
    with ModelServer() as other:
        model.script(Fail(status, headers={"location": f"{other.url}/v1/messages"}))
        with pytest.raises(ProviderFault) as caught:
            ask(provider(model, key="the-key"))
        assert other.requests == []
    assert caught.value.kind == "redirected"


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/messages"])
def test_an_address_is_taken_however_it_was_copied(model, end):
    """Documentation gives addresses with and without their end; each of them works."""
    ask(Provider(Endpoint(model.url + end), PLAIN))
    assert model.requests[0].path == "/v1/messages"


def test_an_address_below_a_path_keeps_it(model):
    """A gateway may keep its models below a path of its own."""
    ask(Provider(Endpoint(f"{model.url}/gateway/"), PLAIN))
    assert model.requests[0].path == "/gateway/v1/messages"


def test_a_password_in_an_address_is_not_sent_in_place_of_the_key(model):
    """An address with a name and password in it is not asked at all, and is not shown."""
    endpoint = Endpoint(model.url.replace("//", "//name:secret@"), "the-key")
    with pytest.raises(ProviderFault) as caught:
        ask(Provider(endpoint, PLAIN))
    assert caught.value.kind == "bad_address"
    assert model.requests == []
    assert "secret" not in endpoint.host


def test_an_endpoint_never_shows_its_key():
    """What is written into a log by accident holds no key."""
    assert "the-key" not in repr(Endpoint("http://host", "the-key"))


def test_a_temperature_is_sent_only_when_the_preset_has_one(model):
    """Models that refuse the parameter are not sent it."""
    ask(provider(model))
    ask(provider(model, temperature=0.0))
    assert "temperature" not in model.requests[0].json
    assert model.requests[1].json["temperature"] == 0.0


@pytest.mark.parametrize(
    ("setting", "sent"),
    [
        ("", None),
        ("off", {"type": "disabled"}),
        ("adaptive", {"type": "adaptive"}),
        ("512", {"type": "enabled", "budget_tokens": 512}),
        # As long as the whole reply may be: refused by the API, so not sent.
        ("1000", None),
    ],
)
def test_thinking_is_sent_as_the_preset_says(model, setting, sent):
    """Each way of setting it reaches the model in the API's form."""
    ask(provider(model, thinking=setting))
    assert model.requests[0].json.get("thinking") == sent


def test_a_run_may_ask_for_shorter_replies_than_the_preset(model):
    """The smaller of the two limits holds."""
    ask(provider(model, max_tokens=500), limits=Limits(max_output_tokens=64))
    ask(provider(model, max_tokens=50), limits=Limits(max_output_tokens=64))
    assert [request.json["max_tokens"] for request in model.requests] == [64, 50]


def test_a_connection_serves_many_turns(model):
    """A second message does not pay for a new connection."""
    for _ in range(3):
        ask(provider(model))
    assert len(model.requests) == 3
    assert model.connections() == 1


def test_a_connection_that_the_server_closed_is_not_used_again(model):
    """A message after a pause does not fail because the server let go meanwhile."""
    ask(provider(model))
    model.hang_up()
    assert isinstance(ask(provider(model))[-1], StepEnd)
    assert model.connections() == 2


def test_many_turns_at_once_get_their_own_replies(model):
    """Turns that run side by side in one process do not mix."""
    count = 12
    for number in range(count):
        model.script(Gate("all"), f"to {number}", when=_says(f"turn {number}"))
    replies = {}

    def turn(number):
        replies[number] = ask(provider(model), f"turn {number}")[-1].parts[0].text

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    model.wait_for(count)
    model.open("all")
    for thread in threads:
        thread.join(30)
    assert replies == {number: f"to {number}" for number in range(count)}


def test_tokens_are_counted_by_the_provider_where_it_can(model):
    """The meter shows the provider's own count, and nothing where there is none."""
    values = {
        "system": [],
        "messages": [text_message("user", "Hello")],
        "tools": [TOOL],
        "watch": CancellationToken(),
        "limits": QUICK,
    }
    assert provider(model).count_tokens(**values) is None
    model.token_count = 321
    assert provider(model, temperature=1.0).count_tokens(**values) == 321


def test_who_asks_no_model_does_not_load_the_library():
    """The web process and the commands start quickly, and stay small."""
    code = "import sys, jenny.agent.loop, jenny.agent.demo; print('anthropic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"


def _says(text):
    return lambda request: request.texts() == [text]
