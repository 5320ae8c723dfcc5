"""A model that refuses a parameter is asked without it, visibly."""

import pytest

from jenny.agent.errors import ProviderFault
from jenny.agent.events import Note
from jenny.agent.messages import Message, Text, Thinking, said
from tests.agent.asking import ask, provider
from tests.model_server import Fail

TOOL = {"name": "grep", "description": "Find.", "input_schema": {"type": "object"}}


def _refuses(message):
    return Fail(400, "invalid_request_error", message)


@pytest.mark.parametrize(
    ("preset", "message", "field", "word"),
    [
        ({"temperature": 0.5}, "temperature is deprecated here.", "temperature", "temperature"),
        ({"temperature": 0.5}, "`temperature`: Extra inputs", "temperature", "temperature"),
        ({"thinking": "adaptive"}, "Adaptive thinking is unsupported", "thinking", "thinking"),
        ({}, "messages.0.content.0.cache_control: unknown", "cache_control", "prompt cache"),
        ({}, "this model does not support tools", "tools", "tools"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_visibly(model, preset, message, field, word):
    """A model that refuses a parameter is asked without it, and the person is told."""
    model.script(_refuses(message))
    events = ask(provider(model, model=f"refuses {message}", **preset), tools=[TOOL])
    (note,) = [event.sentence for event in events if isinstance(event, Note)]
    assert word in note
    assert events[-1].parts == (Text("ok"),)
    first, second = (request.body.decode() for request in model.requests)
    assert f'"{field}":' in first
    assert f'"{field}":' not in second


def test_what_is_refused_is_not_sent_again(model):
    """The next turn does not pay for the same refusal."""
    model.script(_refuses("temperature: not supported"))
    for _ in range(2):
        events = ask(provider(model, temperature=0.7, model="refuses once"))
    assert not [event for event in events if isinstance(event, Note)]
    assert ["temperature" in r.json for r in model.requests] == [True, False, False]


def test_another_model_at_the_same_address_is_asked_in_full(model):
    """What one model refuses, another one may take."""
    model.script(_refuses("temperature: not supported"))
    ask(provider(model, temperature=0.7, model="refuses"))
    ask(provider(model, temperature=0.7, model="takes it"))
    assert model.requests[-1].json["temperature"] == 0.7


def test_several_refusals_in_a_row_are_met_one_by_one(model):
    """A model that refuses two parameters is asked a third time."""
    model.script(_refuses("temperature is not supported"))
    model.script(_refuses("thinking is not supported"))
    events = ask(provider(model, temperature=1.0, thinking="adaptive", model="refuses two"))
    assert len([event for event in events if isinstance(event, Note)]) == 2
    assert set(model.requests[2].json) == {"model", "max_tokens", "stream", "system", "messages"}


def test_a_refusal_of_what_was_not_sent_is_a_refusal(model):
    """A request is never sent again unchanged because of what an error's words say."""
    model.script(_refuses("temperature is not supported"))
    with pytest.raises(ProviderFault) as caught:
        ask(provider(model, model="refuses what it did not get"))
    assert caught.value.kind == "bad_request"
    assert len(model.requests) == 1


def test_a_limit_that_is_too_high_is_lowered_visibly(model):
    """A preset with more tokens than the model writes still works."""
    model.script(_refuses("max_tokens: 9000 > 4096, which is the maximum allowed"))
    events = ask(provider(model, max_tokens=9000, model="writes less"))
    assert [request.json["max_tokens"] for request in model.requests] == [9000, 4096]
    assert [event for event in events if isinstance(event, Note) and "4096" in event.sentence]


def test_another_models_thinking_is_left_out_when_it_is_refused(model):
    """A conversation can change its model in the middle, thinking and all."""
    model.script(_refuses("Invalid `signature` in `thinking` block"))
    history = [
        said("user", "a"),
        Message("assistant", (Thinking("hm", "of another"), Text("b"))),
        said("user", "c"),
    ]
    ask(provider(model, model="knows signatures"), messages=history)
    assert "thinking" in model.requests[0].body.decode()
    assert "thinking" not in model.requests[1].body.decode()
