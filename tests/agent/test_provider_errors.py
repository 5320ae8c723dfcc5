"""Every way in which a provider can fail has a sentence for people, and no more than that."""

import json
import logging

import pytest

from jenny.agent import provider_errors
from jenny.agent.errors import FAULTS, ProviderFault
from tests.agent.asking import ask, provider
from tests.model_server import (
    Act,
    Cut,
    Drop,
    Event,
    Fail,
    Headers,
    Raw,
    Stop,
    Usage,
)

# What no sentence and no log line may hold.
SECRET = "sk-ant-a-secret-key"
ECHO = f"your request said: my diary; your key {SECRET} is wrong"


def _fault(model, *acts, limits=None, **values):
    """The fault that this script leads to."""
    model.script(*acts)
    asked = {"limits": limits} if limits else {}
    with pytest.raises(ProviderFault) as caught:
        ask(provider(model, key=SECRET, **values), "my diary", **asked)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (Fail(400, "invalid_request_error", ECHO), "bad_request", False),
        (Fail(401, "authentication_error", ECHO), "key_refused", False),
        (Fail(402, "billing_error", ECHO), "billing", False),
        (Fail(403, "permission_error", ECHO), "forbidden", False),
        (Fail(404, "not_found_error", f"model: {ECHO}"), "not_found", False),
        (Fail(404, body=b"<html>Not Found</html>", content_type="text/html"), "not_the_api", False),
        (Fail(405, body=b""), "not_the_api", False),
        (Fail(413, "request_too_large", ECHO), "too_large", False),
        (Fail(413, body=b"<html>nginx</html>"), "too_large", False),
        (Fail(422, "invalid_request_error", ECHO), "bad_request", False),
        (Fail(429, "rate_limit_error", ECHO), "rate_limited", True),
        (Fail(500, "api_error", ECHO), "server_error", True),
        (Fail(500, body=ECHO.encode()), "server_error", True),
        (Fail(502, body=b"<html>Bad Gateway</html>"), "server_error", True),
        (Fail(503, body=b""), "overloaded", True),
        (Fail(504, body=b""), "overloaded", True),
        (Fail(529, "overloaded_error", ECHO), "overloaded", True),
        (
            Fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000"),
            "context_overflow",
            False,
        ),
        (
            Fail(400, "exceed_context_size_error", "request exceeds the available context size"),
            "context_overflow",
            False,
        ),
        (
            Fail(400, "invalid_request_error", "Your credit balance is too low to access the API"),
            "billing",
            False,
        ),
        (Fail(400, body=json.dumps({"error": ECHO}).encode()), "bad_request", False),
        (Fail(400, body=b'["odd"]'), "bad_request", False),
        (Fail(529, headers={"x-should-retry": "false"}), "overloaded", False),
    ],
)
def test_each_refusal_has_its_kind(model, answer, kind, retryable, caplog):
    """What happened, the server's own words, what was kept, what to do; and no key in any of it."""
    caplog.set_level(logging.DEBUG)
    fault = _fault(model, answer)
    assert (fault.kind, fault.retryable) == (kind, retryable)
    _is_for_people(fault, model)
    for secret in (SECRET, "diary", "nginx", "<html"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("acts", "kind"),
    [
        ([Drop()], "dropped"),
        ([Headers(), Drop()], "dropped"),
        (["Half a", Drop()], "dropped"),
        (["Half a", Cut()], "cut_off"),
        ([Usage(1), Cut()], "cut_off"),
        (["Half a", Stop(None)], "cut_off"),
        ([Headers(), Cut()], "cut_off"),
        ([Headers(), Raw(b"data: {not json}\n\n")], "malformed"),
        ([Headers(), Raw(b"data: [1, 2]\n\n")], "malformed"),
        ([Headers(), Raw(b"data: " + b"[" * 100_000 + b"\n\n")], "malformed"),
        (["a", Raw(b"data: \xff\xfe\n\n")], "malformed"),
        (["a", Event({"no": "type"})], "malformed"),
        (["a", Event({"type": "content_block_delta", "index": 0})], "malformed"),
        (
            ["a", Event({"type": "content_block_delta", "index": 0, "delta": {"type": 3}})],
            "malformed",
        ),
        (
            [
                "a",
                Event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": 3}}),
            ],
            "malformed",
        ),
        (
            ["a", Event({"type": "content_block_start", "index": "x", "content_block": {}})],
            "malformed",
        ),
        ([Headers("text/html"), Raw(b"<html>A router's page</html>"), Cut()], "not_the_api"),
        ([Headers("application/json"), Raw(b'{"type": "error", "error": {}}')], "not_the_api"),
        ([Headers("application/json"), Raw(b'{"detail": "no"}')], "not_the_api"),
        (["a", Event({"type": "error", "error": {"type": "overloaded_error"}})], "overloaded"),
        (["a", Event({"type": "error", "error": {"type": "api_error"}})], "server_error"),
        (["a", Event({"type": "error", "error": {"type": "rate_limit_error"}})], "rate_limited"),
        (["a", Event({"type": "error", "error": "odd"}, "error")], "server_error"),
        (
            [
                Event(
                    {
                        "type": "error",
                        "error": {
                            "type": "invalid_request_error",
                            "message": "prompt is too long: 9 tokens > 8 maximum",
                        },
                    }
                )
            ],
            "context_overflow",
        ),
    ],
)
def test_each_way_to_break_a_reply_has_its_kind(model, acts, kind):
    """A reply that breaks off, ends early or is none is never taken for an answer."""
    if any(isinstance(act, Headers | Raw) for act in acts):
        acts = [*acts, _Nothing()]
    fault = _fault(model, *acts)
    assert fault.kind == kind
    _is_for_people(fault, model)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Fail(400, body=b'{"detail": "Not today"}'), "Not today"),
        (Fail(404, body=b'{"detail": "Not Found"}'), "Not Found"),
        (Fail(422, body=b'{"detail": [{"loc": ["body", "x"], "msg": "bad"}]}'), "body.x: bad"),
        (Fail(400, body=b'{"error": {"message": "{\\"error\\": \\"inner\\"}"}}'), "“inner”"),
        (Fail(500, body=b'{"object": "error", "message": "Out of memory"}'), "Out of memory"),
        (Fail(502, body=b"<html><title>502 Bad &amp; Gateway</title></html>"), "502 Bad & Gateway"),
        (Fail(500, body=b"plain\x1b[31m words"), "“plain [31m words”"),
        (Fail(400, "invalid_request_error", "a" * 900), "a" * 300 + "…”"),
        (Fail(401, "authentication_error", f"Bad key {SECRET}"), "“Bad key [key]”"),
        ([Headers("application/json"), Raw(b'{"error": "Unexpected endpoint"}'), Stop()], "endpo"),
    ],
)
def test_every_refusal_shows_the_servers_own_words(model, answer, words):
    """The person reads why a server refuses: on one line, short, and without the key."""
    acts = [*answer[:-1], _Nothing()] if isinstance(answer, list) else [answer]
    fault = _fault(model, *acts)
    assert words in fault.message
    assert words in fault.advice
    assert SECRET not in fault.message
    assert not any(ord(char) < 32 for char in fault.message)


@pytest.mark.parametrize(
    ("status", "body", "window"),
    [
        (400, "prompt is too long: 215000 tokens > 200,000 maximum", 200_000),
        (400, "input length and `max_tokens` exceed context limit: 9 + 8 > 200000", 200_000),
        (400, "request (5000 tokens) exceeds the available context size (4096 tokens)", 4096),
        (500, "the input length exceeds the context length", None),
        (400, "This model's maximum context length is 8192 tokens. However, you …", 8192),
        (400, "This endpoint's maximum context length is 32768 tokens.", 32_768),
        (400, "the model is loaded with context length of only 4096 tokens", 4096),
        (
            400,
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            4096,
        ),
        (400, "This model's maximum prompt length is 131072 but it contains 5 tokens.", 131_072),
        (
            400,
            "The input token count (9) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
        ),
        (400, "Your request exceeded model token limit: 8192", 8192),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", 4096),
        (400, "Input is too long for requested model.", None),
        (400, "Please reduce the length of the messages or completion.", None),
        (413, "prompt is too long", None),
    ],
)
def test_a_request_that_is_too_long_is_known_in_the_words_of_each_server(status, body, window):
    """Hosted and local servers say it each in its own way, and some name the window."""
    refusal = provider_errors.read_refusal(status, {}, {"error": {"message": body}})
    assert (refusal.kind, refusal.window) == ("context_overflow", window)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "Output blocked by content filtering policy"),
        (400, "The response was filtered due to Azure OpenAI's content management policy."),
        (403, "Your request was rejected by our safety system"),
    ],
)
def test_a_content_filter_is_a_refusal_of_what_was_said(status, body):
    """A filter's status is no fault of the request's form."""
    assert provider_errors.read_refusal(status, {}, {"error": {"message": body}}).kind == "refused"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"detail": "Not Found"}', "not_the_api"),
        (b"404 page not found", "not_the_api"),
        (b'{"error": "model \'x\' not found, try pulling it first"}', "not_found"),
        (b'{"error": {"type": "not_found_error", "message": "x"}}', "not_found"),
    ],
)
def test_a_missing_address_is_told_from_a_missing_model(model, body, kind):
    """A server without the Messages API is not said to lack the model."""
    assert _fault(model, Fail(404, body=body)).kind == kind


def test_a_missing_key_is_told_from_a_wrong_one(model):
    """Who entered no key is told that one is wanted."""
    model.script(Fail(401, "authentication_error"))
    with pytest.raises(ProviderFault) as caught:
        ask(provider(model, key=""))
    assert caught.value.kind == "no_key"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read(headers, seconds):
    """It is honoured in each of its forms, and nonsense is not."""
    assert provider_errors.read_refusal(429, headers, None).retry_after == seconds


def test_a_long_wait_is_told():
    """Who is asked to wait for half an hour is told so."""
    assert "30 minutes" in ProviderFault("rate_limited", retry_after=1790.0).message


def test_every_kind_says_what_happened_what_was_kept_and_what_to_do():
    """No kind of fault leaves a person without a next step."""
    for kind in FAULTS:
        fault = ProviderFault(kind, host="example.org", model="some-model", seconds=60)
        assert "{" not in fault.message
        assert fault.message.count(".") >= 3
        assert "kept" in fault.message
        assert fault.message.startswith(fault.what)


def _is_for_people(fault, model):
    for unwanted in (SECRET, "<html", "{", "overloaded_error"):
        assert unwanted not in fault.message
    assert fault.message.startswith(fault.what)
    assert "kept" in fault.message
    assert fault.__cause__ is None
    assert fault.__suppress_context__ or fault.__context__ is None


class _Nothing(Act):
    """Ends the body, and adds nothing to what the script wrote."""

    def play(self, answer):
        """End it."""
        answer.end_body()
        answer.finish = lambda: None
