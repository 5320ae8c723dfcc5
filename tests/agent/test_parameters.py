"""A model that refuses a parameter is asked without it, visibly."""

import json

import pytest

from jenny.agent.errors import ProviderFault
from jenny.agent.messages import Image, Message, Text, Thinking, text_message
from jenny.agent.reply import Note
from tests.agent.asking import ask, provider
from tests.model_server import Act, Fail, Headers, Raw

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
    (note,) = [event.message for event in events if isinstance(event, Note)]
    assert word in note
    assert events[-1].parts == (Text("ok"),)
    first, second = (request.body.decode() for request in model.requests)
    assert f'"{field}":' in first
    assert f'"{field}":' not in second


@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "system: Extra inputs are not permitted",
        "Unrecognized request argument supplied: system",
        "Developer instruction is not enabled for models/some-model",
        "Conversation roles must alternate user/assistant/user/assistant/…",
        "This model does not support system prompts.",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_a_system_prompt_that_is_refused_goes_out_as_the_first_message(model, words, status):
    """A model whose template knows no system role still gets the whole prompt, visibly."""
    model.script(Fail(status, "invalid_request_error", words))
    source = provider(model, model=f"no system {words} {status}")
    events = ask(source, "Good morning")
    (note,) = [event.message for event in events if isinstance(event, Note)]
    assert "system prompt" in note
    body = model.requests[-1].json
    assert "system" not in body
    (message,) = body["messages"]
    assert message["role"] == "user"
    assert [block["text"] for block in message["content"]] == ["You are Jenny.", "Good morning"]
    ask(source)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "words",
    [
        "messages.0.content: Input should be a valid string",
        "invalid type: sequence, expected a string",
    ],
)
def test_content_that_is_refused_as_a_list_goes_out_as_text(model, words):
    """A server that takes only strings gets strings, for the system prompt too."""
    model.script(_refuses(words))
    events = ask(provider(model, model=f"no lists {words}"), "Good morning")
    assert any(isinstance(event, Note) and "plain text" in event.message for event in events)
    body = model.requests[-1].json
    assert body["system"] == "You are Jenny."
    assert body["messages"] == [{"role": "user", "content": "Good morning"}]


PICTURE = Message(
    "user", (Image("image/png", "iVBORw0KGgo=", "(The picture a.png is not shown.)"), Text("Look"))
)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This model does not support images"),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "messages.0.content.0.type: Input should be 'text', unexpected value 'image'"),
        (400, "unknown variant `image`, expected `text`"),
        (400, "Could not process image"),
    ],
)
def test_a_picture_that_is_refused_is_named_instead(model, status, words):
    """The model is asked with the picture's name in its place, and the person is told; the next
    turn sends it so at once."""
    model.script(Fail(status, "invalid_request_error", words))
    source = provider(model, model=f"no pictures {words}")
    events = ask(source, messages=[PICTURE])
    (note,) = [event.message for event in events if isinstance(event, Note)]
    assert "takes no pictures" in note
    first, second = (request.json["messages"][0]["content"] for request in model.requests)
    assert first[0]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgo=",
    }
    assert [block["text"] for block in second] == ["(The picture a.png is not shown.)", "Look"]
    assert not [event for event in ask(source, messages=[PICTURE]) if isinstance(event, Note)]
    assert len(model.requests) == 3


def test_a_preset_that_takes_no_pictures_gets_their_names(model):
    """Nothing is tried first."""
    ask(provider(model, model="blind", takes_pictures=False), messages=[PICTURE])
    (request,) = model.requests
    assert [block["type"] for block in request.json["messages"][0]["content"]] == ["text", "text"]


def test_a_server_that_takes_only_text_gets_no_pictures(model):
    """Content as plain text has no room for a picture."""
    model.script(_refuses("messages.0.content: Input should be a valid string"))
    ask(provider(model, model="text alone"), messages=[PICTURE])
    (message,) = model.requests[-1].json["messages"]
    assert message["content"] == "(The picture a.png is not shown.)\n\nLook"


def test_a_reply_in_one_piece_is_taken_where_streaming_is_refused(model):
    """A server that cannot stream is asked for the whole reply, and it is read."""
    whole = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "All at once."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 3},
    }
    model.script(_refuses("Streaming is not supported by this model"))
    model.script(Headers("application/json"), Raw(json.dumps(whole).encode()), Whole())
    events = ask(provider(model, model="no stream"))
    assert any(isinstance(event, Note) and "stream" in event.message for event in events)
    assert events[-1].parts == (Text("All at once."),)
    assert (events[-1].usage.input, events[-1].usage.output) == (5, 3)
    assert "stream" not in model.requests[-1].json


def test_a_reply_that_may_fill_the_window_is_made_shorter(model):
    """A preset whose replies are as long as the model's window still works."""
    model.script(_refuses("This model's maximum context length is 4096 tokens. However, …"))
    events = ask(provider(model, max_tokens=8192, model="small window"))
    assert [request.json["max_tokens"] for request in model.requests] == [8192, 1024]
    assert [event for event in events if isinstance(event, Note)]


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
    assert [event for event in events if isinstance(event, Note) and "4096" in event.message]


def test_another_models_thinking_is_left_out_when_it_is_refused(model):
    """A conversation can change its model in the middle, thinking and all."""
    model.script(_refuses("Invalid `signature` in `thinking` block"))
    history = [
        text_message("user", "a"),
        Message("assistant", (Thinking("hm", "of another"), Text("b"))),
        text_message("user", "c"),
    ]
    ask(provider(model, model="knows signatures"), messages=history)
    assert "thinking" in model.requests[0].body.decode()
    assert "thinking" not in model.requests[1].body.decode()


class Whole(Act):
    """Ends the body, and adds nothing to what the script wrote."""

    def play(self, answer):
        """End it."""
        answer.end_body()
        answer.finish = lambda: None
