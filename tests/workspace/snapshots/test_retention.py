"""Which snapshots are kept, by a clock that stands still."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.workspace.retention import NEWEST_SNAPSHOTS as NEWEST
from jenny.workspace.retention import SNAPSHOT_HORIZONS as HORIZONS
from jenny.workspace.snapshots.retention import keeps_shorter, plan_retention
from jenny.workspace.snapshots.values import Changes, Plan, Snapshot

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def shots(*ages: timedelta) -> list[Snapshot]:
    """Snapshots of these ages, oldest first."""
    return [
        Snapshot(
            id=f"{number}-{number:08x}",
            number=number,
            when=NOW - age,
            trigger="auto",
            label="",
            files=1,
            size=1,
            skipped=0,
            before=None,
            changes=Changes(),
            tree="0" * 40,
            commit=f"{number:08x}" + "0" * 32,
        )
        for number, age in enumerate(sorted(ages, reverse=True), start=1)
    ]


def planned(rows: list[Snapshot], keep_for: str = "forever", **options) -> Plan:
    """The plan at the tests' time."""
    return plan_retention(rows, keep_for, **{"now": NOW, "zone": UTC, **options})


def each(days: range) -> list[timedelta]:
    """An age for each number of days."""
    return [timedelta(days=number) for number in days]


def test_the_newest_twenty_stay_always():
    """However old they are, and whatever the horizon, the newest 20 are kept."""
    rows = shots(*each(range(1000, 1020)))
    assert planned(rows, "week").goes == ()
    rows = shots(*each(range(1000, 1025)))
    assert [shot.number for shot in planned(rows, "week").goes] == [1, 2, 3, 4, 5]


def test_thirty_days_everything_then_one_a_day():
    """Within 30 days nothing is thinned; before that the last of each day stands for it."""
    noon = timedelta(days=40)
    hours = [noon + timedelta(hours=number) for number in range(-5, 6)]
    recent = [timedelta(days=29, hours=number) for number in range(10)]
    rows = shots(*hours, *recent, *each(range(20)))
    found = planned(rows)
    assert found.expired == ()
    thinned = {shot.number for shot in found.thinned}
    assert thinned == set(range(1, 11))  # 11 is that day's last


def test_days_are_those_of_the_workspace():
    """What is one day depends on where the user lives."""
    late = datetime(2026, 1, 10, 23, 30, tzinfo=UTC)
    rows = shots(NOW - late, NOW - late + timedelta(hours=1), *each(range(20)))
    assert len(planned(rows).thinned) == 1
    rows = shots(NOW - late, NOW - late - timedelta(hours=1), *each(range(20)))
    assert len(planned(rows).thinned) == 0
    assert len(planned(rows, zone=ZoneInfo("Europe/Prague")).thinned) == 1


@pytest.mark.parametrize(("keep_for", "days"), [("week", 7), ("month", 31), ("year", 366)])
def test_the_horizon(keep_for, days):
    """Beyond the horizon all go but the newest 20; on its very day they stay."""
    recent = [timedelta(hours=number) for number in range(20)]
    rows = shots(timedelta(days=days), timedelta(days=days, seconds=1), *recent)
    assert [shot.number for shot in planned(rows, keep_for).expired] == [1]


def test_pinned_ones_stay():
    """A snapshot that is being restored is not in the plan."""
    rows = shots(*each(range(1000, 1025)))
    found = planned(rows, "week", pinned=[rows[2].commit])
    assert [shot.number for shot in found.goes] == [1, 2, 4, 5]


def test_the_plan_says_what_goes():
    """Before anything is deleted, the sentence says how many go and why."""
    rows = shots(*each(range(1000, 1025)))
    assert planned(rows, "month").message == (
        "To be deleted: 5 snapshots from before the horizon (2023-05-12 to 2023-05-16). "
        "20 snapshots stay."
    )
    assert planned(rows).message == "Nothing is to be deleted; 25 snapshots stay."
    same_day = shots(*[timedelta(days=50, minutes=number) for number in range(3)], *each(range(20)))
    assert planned(same_day).message == (
        "To be deleted: 2 snapshots of days older than 30 days, of which the last one stays. "
        "21 snapshots stay."
    )


def test_shorter():
    """A horizon is shorter than another when it deletes more."""
    order = ["week", "month", "year", "forever"]
    assert list(HORIZONS) == order
    for index, one in enumerate(order):
        for other in order:
            assert keeps_shorter(one, other) == (index < order.index(other))


AGES = st.lists(st.integers(-10_000, 800 * 86_400), max_size=120)


@given(AGES, st.sampled_from(list(HORIZONS)), st.integers(-12, 14))
def test_rules_hold_for_any_history(ages, keep_for, hours):
    """For any times, zones and horizons: the newest 20 stay, each old day within the horizon keeps
    its last one, nothing younger than 30 days is thinned, nothing beyond the horizon stays."""
    zone = timezone(timedelta(hours=hours))
    rows = shots(*[timedelta(seconds=age) for age in ages])
    found = planned(rows, keep_for, zone=zone)
    goes = {shot.id for shot in found.goes}
    stays = [shot for shot in rows if shot.id not in goes]
    assert found.kept == len(stays)
    assert len(goes) == len(found.thinned) + len(found.expired)
    assert {shot.id for shot in rows[-NEWEST:]} <= {shot.id for shot in stays}
    horizon = HORIZONS[keep_for]
    for shot in rows[:-NEWEST]:
        age = NOW - shot.when
        if horizon is not None and age > horizon:
            assert shot.id in goes
        elif age <= timedelta(days=30):
            assert shot.id not in goes

    def day(shot: Snapshot) -> date:
        return shot.when.astimezone(zone).date()

    inside = [shot for shot in rows if horizon is None or NOW - shot.when <= horizon]
    assert {day(shot) for shot in inside} <= {day(shot) for shot in stays}
    old = [shot for shot in stays if shot not in rows[-NEWEST:]]
    old = [shot for shot in old if NOW - shot.when > timedelta(days=30)]
    assert len({day(shot) for shot in old}) == len(old)


@given(AGES, st.sampled_from(list(HORIZONS)), st.integers(0, 400))
def test_pruning_often_or_once_is_the_same(ages, keep_for, later):
    """Pruning in between deletes nothing that pruning later alone would have kept, the newest 20
    of each time apart."""
    rows = shots(*[timedelta(seconds=age) for age in ages])
    after = NOW + timedelta(days=later)
    first = {shot.id for shot in planned(rows, keep_for).goes}
    left = [shot for shot in rows if shot.id not in first]
    twice = first | {shot.id for shot in planned(left, keep_for, now=after).goes}
    once = {shot.id for shot in planned(rows, keep_for, now=after).goes}
    assert twice == once
