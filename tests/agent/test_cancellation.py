"""A run is told to end: it does so wherever it waits."""

import threading

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled

# Far above what anything here takes: reached only when something hangs.
LONG = 60.0


def _cancelled(watch, reason="stop"):
    """A thread that cancels *watch* as soon as somebody waits for it."""
    thread = threading.Thread(target=watch.cancel, args=(reason,))
    thread.start()
    return thread


def test_a_run_that_nobody_stops_goes_on():
    """Without a reason to end, nothing is raised."""
    watch = CancellationToken()
    watch.check()
    watch.sleep(0)
    assert watch.reason is None


def test_the_reason_comes_out_and_the_first_one_holds():
    """A stop stays a stop, also when the worker is shut down right after."""
    watch = CancellationToken()
    watch.cancel("stop")
    watch.cancel("shutdown")
    with pytest.raises(Cancelled) as caught:
        watch.check()
    assert caught.value.reason == "stop"
    assert watch.reason == "stop"


def test_a_wait_between_attempts_ends_with_stop():
    """Whoever presses Stop while a retry is waited for does not wait for it."""
    watch = CancellationToken()
    thread = _cancelled(watch)
    with pytest.raises(Cancelled):
        watch.sleep(LONG)
    thread.join()


def test_a_wait_for_a_silent_model_ends_with_stop():
    """Whoever presses Stop while the model says nothing does not wait for it."""
    watch = CancellationToken()
    thread = _cancelled(watch, "shutdown")
    with pytest.raises(Cancelled) as caught:
        watch.wait_for(lambda: False)
    thread.join()
    assert caught.value.reason == "shutdown"


def test_a_wait_ends_when_it_is_over_or_the_time_is():
    """What is there is taken at once, also by a thread that waits already; without it, the limit of
    the wait holds."""
    watch = CancellationToken()
    arrived = []
    assert not watch.wait_for(lambda: bool(arrived), 0.01)

    def arrive():
        arrived.append("word")
        watch.notify()

    thread = threading.Thread(target=arrive)
    thread.start()
    assert watch.wait_for(lambda: bool(arrived), LONG)
    thread.join()
    assert watch.wait_for(lambda: bool(arrived), 0)


def test_the_time_of_a_run_ends_it():
    """A turn takes no longer than one may, wherever it is."""
    watch = CancellationToken()
    watch.limit(0.02)
    watch.limit(LONG)
    with pytest.raises(Cancelled) as caught:
        watch.sleep(LONG)
    assert caught.value.reason == "time"


def test_everything_that_it_is_told_to_heed_counts():
    """A pass within a run hears of the run's end and of a pause alike."""
    ends: dict[str, str | None] = {"run": None, "pause": None}
    watch = CancellationToken()
    watch.add_check(lambda: ends["run"])
    watch.add_check(lambda: ends["pause"])
    watch.check()
    ends["run"] = "shutdown"
    watch.add_check(lambda: None)
    with pytest.raises(Cancelled) as caught:
        watch.check()
    assert caught.value.reason == "shutdown"


def test_what_it_is_told_to_heed_ends_it_while_it_waits(monkeypatch):
    """A switch that somebody flips elsewhere is heard of in the middle of a silent wait."""
    monkeypatch.setattr("jenny.agent.cancellation.CHECK_SECONDS", 0.01)
    flipped = threading.Event()
    watch = CancellationToken()
    watch.add_check(lambda: "paused" if flipped.is_set() else None)
    watch.check()
    assert watch.wait_for(lambda: False, 0.05) is False
    timer = threading.Timer(0.05, flipped.set)
    timer.start()
    with pytest.raises(Cancelled) as caught:
        watch.wait_for(lambda: False, LONG)
    timer.join()
    assert caught.value.reason == "paused"
    assert watch.reason == "paused"
