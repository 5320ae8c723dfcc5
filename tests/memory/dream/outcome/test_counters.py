"""What is counted from run to run, and at four the alarm."""

import json

import pytest

from jenny.workspace.write_rules import Actor
from memory.dream import outcome
from memory.dream.outcome import Counters

ZEROS = Counters()


def count(before, progress, *, is_empty=None, gave_up=False):
    """The counts after a run."""
    return outcome.count_run(before, progress, is_empty=is_empty, gave_up=gave_up)


def test_each_course_counts_as_it_should():
    """Runs always; stuck on staying, none on advancing, unchanged without history and on faults;
    faults in a row until something else."""
    one = Counters(runs_since_review=3, stuck_runs=2, forced_at_stuck=2, failures=1, empty_runs=1)
    assert count(one, "advanced", is_empty=False) == Counters(4)
    assert count(one, "stayed", is_empty=True) == Counters(4, 3, 2, 0, 2)
    assert count(one, "nothing") == Counters(4, 2, 2, 0, 1)
    assert count(one, "fault", is_empty=True) == Counters(4, 2, 2, 2, 1)
    assert count(one, "stayed", gave_up=True) == Counters(4, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("progress", "kind", "is_empty"),
    [
        ("stayed", "stuck_runs", None),
        ("fault", "failures", None),
        ("advanced", "empty_runs", True),
    ],
)
def test_the_alarm_comes_at_four(progress, kind, is_empty):
    """Once, at the fourth in a row, with the cause when it is known; it stands until the count
    falls."""
    now = ZEROS
    raised = []
    for _ in range(5):
        raised += outcome.raise_alarms(now, progress, is_empty=is_empty, cause="The disk is full.")
        now = count(now, progress, is_empty=is_empty)
    assert [(alarm.kind, alarm.count) for alarm in raised] == [(kind, 4)]
    assert raised[0].message.endswith("The disk is full.")
    assert [alarm.kind for alarm in outcome.standing_alarms(now)] == [kind]
    better = count(now, "advanced", is_empty=False)
    assert outcome.standing_alarms(better) == ()


def test_what_is_given_up_at_four_raised_it():
    """The alarm fires although the run has moved on by giving up."""
    three = Counters(stuck_runs=3)
    assert outcome.raise_alarms(three, "stayed", is_empty=None, cause="")[0].kind == "stuck_runs"
    assert count(three, "stayed", gave_up=True).stuck_runs == 0


def test_nothing_is_given_up_without_an_alarm():
    """Faults and refusals in turn bring no count to four; the fourth time is told of all the
    same, and once."""
    mixed = Counters(stuck_runs=1)
    (alarm,) = outcome.raise_alarms(mixed, "stayed", is_empty=None, cause="Refused.", gave_up=True)
    assert alarm.kind == "gave_up"
    assert alarm.message.endswith("Refused.")
    three = Counters(stuck_runs=3)
    (alarm,) = outcome.raise_alarms(three, "stayed", is_empty=None, cause="", gave_up=True)
    assert alarm.kind == "stuck_runs"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b'{"stuck_runs": -1, "failures": true, "empty_runs": 1.5}'],
)
def test_what_cannot_be_read_counts_as_zeros(tmp_path, data):
    """A damaged file stops nothing; what is written afterwards is whole."""
    root = tmp_path
    path = root / outcome.COUNTERS_PATH
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    assert outcome.load_counters(root) == ZEROS
    outcome.store_counters(root, Counters(1, 2, 3, 4, 5), Actor("pipeline", run="dream:1"))
    assert outcome.load_counters(root) == Counters(1, 2, 3, 4, 5)
    assert json.loads(path.read_text())["stuck_runs"] == 2
