"""A turn that is told to end, or goes in a circle, ends, and leaves nothing half done behind."""

import itertools
import threading
import time

import pytest

from jenny.agent.limits import Limits
from jenny.agent.tools import ToolOutcome
from tests.model_server import Call, Fail, Gate, Silence

JOIN_SECONDS = 60


def _stopped(turn, reason="stop"):
    """Run the turn in a thread; gives a function that stops it and gives the outcome."""
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(turn.run()), daemon=True)
    thread.start()

    def stop():
        turn.watch.cancel(reason)
        thread.join(JOIN_SECONDS)
        assert outcomes, "the turn did not end"
        return outcomes[0]

    return stop


@pytest.mark.parametrize(
    ("reason", "ending"), [("stop", "stopped"), ("shutdown", "shutdown"), ("lost", "lost")]
)
def test_a_turn_that_is_told_to_end_says_why(turn, model, reason, ending):
    """Stop, a shutdown and a lost lease are told apart."""
    model.script("Half a", Silence())
    stop = _stopped(turn, reason)
    model.wait_for(1)
    outcome = stop()
    assert outcome.ending == ending
    assert outcome.error is None
    assert outcome.message


def test_what_was_written_before_a_stop_was_told(turn, model):
    """The partial text is kept, since the listener has it."""
    told = threading.Event()
    turn.heard.on = lambda kind, *_: told.set() if kind == "text" else None
    model.script("Half a", Silence())
    stop = _stopped(turn)
    assert told.wait(JOIN_SECONDS)
    outcome = stop()
    assert turn.heard.written == "Half a"
    assert turn.heard.all("step_failed") == []
    assert outcome.usage.prompt == 10


def test_a_stop_while_a_retry_is_waited_for_ends_the_turn(turn, model):
    """Nobody waits for a wait."""
    turn.limits = Limits(retry_seconds=600, retry_ceiling_seconds=600)
    failed = threading.Event()
    turn.heard.on = lambda kind, *_: failed.set() if kind == "step_failed" else None
    model.script(Fail(529))
    stop = _stopped(turn)
    assert failed.wait(JOIN_SECONDS)
    assert stop().ending == "stopped"
    assert len(model.requests) == 1


def test_a_stop_while_a_tool_runs_closes_its_call(turn, model):
    """The call that was cut has a result that says so; those behind it do not run."""
    runs = []
    running = threading.Event()

    @turn.tool
    def wait(context, number: int) -> ToolOutcome:
        """Wait for a stop."""
        runs.append(number)
        running.set()
        deadline = time.monotonic() + JOIN_SECONDS
        while time.monotonic() < deadline:
            context.check()
        return ToolOutcome(ok=True, content="nobody stopped it")

    model.script(Call("wait", {"number": 1}), Call("wait", {"number": 2}))
    stop = _stopped(turn)
    assert running.wait(JOIN_SECONDS)
    assert stop().ending == "stopped"
    assert runs == [1]
    ((call, result, _),) = turn.heard.all("tool_finished")
    assert call.arguments == {"number": 1}
    assert not result.ok
    assert "ended before" in result.content
    assert len(turn.heard.all("tool_started")) == 1


def test_a_stop_between_steps_sends_no_further_request(turn, model):
    """A stop that comes while a tool ends is heard before the model is asked again."""

    @turn.tool
    def quick(context) -> ToolOutcome:
        """Be quick."""
        context.watch.cancel("stop")
        return ToolOutcome(ok=True, content="done")

    model.script(Call("quick"))
    assert turn.run().ending == "stopped"
    assert len(model.requests) == 1
    assert turn.heard.all("tool_finished")[0][1].ok


def test_a_turn_ends_when_its_time_is_over(turn, model):
    """A turn takes no longer than one may, whatever it does."""
    turn.limits = Limits(seconds=0.3)
    model.script("Half a", Gate("never"))
    outcome = turn.run()
    assert outcome.ending == "time"
    assert "Continue" in outcome.message


@pytest.fixture
def look(turn):
    """Gives the turn a tool that looks at things; each look at the same thing shows the same."""
    looks = []

    @turn.tool
    def look(context, at: str, *, count: bool = False) -> ToolOutcome:
        """Look at something.

        at: what to look at
        count: whether the looks are counted in what it shows
        """
        looks.append(at)
        return ToolOutcome(ok=True, content=f"{at} {len(looks) if count else ''}")

    return looks


def test_the_same_call_again_and_again_ends_the_turn(turn, model, look):
    """A model that does one thing for ever is stopped, and told before."""
    model.always(lambda _: True, Call("look", {"at": "door"}))
    outcome = turn.run()
    assert outcome.ending == "repeat"
    assert "again and again" in outcome.message
    assert look == ["door"] * 4
    results = [result.content for _, result, _ in turn.heard.all("tool_finished")]
    assert [("3 times in a row" in content) for content in results] == [False, False, True, False]


def test_the_same_call_is_a_repetition_even_when_its_result_changes(turn, model, look):
    """Polling is no work."""
    model.always(lambda _: True, Call("look", {"at": "clock", "count": True}))
    assert turn.run().ending == "repeat"
    assert len(look) == 4


def test_calls_in_one_reply_count_as_well(turn, model, look):
    """Many equal calls at once are a circle, too; those behind it do not run."""
    model.script(*[Call("look", {"at": "door"})] * 9)
    assert turn.run().ending == "repeat"
    assert len(look) == 4


@pytest.mark.parametrize("places", ["ab", "abc"])
def test_a_circle_of_calls_that_changes_nothing_ends_the_turn(turn, model, look, places):
    """Going back and forth without anything new is a circle."""
    for place in itertools.islice(itertools.cycle(places), 40):
        model.script(Call("look", {"at": place}))
    assert turn.run().ending == "repeat"
    assert len(look) == 4 * len(places)


def test_going_back_and_forth_is_fine_while_something_changes(turn, model, look):
    """Reading and writing in turns is how work is done."""
    for place in itertools.islice(itertools.cycle("ab"), 20):
        model.script(Call("look", {"at": place, "count": True}))
    model.script("Done.")
    assert turn.run().ending == "done"
    assert len(look) == 20


def test_different_calls_are_no_circle(turn, model, look):
    """A long job of many calls is left alone."""
    for number in range(30):
        model.script(Call("look", {"at": str(number)}))
    assert turn.run().ending == "done"
    assert len(look) == 30
