"""How a model's reply comes in, from servers of every kind."""

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.messages import Text, Thinking, ToolUse, text_message
from jenny.agent.reply import Counted, StepEnd, TextDelta, ThinkingDelta
from jenny.agent.tokens import Usage
from tests.agent.asking import QUICK, ask, provider
from tests.model_server import (
    Call,
    Cut,
    Event,
    Gate,
    Headers,
    Raw,
    Say,
    Silence,
    Stop,
    Think,
)
from tests.model_server import Usage as Counts

VALUES = {"system": [], "messages": [text_message("user", "Hi")], "tools": [], "limits": QUICK}


def test_words_are_told_as_they_come(model):
    """The first words are shown while the model still writes."""
    model.script("Hello ", Gate("more"), "there.")
    events = provider(model).stream(watch=CancellationToken(), **VALUES)
    assert next(event for event in events if isinstance(event, TextDelta)).text == "Hello "
    model.open("more")
    assert next(events) == TextDelta("there.")
    assert list(events)[-1] == StepEnd(
        (Text("Hello there."),), "end_turn", Usage(input=10, output=7)
    )


def test_what_was_counted_is_told_before_the_end(model):
    """Tokens of a reply that breaks off are known, since they cost; and whoever leaves in the
    middle lets go of the connection."""
    model.script(Counts(44), "a", Gate("never"))
    events = provider(model).stream(watch=CancellationToken(), **VALUES)
    assert next(events) == Counted(Usage(input=44, output=1))
    events.close()
    assert model.requests[0].left.wait(60)


def test_thinking_comes_with_its_signature(model):
    """Thinking is told as it comes, and is kept so that it can be sent back."""
    model.script(Think("Let me see.", "sig"), "Done.")
    events = ask(provider(model))
    assert [e.text for e in events if isinstance(e, ThinkingDelta)] == ["Let me see."]
    assert events[-1].parts == (Thinking("Let me see.", "sig"), Text("Done."))


def test_redacted_thinking_is_kept(model):
    """Thinking that only the provider can read is sent back as it came."""
    start = {"type": "redacted_thinking", "data": "blob"}
    model.script(*_events(("content_block_start", {"index": 0, "content_block": start})))
    assert ask(provider(model))[-1].parts == (Thinking("", redacted="blob"),)


def test_a_call_comes_with_its_arguments(model):
    """Arguments that come in pieces are put together."""
    model.script("Looking.", Call("grep", {"pattern": "tea", "n": 3}, id="t1"))
    end = ask(provider(model))[-1]
    assert end.stop_reason == "tool_use"
    assert end.parts == (Text("Looking."), ToolUse("t1", "grep", {"pattern": "tea", "n": 3}))


@pytest.mark.parametrize(
    "raw", ['{"a": ', "[1]", '"text"', "null", '{"a": NaN}', "[" * 100_000], ids=range(6)
)
def test_arguments_that_are_no_object_are_a_problem_and_no_failure(model, raw):
    """The model is told that its arguments were wrong, whatever it sent."""
    model.script(Call("grep", id="t1", raw=raw))
    (call,) = ask(provider(model))[-1].parts
    assert call.arguments == {}
    assert "not a valid JSON object" in call.problem


def test_a_call_without_arguments_has_none(model):
    """An empty text stands for no arguments."""
    model.script(Call("grep", id="t1", raw=""))
    assert ask(provider(model))[-1].parts == (ToolUse("t1", "grep", {}),)


def test_arguments_that_come_whole_are_taken(model):
    """Some servers send the arguments with the start of the call."""
    start = {"type": "tool_use", "id": "t1", "name": "grep", "input": {"a": 1}}
    model.script(*_events(("content_block_start", {"index": 0, "content_block": start})))
    assert ask(provider(model))[-1].parts == (ToolUse("t1", "grep", {"a": 1}),)


def test_arguments_are_cleaned(model):
    """A half emoji in a call neither fails the turn nor a later one."""
    model.script(Call("grep", id="t1", raw='{"pattern": "a\\ud83d\\u0000b"}'))
    assert ask(provider(model))[-1].parts == (ToolUse("t1", "grep", {"pattern": "a\ufffdb"}),)


def test_an_emoji_cut_in_two_arrives_whole(model):
    """Halves of a character that come in two events are one character; a lone half is marked."""
    halves = ["\\ud83d", "\\ude00", "b\\ud83d"]
    delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}'
    model.script(Say("a"), *(Raw(f"data: {delta % half}\n\n".encode()) for half in halves))
    events = ask(provider(model))
    assert events[-1].parts == (Text("a😀b\ufffd"),)
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert shown == "a😀b"


def test_a_character_cut_in_two_by_the_network_arrives_whole(model):
    """Bytes come in pieces that respect no character."""
    text = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ö€😀"}}'
    line = f"data: {text}\n\n".encode()
    model.script(Say("a"), *(Raw(line[at : at + 1]) for at in range(len(line))))
    assert ask(provider(model))[-1].parts == (Text("aö€😀"),)


def test_tokens_are_counted_with_the_cache_apart(model):
    """What was read from the prompt cache costs less, so it is counted by itself."""
    model.script(Counts(5, 200, 30), "ok", Stop(output_tokens=9))
    end = ask(provider(model))[-1]
    assert end.usage == Usage(input=5, output=9, cache_read=200, cache_write=30)
    assert (end.usage.prompt, end.usage.total) == (235, 244)


def test_counts_that_are_missing_or_wrong_are_none(model):
    """A server that does not count, or counts in words, is still understood."""
    model.script(
        Event({"type": "message_start", "message": {"usage": None}}),
        Event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ok"}}),
        Event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": "many", "input_tokens": -5},
            }
        ),
        Cut(),
    )
    assert ask(provider(model))[-1] == StepEnd((Text("ok"),), "end_turn", Usage())


def test_counts_that_nothing_could_hold_are_none(model):
    """A server that counts nonsense costs its user no answer."""
    model.script(Counts(10**30), "ok", Stop(output_tokens=2**64))
    end = ask(provider(model))[-1]
    assert end.parts == (Text("ok"),)
    assert end.usage.total < 100


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": ' + "[" * 900 + "]" * 900 + "}",
        '{"a":' * 900 + "1" + "}" * 900,
        '{"path": ' + "[" * 90_000 + "]" * 90_000 + "}",
        '{"limit": 1e999}',
        '{"limit": -1e999}',
        '{"limit": ' + "9" * 5_000 + "}",
    ],
    ids=["lists", "objects", "deeper", "infinite", "minus infinite", "long"],
)
def test_arguments_that_could_not_be_kept_are_told_to_the_model(model, raw):
    """They are well-formed and yet no JSON that a database or a provider takes again."""
    model.script(Call("list_dir", raw=raw))
    [call] = ask(provider(model))[-1].parts
    assert call.arguments == {}
    assert "not a valid JSON object" in call.problem


def test_events_that_nobody_knows_are_passed_over(model):
    """The API grows; what is new in it breaks nothing."""
    model.script(
        Raw(b': a comment\n\nevent: ping\ndata: {"type": "ping"}\n\n'),
        Say("a"),
        Event({"type": "something_new", "x": 1}),
        Event({"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}}),
        Event({"type": "content_block_start", "index": 7, "content_block": {"type": "new"}}),
        Event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "b"},
            }
        ),
    )
    assert ask(provider(model))[-1].parts == (Text("ab"),)


def test_a_stream_without_event_names_and_with_windows_lines_is_read(model):
    """Servers differ in how they write a stream."""
    lines = [
        '{"type":"message_start","message":{}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"A"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        '{"type":"message_stop"}',
    ]
    model.script(Headers(), *(Raw(f"data: {line}\r\n\r\n".encode()) for line in lines), Silence())
    assert ask(provider(model))[-1].parts == (Text("Ab"),)


def test_a_server_that_keeps_the_stream_open_is_not_waited_for(model):
    """The reply is over when the model says so, whatever the connection does."""
    model.script("ok", Stop(), Gate("never"))
    assert ask(provider(model))[-1].parts == (Text("ok"),)
    assert model.requests[0].left.wait(60)


def _events(*middle):
    """A whole stream around some events, given by type and the rest."""
    rows = [
        ("message_start", {"message": {}}),
        *middle,
        ("message_delta", {"delta": {"stop_reason": "end_turn"}}),
    ]
    return [*(Event({"type": kind, **rest}) for kind, rest in rows), Cut()]
