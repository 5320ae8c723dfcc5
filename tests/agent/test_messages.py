"""A conversation's history as a provider takes it, whatever became of it before."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from jenny.agent.messages import (
    EARLIER_CUT,
    NO_RESULT,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    clean,
    text_message,
    to_wire,
)


def _assistant(*parts):
    return Message("assistant", parts)


def _user(*parts):
    return Message("user", parts)


def _without_marks(wire):
    return [
        (
            message["role"],
            [
                {name: value for name, value in block.items() if name != "cache_control"}
                for block in message["content"]
            ],
        )
        for message in wire
    ]


def test_a_plain_exchange_goes_out_as_it_is():
    """What was said reaches the model word for word, with its side."""
    wire = to_wire(
        [
            text_message("user", "Hello"),
            text_message("assistant", "Good day."),
            text_message("user", "How?"),
        ]
    )
    assert _without_marks(wire) == [
        ("user", [{"type": "text", "text": "Hello"}]),
        ("assistant", [{"type": "text", "text": "Good day."}]),
        ("user", [{"type": "text", "text": "How?"}]),
    ]


def test_the_cache_breakpoint_stands_on_the_last_block_and_nowhere_else():
    """A long conversation is paid in full once: the next request repeats the same beginning."""
    history = [
        text_message("user", "a"),
        text_message("assistant", "b"),
        _user(Text("c"), Text("d")),
    ]
    wire = to_wire(history)
    marked = [block for message in wire for block in message["content"] if "cache_control" in block]
    assert marked == [wire[-1]["content"][-1]]
    assert marked[0]["cache_control"] == {"type": "ephemeral"}
    longer = to_wire([*history, text_message("assistant", "e"), text_message("user", "f")])
    assert _without_marks(longer)[:3] == _without_marks(wire)


def test_a_breakpoint_never_stands_on_thinking():
    """Providers refuse a breakpoint on thinking, which may be what a paused reply ends with."""
    wire = to_wire([text_message("user", "a"), _assistant(Text("b"), Thinking("hm", "signed"))])
    assert wire[-1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in wire[-1]["content"][1]


def test_neighbours_of_one_side_are_one_message():
    """Messages sent while a turn ran do not break the order of sides that local servers want."""
    wire = to_wire(
        [text_message("user", "a"), text_message("user", "b"), text_message("assistant", "c")]
    )
    assert _without_marks(wire) == [
        ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ("assistant", [{"type": "text", "text": "c"}]),
    ]


def test_a_history_that_begins_with_an_answer_gets_a_beginning():
    """A conversation whose beginning left the window is still accepted, and says so."""
    wire = to_wire([text_message("assistant", "b"), text_message("user", "c")])
    assert wire[0] == {"role": "user", "content": [{"type": "text", "text": EARLIER_CUT}]}


def test_blank_texts_and_empty_messages_are_left_out():
    """A blank text, which providers refuse, costs nobody the conversation."""
    wire = to_wire(
        [text_message("user", "a"), text_message("assistant", " \n"), _user(Text(""), Text("b"))]
    )
    assert _without_marks(wire) == [
        ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    ]


def test_a_call_that_a_killed_worker_left_open_is_closed():
    """After a worker was killed in a tool call, the conversation goes on."""
    wire = to_wire(
        [
            text_message("user", "a"),
            _assistant(ToolUse("t1", "grep", {"pattern": "x"})),
            text_message("user", "b"),
        ]
    )
    assert [block["type"] for block in wire[2]["content"]] == ["tool_result", "text"]
    assert wire[2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": NO_RESULT,
        "is_error": True,
    }


def test_an_open_call_at_the_very_end_is_closed():
    """The same when nothing was said after it."""
    wire = to_wire([text_message("user", "a"), _assistant(ToolUse("t1", "grep"))])
    assert wire[-1]["role"] == "user"
    assert wire[-1]["content"][0]["tool_use_id"] == "t1"


def test_results_come_first_in_the_message_after_the_calls():
    """Words of the user that were folded in stand behind the results, as providers demand."""
    wire = to_wire(
        [
            text_message("user", "a"),
            _assistant(ToolUse("t1", "x"), ToolUse("t2", "y")),
            _user(Text("meanwhile"), ToolResult("t2", "two"), ToolResult("t1", "one")),
        ]
    )
    assert [block["type"] for block in wire[2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert {b["tool_use_id"]: b["content"] for b in wire[2]["content"][:2]} == {
        "t1": "one",
        "t2": "two",
    }


def test_a_result_that_belongs_to_no_call_is_dropped():
    """Half of a pair, left by a cut, does not make every later request fail."""
    wire = to_wire([_user(ToolResult("gone", "x"), Text("a")), text_message("assistant", "b")])
    assert _without_marks(wire)[0] == ("user", [{"type": "text", "text": "a"}])


def test_duplicate_ids_within_one_reply_are_told_apart():
    """Servers that give every call the same id get each result back to its own call."""
    wire = to_wire(
        [
            text_message("user", "a"),
            _assistant(ToolUse("same", "x"), ToolUse("same", "y")),
            _user(ToolResult("same", "of x"), ToolResult("same", "of y")),
        ]
    )
    ids = [block["id"] for block in wire[1]["content"]]
    assert len(set(ids)) == 2
    assert [(b["tool_use_id"], b["content"]) for b in wire[2]["content"]] == [
        (ids[0], "of x"),
        (ids[1], "of y"),
    ]


def test_ids_used_again_in_a_later_reply_are_told_apart():
    """Servers that begin to count anew with every reply are understood as well."""
    exchange = [_assistant(ToolUse("call_0", "x")), _user(ToolResult("call_0", "r"))]
    wire = to_wire([text_message("user", "a"), *exchange, *exchange])
    first, second = wire[1]["content"][0]["id"], wire[3]["content"][0]["id"]
    assert first != second
    assert wire[4]["content"][0]["tool_use_id"] == second


def test_names_that_a_provider_refuses_are_rewritten():
    """A model that once called a tool by an impossible name must not lose its conversation: the
    API refuses every request that repeats it."""
    names = ["", "<img src=x>", "n" * 500, "résumé", "read_file"]
    calls = tuple(ToolUse(f"id_{at}", name, {}) for at, name in enumerate(names))
    wire = to_wire([text_message("user", "Hi"), Message("assistant", calls)])
    sent = [block["name"] for block in wire[1]["content"]]
    assert sent == ["unnamed", "_img_src_x_", "n" * 64, "r_sum_", "read_file"]


def test_ids_that_a_provider_refuses_are_rewritten():
    """A history made with one provider can be continued with another one."""
    wire = to_wire(
        [
            text_message("user", "a"),
            _assistant(ToolUse("functions.grep:0", "grep"), ToolUse("", "grep")),
            _user(ToolResult("functions.grep:0", "r"), ToolResult("", "s")),
        ]
    )
    ids = [block["id"] for block in wire[1]["content"]]
    assert all(id_.replace("_", "").isalnum() for id_ in ids)
    assert [b["tool_use_id"] for b in wire[2]["content"]] == ids


def test_thinking_goes_back_with_its_signature_and_only_with_one():
    """A model that thinks between calls gets its thinking back as it was; unsigned thinking,
    which providers refuse, stays here."""
    parts = (Thinking("hm", "sig"), Thinking("hm hm"), Thinking("", redacted="blob"), Text("b"))
    wire = to_wire([text_message("user", "a"), _assistant(*parts)])
    assert _without_marks(wire)[1][1] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "text", "text": "b"},
    ]
    assert _without_marks(to_wire([text_message("user", "a"), _assistant(*parts)], thinking=False))[
        1
    ][1] == [{"type": "text", "text": "b"}]


def test_lone_surrogates_and_nul_are_cleaned_on_the_way_in():
    """Text that cannot be sent (a half emoji, a NUL from a file) does not fail the turn."""
    wire = to_wire(
        [
            text_message("user", "a\ud83d b\0c"),
            _assistant(ToolUse("t", "x", {"k\udc00": ["\ud800", {"n": "\0"}]})),
            _user(ToolResult("t", "\udfff\0")),
        ]
    )
    assert wire[0]["content"][0]["text"] == "a\ufffd bc"
    assert wire[1]["content"][0]["input"] == {"k\ufffd": ["\ufffd", {"n": ""}]}
    assert wire[2]["content"][0]["content"] == "\ufffd"
    json.dumps(wire, ensure_ascii=False).encode()


def test_the_two_halves_of_an_emoji_become_one():
    """An emoji that came in as two halves is an emoji again."""
    assert clean("\ud83d\ude00") == "😀"
    assert clean("plain") == "plain"


PARTS = st.one_of(
    st.builds(Text, st.text(max_size=4)),
    st.builds(Thinking, st.text(max_size=3), st.sampled_from(["", "sig"])),
    st.builds(ToolUse, st.sampled_from(["", "a", "b", "ä"]), st.just("x")),
    st.builds(ToolResult, st.sampled_from(["", "a", "b", "ä"]), st.text(max_size=3)),
)


@given(
    st.lists(
        st.builds(
            Message,
            st.sampled_from(["user", "assistant"]),
            st.lists(PARTS, max_size=4).map(tuple),
        ),
        max_size=8,
    )
)
def test_whatever_the_history_is_the_request_is_valid(history):
    """Sides alternate from the user on, nothing is blank, every id is unique, and every call has
    exactly one result, at the head of the message right after it."""
    wire = to_wire(history)
    assert [m["role"] for m in wire] == list(
        itertools.islice(itertools.cycle(["user", "assistant"]), len(wire))
    )
    ids = [b["id"] for m in wire for b in m["content"] if b["type"] == "tool_use"]
    assert len(set(ids)) == len(ids)
    waiting = []
    for message in wire:
        assert message["content"]
        results = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting)
        assert [b["type"] for b in message["content"][: len(results)]] == (
            ["tool_result"] * len(results)
        )
        assert all(b["text"].strip() for b in message["content"] if b["type"] == "text")
        waiting = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
    assert not waiting
    json.dumps(wire, ensure_ascii=False).encode()
