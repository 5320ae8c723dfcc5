"""The test button's one real call."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from jenny.accounts import probe
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
    answer = probe.ask_apart(Endpoint(server.url, KEY), PRESET)
    assert answer.ok
    assert answer.sentence.startswith("scripted-model answered in ")
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["max_tokens"] == probe.MAX_TOKENS
    assert "tools" not in request.json


@pytest.mark.parametrize(("status", "said"), [(401, "refused the key"), (404, "does not know")])
def test_a_refusal_is_told_in_words(server: ModelServer, status: int, said: str) -> None:
    """What is wrong and what to do, without the key in it."""
    server.script(Fail(status))
    answer = probe.ask_apart(Endpoint(server.url, KEY), PRESET)
    assert not answer.ok
    assert said in answer.sentence
    assert answer.sentence.startswith("After ")
    assert KEY not in answer.sentence


def test_nobody_there_is_told_in_words() -> None:
    """A server that is not running is a sentence, not a traceback."""
    answer = probe.ask(Endpoint("http://127.0.0.1:9"), PRESET)
    assert not answer.ok
    assert "could not be reached" in answer.sentence


def test_the_key_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other people on the machine can read command lines; the key goes by standard input."""
    seen: list[tuple[list[str], str]] = []

    def run(words: list[str], *, input: str, **_: object) -> object:  # noqa: A002
        seen.append((words, input))
        return subprocess.CompletedProcess(words, 0, json.dumps({"ok": True, "sentence": "."}))

    monkeypatch.setattr(subprocess, "run", run)
    probe.ask_apart(Endpoint("http://127.0.0.1:9", KEY), PRESET)
    ((words, given),) = seen
    assert KEY not in " ".join(words)
    assert KEY in given


def test_a_test_that_does_not_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the machine has no room for another process."""
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    answer = probe.ask_apart(Endpoint("http://127.0.0.1:9"), PRESET)
    assert not answer.ok
