"""When a snapshot is due, by a clock that is moved by hand."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from jenny.workspace.snapshots.create import Activity, note_snapshot, read_activity
from tests.workspace.snapshots.conftest import START

FIVE = timedelta(minutes=5)


def test_ten_quiet_minutes():
    """A change is saved ten minutes after it was seen, unless there are more: then ten minutes
    after the last one."""
    seen = note_snapshot(Activity(), "a", START)
    now = START + FIVE
    seen, due = read_activity(seen, "b", now)
    assert due is None
    seen, due = read_activity(seen, "b", now + FIVE)
    assert due is None
    seen, due = read_activity(seen, "c", now + 2 * FIVE)
    assert due is None
    seen, due = read_activity(seen, "c", now + 3 * FIVE)
    assert due is None
    seen, due = read_activity(seen, "c", now + 4 * FIVE)
    assert due == "auto"
    # It stays due until it is taken.
    seen, due = read_activity(seen, "c", now + 5 * FIVE)
    assert due == "auto"
    seen, due = read_activity(note_snapshot(seen, "c", now + 5 * FIVE), "c", now + 6 * FIVE)
    assert due is None


def test_once_a_day():
    """Without a change, and without a quiet moment, there is a look at everything once a day."""
    seen = note_snapshot(Activity(), "a", START)
    assert read_activity(seen, "a", START + timedelta(hours=23, minutes=59))[1] is None
    assert read_activity(seen, "a", START + timedelta(hours=24))[1] == "daily"
    now, due = START, None
    while due is None:
        now += FIVE
        seen, due = read_activity(seen, str(now), now)
    assert (due, now - START) == ("daily", timedelta(hours=24))


def test_a_new_workspace_is_saved_at_once():
    """The first look takes the first snapshot."""
    assert read_activity(Activity(), "a", START)[1] == "daily"


def test_a_change_during_a_snapshot_is_seen():
    """What changed while a snapshot was taken starts ten quiet minutes of its own."""
    seen = note_snapshot(Activity(), "before", START)
    seen, due = read_activity(seen, "after", START + FIVE)
    assert (seen.changed_at, due) == (START + FIVE, None)


def test_a_clock_put_back_delays_nothing_for_long():
    """After the clock was put back by a year, a change still waits for ten minutes only."""
    seen, _ = read_activity(note_snapshot(Activity(), "a", START), "b", START + FIVE)
    back = START - timedelta(days=365)
    seen, due = read_activity(seen, "b", back)
    assert due == "daily"
    seen, due = read_activity(seen, "b", back + 2 * FIVE)
    assert due == "auto"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 600)), min_size=1))
def test_no_change_waits_for_ever(steps):
    """Whatever happens: a change that is left alone is due within ten minutes of looks, and
    nothing is due twice for one."""
    seen, now = note_snapshot(Activity(), "a", START), START
    for fingerprint, minutes in steps:
        now += timedelta(minutes=minutes)
        seen, due = read_activity(seen, fingerprint, now)
        if due:
            seen = note_snapshot(seen, fingerprint, now)
            assert read_activity(seen, fingerprint, now) == (seen, None)
    last, held = steps[-1][0], seen.changed_at is not None
    _, due = read_activity(seen, last, now + timedelta(minutes=10))
    assert (due == "auto") == held
