"""A turn: the model speaks, its tools run, until it has nothing more to call."""

import itertools

import pytest

from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Text, Thinking, text_message
from jenny.agent.tokens import Usage
from jenny.agent.tools import ToolOutcome
from tests.model_server import Call, Cut, Event, Gate, Say, Stop, Think
from tests.model_server import Usage as Counts


@pytest.fixture
def echo(turn):
    """Gives the turn a tool that says what it is told, and keeps it."""
    heard = []

    @turn.tool
    def echo(context, words: str) -> ToolOutcome:
        """Say it back.

        words: what to say
        """
        heard.append(words)
        return ToolOutcome(ok=True, content=f"echo of {words}")

    return heard


def test_a_plain_answer_ends_the_turn(turn, model):
    """The answer is told as it comes, and the turn is done."""
    model.script(Counts(12), "Good ", "day.")
    outcome = turn.run()
    assert (outcome.ending, outcome.steps, outcome.message) == ("done", 1, "")
    assert outcome.usage == Usage(input=12, output=7)
    assert outcome.context_tokens == 19
    assert turn.heard.all("text") == [("Good ",), ("day.",)]
    assert [what[0] for what in turn.heard.told] == [
        "step_started",
        "text",
        "text",
        "step_finished",
    ]


def test_a_call_runs_and_its_result_goes_back(turn, model, echo):
    """The model gets what the tool gave, and answers with it."""
    model.script("Let me see. ", Call("echo", {"words": "tea"}, id="t1"))
    model.script("It says tea.")
    outcome = turn.run()
    assert (outcome.ending, outcome.steps) == ("done", 2)
    assert echo == ["tea"]
    ((call, result, seconds),) = turn.heard.all("tool_finished")
    assert turn.heard.all("tool_started") == [(call,)]
    assert (result.ok, result.content) == (True, "echo of tea")
    assert seconds >= 0
    (sent,) = model.requests[1].results()
    assert (sent["tool_use_id"], sent["content"]) == ("t1", "echo of tea")
    assert turn.heard.written == "Let me see. It says tea."


def test_calls_of_one_reply_run_one_after_another(turn, model, echo):
    """Results come back in the order of the calls, in one message."""
    model.script(*(Call("echo", {"words": word}) for word in ("a", "b", "c")))
    turn.run()
    assert echo == ["a", "b", "c"]
    assert [r["content"] for r in model.requests[1].results()] == [
        "echo of a",
        "echo of b",
        "echo of c",
    ]


def test_calls_with_the_same_id_get_their_own_results(turn, model, echo):
    """A server that numbers its calls badly confuses nobody."""
    model.script(Call("echo", {"words": "a"}, id="x"), Call("echo", {"words": "b"}, id="x"))
    model.script(Call("echo", {"words": "c"}, id="x"))
    assert turn.run().ending == "done"
    calls = {
        block["id"]: block["input"]["words"]
        for message in model.requests[2].json["messages"]
        for block in message["content"]
        if block["type"] == "tool_use"
    }
    results = {
        block["tool_use_id"]: block["content"]
        for message in model.requests[2].json["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert results == {id_: f"echo of {words}" for id_, words in calls.items()}
    assert len(calls) == len(echo) == 3


def test_arguments_that_cannot_be_read_are_told_to_the_model(turn, model, echo):
    """The model can try again; nothing runs with half of the arguments."""
    model.script(Call("echo", raw='{"words": "te'))
    model.script("I see.")
    assert turn.run().ending == "done"
    assert echo == []
    (result,) = model.requests[1].results()
    assert result["is_error"]
    assert "not a valid JSON object" in result["content"]


def test_a_tool_that_does_not_exist_is_told_to_the_model(turn, model, echo):
    """A call of nothing ends neither the turn nor the conversation."""
    model.script(Call("teleport", {"to": "Rome"}))
    assert turn.run().ending == "done"
    (result,) = model.requests[1].results()
    assert result["is_error"]
    assert "echo" in result["content"]
    assert echo == []


def test_a_tool_that_breaks_does_not_break_the_turn(turn, model):
    """A fault of the program in a tool is told to the model in a sentence."""

    @turn.tool
    def broken(context) -> ToolOutcome:
        """Break."""
        raise ZeroDivisionError(context)

    model.script(Call("broken"))
    model.script("It broke.")
    assert turn.run().ending == "done"
    assert model.requests[1].results()[0]["is_error"]


def test_thinking_goes_back_within_the_turn(turn, model, echo):
    """A model that thinks between its calls finds its thoughts again, as it signed them."""
    model.script(Think("I should ask.", "sig-1"), Call("echo", {"words": "a"}))
    turn.run()
    assert turn.heard.all("thinking") == [("I should ask.",)]
    assert model.requests[1].json["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "I should ask.",
        "signature": "sig-1",
    }
    assert echo == ["a"]
    assert turn.heard.all("step_finished")[0][1][0] == Thinking("I should ask.", "sig-1")


def test_each_request_begins_with_the_one_before(turn, model, echo):
    """The prompt cache serves a turn of many steps: nothing that was sent changes later."""
    for number in range(4):
        model.script(Say(f"step {number} "), Call("echo", {"words": str(number)}))
    turn.run()
    assert echo == ["0", "1", "2", "3"]
    sent = [_without_marks(request.json["messages"]) for request in model.requests]
    for earlier, later in itertools.pairwise(sent):
        assert later[: len(earlier)] == earlier


def test_messages_that_come_meanwhile_are_folded_in(turn, model, echo):
    """What the person adds while a tool runs reaches the model with the tool's result."""
    waiting = {2: [text_message("user", "Use the green one.")]}
    turn.inbox = lambda step: waiting.pop(step, [])
    model.script(Call("echo", {"words": "tea"}))
    turn.run()
    last = model.requests[1].json["messages"][-1]
    assert last["role"] == "user"
    assert [block["type"] for block in last["content"]] == ["tool_result", "text"]
    assert last["content"][1]["text"] == "Use the green one."
    assert echo == ["tea"]


def test_a_message_that_comes_at_the_very_end_keeps_the_turn_going(turn, model):
    """What is sent while the last words stream is answered in the same turn."""
    asked = []

    def inbox(step):
        asked.append(step)
        return [text_message("user", "And now?")] if asked.count(2) == 1 and step == 2 else []

    turn.inbox = inbox
    model.script("First answer.")
    model.script("Second answer.")
    assert turn.run().steps == 2
    assert model.requests[1].texts() == ["Hello", "First answer.", "And now?"]
    assert turn.heard.written == "First answer.Second answer."


def test_a_paused_reply_goes_on(turn, model):
    """A model that pauses a long turn is asked to go on where it stands."""
    model.script("Half of it, ", Stop("pause_turn"))
    model.script("and the rest.")
    assert turn.run().ending == "done"
    assert model.requests[1].json["messages"][-1] == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Half of it, ", "cache_control": {"type": "ephemeral"}}
        ],
    }


def test_a_reply_that_reached_its_limit_is_marked(turn, model, echo):
    """What was written is kept, the cut is told, and a call that was cut does not run."""
    model.script("A long story", Call("echo", raw='{"words": "te'), Stop("max_tokens"))
    outcome = turn.run()
    assert outcome.ending == "cut"
    assert "limit" in outcome.message
    assert echo == []
    assert turn.heard.written == "A long story"
    assert turn.heard.all("step_finished")[0][1] == (Text("A long story"),)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("refusal", "refused"), ("model_context_window_exceeded", "context_overflow")],
)
def test_a_model_that_stops_for_a_reason_of_its_own_says_so(turn, model, reason, kind):
    """A refusal and a full window are told for what they are; what was written is kept."""
    model.script("I cannot", Stop(reason))
    outcome = turn.run()
    assert (outcome.ending, outcome.error.kind) == ("failed", kind)
    assert turn.heard.all("step_failed") == [(1, outcome.message, None)]
    assert len(model.requests) == 1


def test_an_empty_answer_is_told(turn, model):
    """A model that ends without a word leaves nobody waiting for one."""
    model.script(Stop())
    assert turn.run().ending == "done"
    assert turn.heard.all("note") == [("The model ended its turn without writing anything.",)]


def test_the_cap_on_steps_holds(turn, model, echo):
    """A model that never ends is ended, and what it did is kept."""
    turn.limits = Limits(max_steps=3)
    for number in range(5):
        model.script(Call("echo", {"words": str(number)}))
    outcome = turn.run()
    assert (outcome.ending, outcome.steps) == ("step_cap", 3)
    assert len(model.requests) == 3
    assert echo == ["0", "1", "2"]
    assert outcome.message


def test_the_cap_on_tokens_holds(turn, model, echo):
    """A run that may use so many tokens uses no more than one step beyond."""
    turn.limits = Limits(max_run_tokens=150)
    for number in range(5):
        model.script(Counts(90), Call("echo", {"words": str(number)}), Stop("tool_use", 10))
    outcome = turn.run()
    assert (outcome.ending, outcome.steps) == ("tokens", 2)
    assert outcome.usage.total == 200
    assert echo == ["0", "1"]


def test_a_server_that_does_not_count_gets_an_estimate(turn, model):
    """The meter works with local servers as well."""
    turn.history = [text_message("user", "word " * 2000)]
    model.script(
        Event({"type": "message_start", "message": {}}),
        Event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ok"}}),
        Event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        Cut(),
    )
    assert turn.run().context_tokens > 1500


def test_a_history_with_a_hole_is_continued(turn, model):
    """A conversation whose last turn was killed goes on as if nothing had been."""
    turn.history = [text_message("user", "a"), Message("assistant", ()), text_message("user", "b")]
    model.script("ok")
    assert turn.run().ending == "done"
    assert model.requests[0].texts() == ["a", "b"]


def test_what_a_listener_raises_comes_out_and_lets_go(turn, model):
    """A worker that lost its lease ends the turn by raising, and the model's server sees it."""

    class Lost(Exception):
        pass

    def on(kind, *_):
        if kind == "text":
            raise Lost

    turn.heard.on = on
    model.script("a", Gate("never"))
    with pytest.raises(Lost):
        turn.run()
    assert model.requests[0].left.wait(60)


def _without_marks(messages):
    return [
        {
            "role": message["role"],
            "content": [
                {name: value for name, value in block.items() if name != "cache_control"}
                for block in message["content"]
            ],
        }
        for message in messages
    ]
