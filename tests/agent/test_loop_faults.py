"""A turn in which the provider fails: tried again where that can help, ended in words where not."""

import pytest

from jenny.agent import loop
from jenny.agent.errors import OVERRUN
from jenny.agent.limits import Limits
from jenny.agent.messages import Text, text_message
from jenny.agent.tokens import Usage
from jenny.agent.tools import ToolOutcome
from tests.model_server import Call, Cut, Drop, Fail, Headers, Raw, Silence, Stop
from tests.model_server import Usage as Counts

BUSY = Fail(529, "overloaded_error", "Overloaded")


@pytest.mark.parametrize(
    "acts",
    [
        [BUSY],
        [Fail(500)],
        [Fail(429, headers={"retry-after": "0"})],
        [Drop()],
        [Headers(), Raw(b"data: nonsense\n\n")],
    ],
    ids=["overloaded", "error", "rate", "dropped", "malformed"],
)
def test_a_fault_that_passes_is_waited_out_visibly(turn, model, acts):
    """The person sees that it is tried again, and gets the answer."""
    model.script(*acts)
    model.script("Here I am.")
    outcome = turn.run()
    assert (outcome.ending, outcome.error) == ("done", None)
    ((step, message, retry_in),) = turn.heard.all("step_failed")
    assert (step, retry_in) == (1, 0.0)
    assert message.endswith(".")
    assert turn.heard.all("step_started") == [(1,), (1,)]
    assert turn.heard.written == "Here I am."


@pytest.mark.parametrize("end", [Drop(), Cut()], ids=["dropped", "cut"])
def test_a_reply_that_breaks_off_begins_anew(turn, model, end):
    """A stream lost in the middle, or cut without a word, is asked for again from its start; the
    half of it is stale, and the next request does not hold it."""
    model.script("Half an ans", end)
    model.script("The whole answer.")
    assert turn.run().ending == "done"
    kinds = [what[0] for what in turn.heard.told]
    assert kinds == [
        "step_started",
        "text",
        "step_failed",
        "step_started",
        "text",
        "step_finished",
    ]
    assert turn.heard.all("step_finished")[0][1] == (Text("The whole answer."),)
    assert model.requests[0].body == model.requests[1].body


def test_a_fault_in_a_later_step_keeps_what_was_done(turn, model):
    """Tools that ran are not run again because the connection broke afterwards."""
    runs = []

    @turn.tool
    def once(context) -> ToolOutcome:
        """Do it once."""
        runs.append(context)
        return ToolOutcome(ok=True, content="done")

    model.script(Call("once"))
    model.script("Half", Drop())
    model.script("All done.")
    outcome = turn.run()
    assert (outcome.ending, outcome.steps) == ("done", 2)
    assert len(runs) == 1
    assert model.requests[1].body == model.requests[2].body


def test_tokens_of_failed_attempts_are_counted(turn, model):
    """They cost, so they are in the sum."""
    model.script(Counts(100), "Half", Drop())
    model.script(Counts(100), "Whole.")
    assert turn.run().usage == Usage(input=200, output=8)


def test_a_fault_that_stays_ends_the_turn_in_words(turn, model):
    """After as many attempts as the limits allow the person is told what to do."""
    turn.limits = Limits(retries=2, retry_seconds=0)
    for _ in range(3):
        model.script("Half", Cut())
    outcome = turn.run()
    assert (outcome.ending, outcome.error.kind) == ("failed", "cut_off")
    assert outcome.can_retry
    failed = turn.heard.all("step_failed")
    assert [retry_in for _, _, retry_in in failed] == [0.0, 0.0, None]
    assert failed[-1][1] == outcome.message
    assert len(model.requests) == 3


def test_each_step_has_its_own_attempts(turn, model):
    """A long turn on a shaky line does not use up its attempts."""
    turn.limits = Limits(retries=1, retry_seconds=0)

    @turn.tool
    def step(context, number: int) -> ToolOutcome:
        """Go on."""
        return ToolOutcome(ok=True, content="go on")

    for number in range(4):
        model.script(BUSY)
        model.script(Call("step", {"number": number}))
    model.script(BUSY)
    assert turn.run().ending == "done"
    assert len(model.requests) == 10


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_request_that_is_refused_is_not_sent_again(turn, model, status):
    """Sending the same thing again would only cost time and money."""
    model.script(Fail(status, "invalid_request_error", "No."))
    outcome = turn.run()
    assert outcome.ending == "failed"
    assert len(model.requests) == 1
    assert turn.heard.all("step_failed") == [(1, outcome.message, None)]


def test_a_conversation_that_is_too_long_says_what_to_do(turn, model):
    """The person is told what to shorten, and not that the request was bad."""
    model.script(Fail(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000"))
    outcome = turn.run()
    assert outcome.error.kind == "context_overflow"
    assert outcome.error.window == 200_000
    assert "Shorten" in outcome.message


@pytest.mark.parametrize(
    "acts",
    [
        [Fail(400, "invalid_request_error", "prompt is too long")],
        [Fail(413, "request_too_large")],
        ["Half a word", Stop("model_context_window_exceeded")],
    ],
)
def test_a_request_that_is_too_long_is_repeated_once_with_less(turn, model, acts):
    """What the caller leaves of the history is sent; what was said in the run follows it."""
    turn.history = [
        text_message("user", "old"),
        text_message("assistant", "older"),
        text_message("user", "new"),
    ]
    room = loop.Room(
        [{"type": "text", "text": "Shorter."}], [text_message("user", "new")], "It is less."
    )
    turn.make_room = lambda fault: room if fault.kind in OVERRUN else ""
    model.script(*acts)
    model.script("Whole.")
    outcome = turn.run()
    assert outcome.ending == "done"
    assert model.requests[1].json["system"][0]["text"] == "Shorter."
    assert [message["role"] for message in model.requests[1].json["messages"]] == ["user"]
    assert turn.heard.all("note") == [("It is less.",)]
    model.script(*acts)
    model.script(*acts)
    assert turn.run().error.kind in OVERRUN


def test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for(turn, model):
    """A turn does not sleep for an hour; the person is told when to come back."""
    model.script(Fail(429, "rate_limit_error", headers={"retry-after": "3600"}))
    outcome = turn.run()
    assert (outcome.ending, outcome.error.kind) == ("failed", "rate_limited")
    assert "60 minutes" in outcome.message
    assert len(model.requests) == 1


def test_a_silent_provider_is_tried_again_and_then_given_up(turn, model):
    """Silence is a fault like others, but each costs minutes: it is tried again once."""
    turn.limits = Limits(first_byte_seconds=0.1, retry_seconds=0)
    for _ in range(3):
        model.script(Silence())
    outcome = turn.run()
    assert (outcome.ending, outcome.error.kind) == ("failed", "silent")
    assert len(model.requests) == 2


def test_waits_grow_and_a_provider_may_set_them():
    """Back-off doubles up to its ceiling; the provider's own wish comes before it."""
    limits = Limits(retry_seconds=1, retry_ceiling_seconds=5, retry_after_ceiling_seconds=60)
    assert [limits.retry_delay(n, None) for n in range(1, 6)] == [1, 2, 4, 5, 5]
    assert limits.retry_delay(1, 30) == 30
    assert limits.may_retry(1, 30)
    assert not limits.may_retry(1, 61)
    assert limits.may_retry(4, None)
    assert not limits.may_retry(5, None)
