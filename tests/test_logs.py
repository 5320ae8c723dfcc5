"""Logs tell what happened, and nothing that people wrote or that is secret."""

import io
import json
import logging

import pytest

from jenny import logs
from tests.model_server import Call, Fail
from tests.support.chat import is_title
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, environment_for


def logged(style: str, message: str, *arguments, extra=None, error: Exception | None = None) -> str:
    """What one record looks like in a style of log."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.FORMATTERS[style]())
    about = (type(error), error, error.__traceback__) if error else None
    record = logging.getLogger("jenny.test").makeRecord(
        "jenny.test", logging.WARNING, __file__, 1, message, arguments, about, extra=extra
    )
    handler.handle(record)
    return stream.getvalue()


def failure(message: str) -> Exception:
    """An exception that was raised and caught."""
    with pytest.raises(ValueError, match=r".") as caught:
        fail(message)
    return caught.value


def fail(message: str) -> None:
    """Raise."""
    raise ValueError(message)


def test_a_text_line_holds_sentence_and_fields():
    """A person reads time, level, place, sentence and fields on one line."""
    line = logged("text", "turn.ended", extra={"turn": 7, "why": "two words"})
    assert line.count("\n") == 1
    assert line.endswith('WARNING jenny.test: turn.ended turn=7 why="two words"\n')


def test_a_json_line_is_an_object():
    """A machine reads the same as one object a line."""
    entry = json.loads(logged("json", "turn.ended", extra={"turn": 7}))
    assert entry["message"] == "turn.ended"
    assert entry["turn"] == 7
    assert entry["level"] == "WARNING"
    assert entry["time"].endswith("Z")


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_record_cannot_forge_another_line(style):
    """A path or a name with a line break stays on its line."""
    line = logged(style, "request\n2026-01-01 ERROR forged", extra={"path": "/a\n2026 forged"})
    assert line.count("\n") == 1


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijkl",
        "postgres://jenny:hunter2hunter2@db/jenny",
        "Bearer abcdef0123456789",
        "/setup/?token=Q1w2E3r4T5y6",
    ],
)
def test_what_looks_like_a_key_is_hidden(style, secret):
    """Keys, passwords in addresses and setup tokens do not reach a log by way of a message."""
    told = logged(style, "cannot use %s", secret) + logged(style, "failed", error=failure(secret))
    for part in ("abcdef", "hunter2hunter2", "Q1w2E3r4T5y6"):
        assert part not in told
    assert logs.HIDDEN in told


@pytest.mark.parametrize("style", ["text", "json"])
def test_known_secrets_are_hidden(style):
    """A secret of this instance is hidden whatever it looks like."""
    logs.hide("correct-horse-battery")
    assert "correct-horse" not in logged(style, "x", extra={"value": "correct-horse-battery"})


@pytest.mark.parametrize("style", ["text", "json"])
def test_an_exception_is_told_without_its_values(style):
    """Kind and place of a fault are logged, later lines of its message (where databases put the
    row's values) are not, and long messages are cut."""
    error = failure("duplicate key\nDETAIL: Key (text)=(my diary) exists. " + "x" * 500)
    told = logged(style, "failed", error=error)
    assert "ValueError: duplicate key" in told
    assert "test_logs.py" in told
    assert "diary" not in told
    assert "x" * 300 not in logged(style, "failed", error=failure("y" + "x" * 500))


def test_logs_of_a_chat_hold_nothing_that_was_said(start_stack, model_server):
    """Message, answer, tool call, file, key, password and token of a real chat, good and bad
    turns, are nowhere in the logs; ids, states and milliseconds are."""
    said = "my zebra is called Ferdinand"
    key = "sk-test-key-planted-4711"
    model_server.script(
        Call("write_file", {"path": "giraffe.md", "content": "okapi secret\n"}),
        when=lambda request: said in str(request.json) and not is_title(request),
    )
    model_server.script(
        Fail(400, "the flamingo is not valid"),
        when=lambda request: "provoke" in str(request.json) and not is_title(request),
    )
    environment = dict(environment_for(model_server.url, key), JENNY_LOG_FORMAT="json")
    stack = start_stack(has_owner=True, **environment)
    person = Client(stack.url).login(OWNER, PASSWORD)
    person.http.post("/login/", data={"username": OWNER, "password": "wrong-ibis"})
    chat = person.begin(said)
    person.answer(chat)
    person.send(chat, "provoke a warthog")
    person.answer(chat)
    token = person.cookie("session")
    stack.end()
    told = stack.logs()
    assert chat in told
    assert "turn.ended" in told
    for planted in (
        "zebra", "Ferdinand", "giraffe", "okapi", "warthog", "flamingo", "ibis",
        key, PASSWORD, token, stack.data.secret_key.read_text().strip(),
    ):  # fmt: skip
        assert planted not in told, planted
    entries = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    requests = [one for one in entries if one["message"] == "request"]
    assert all({"method", "path", "status", "ms", "request"} <= set(one) for one in requests)
    assert any(one["path"] == f"/chat/{chat}/send" for one in requests)
