"""The test button's one real call."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from jenny.accounts import connection_test
from jenny.agent.preset import Endpoint, Preset
from tests.model_server import Fail, ModelServer, Say

PRESET = Preset(name="p", model="scripted-model")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model's server."""
    with ModelServer() as running:
        yield running


def test_a_model_that_answers_is_told_in_words(server: ModelServer) -> None:
    """One tiny request with the key, and how long it took."""
    server.script(Say("hello"))
    answer = connection_test.test_in_subprocess(Endpoint(server.url, KEY), PRESET)
    assert answer.ok
    assert answer.message.startswith("scripted-model answered in ")
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["max_tokens"] == connection_test.MAX_TOKENS
    assert "tools" not in request.json


def test_a_model_that_takes_no_pictures_is_found_out(server: ModelServer) -> None:
    """The test tries a picture, and says when the model is to get names and paths instead."""
    server.script(Fail(400, "invalid_request_error", "This model does not support images"))
    server.script(Say("hello"))
    answer = connection_test.test_in_subprocess(Endpoint(server.url, KEY), PRESET)
    assert answer.ok
    assert "It takes no pictures" in answer.message
    server.script(Say("hello"))
    blind = Preset(name="p", model="scripted-model", takes_pictures=False)
    assert (
        "It takes no pictures"
        in connection_test.test_in_subprocess(Endpoint(server.url, KEY), blind).message
    )
    kinds = [
        [part["type"] for part in request.json["messages"][0]["content"]]
        for request in server.requests
    ]
    assert kinds == [["image", "text"], ["text", "text"], ["text", "text"]]


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        (Fail(401), "refused the key"),
        (Fail(404, type="not_found_error"), "does not know"),
        (Fail(404), "but not as a server of Claude, Ollama"),
    ],
)
def test_a_refusal_is_told_in_words(server: ModelServer, fail: Fail, said: str) -> None:
    """What is wrong and what to do, without the key in it."""
    server.script(fail)
    answer = connection_test.test_in_subprocess(Endpoint(server.url, KEY), PRESET)
    assert not answer.ok
    assert said in answer.message
    assert answer.message.startswith("After ")
    assert KEY not in answer.message


def test_nobody_there_is_told_in_words() -> None:
    """A server that is not running is a sentence, not a traceback."""
    answer = connection_test.test_connection_now(Endpoint("http://127.0.0.1:9"), PRESET)
    assert not answer.ok
    assert "could not be reached" in answer.message


def test_the_key_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other people on the machine can read command lines; the key goes by standard input."""
    seen: list[tuple[list[str], str]] = []

    def run(words: list[str], *, input: str, **_: object) -> object:  # noqa: A002
        seen.append((words, input))
        return subprocess.CompletedProcess(words, 0, json.dumps({"ok": True, "message": "."}))

    monkeypatch.setattr(subprocess, "run", run)
    connection_test.test_in_subprocess(Endpoint("http://127.0.0.1:9", KEY), PRESET)
    ((words, given),) = seen
    assert KEY not in " ".join(words)
    assert KEY in given


def test_a_test_that_does_not_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the machine has no room for another process."""
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    answer = connection_test.test_in_subprocess(Endpoint("http://127.0.0.1:9"), PRESET)
    assert not answer.ok
