"""When Dream runs by itself."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from jenny.accounts.models import Account, Workspace
from jenny.workspace import config
from jenny.workspace.check import check_workspace
from jenny.workspace.config.kinds import cron_occurrences
from memory.models import DreamRun, DreamSchedule
from memory.services import dream_scheduler
from memory.services.dream_scheduler import Timing
from tests.support.stack import PASSWORD

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
EVERY_TWO = Timing(is_on=True, interval_h=2, cron="", zone="UTC")
HOUR = timedelta(hours=1)


def cron(expression: str, zone: str = "UTC") -> Timing:
    """A timing by expression."""
    return Timing(is_on=True, interval_h=2, cron=expression, zone=zone)


def times(expression: str, zone: str, after: datetime, count: int) -> list[str]:
    """The next times as the clocks of that zone show them."""
    found = islice(cron_occurrences(expression, zone, after), count)
    return [moment.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M") for moment in found]


@pytest.mark.parametrize(
    ("expression", "zone", "expected"),
    [
        ("0 11 * * *", "America/New_York", ["11-30 11:00", "12-01 11:00"]),
        ("*/20 * * * *", "UTC", ["11-30 10:20", "11-30 10:40"]),
        ("30 6 * * mon-fri", "UTC", ["12-01 06:30", "12-02 06:30"]),
        ("0 0 1 jan *", "UTC", ["01-01 00:00", "01-01 00:00"]),
        ("0 9 13 * fri", "UTC", ["12-04 09:00", "12-11 09:00"]),
        ("0 9 * * 7", "UTC", ["12-06 09:00", "12-13 09:00"]),
        ("0 0 29 2 *", "UTC", ["02-29 00:00", "02-29 00:00"]),
        ("5/15 10 * * *", "UTC", ["11-30 10:05", "11-30 10:20"]),
        ("0 9 * * fri-mon", "UTC", ["12-04 09:00", "12-05 09:00"]),
        ("0 22-1 * * *", "UTC", ["11-30 22:00", "11-30 23:00"]),
        ("0 9 */2 * mon", "UTC", ["12-07 09:00", "12-21 09:00"]),
        ("@daily", "Asia/Tokyo", ["12-01 00:00", "12-02 00:00"]),
        ("0 0 30 2 *", "UTC", []),
    ],
)
def test_an_expression_means_local_times(expression: str, zone: str, expected: list[str]) -> None:
    """In the workspace's zone, both kinds of day as cron has them."""
    assert times(expression, zone, NOW, 2) == expected


def test_a_daily_time_comes_once_a_day_over_both_changes_of_clocks() -> None:
    """Spring forward: 02:30 does not exist and comes an hour later; fall back: it counts once."""
    spring = datetime(2026, 3, 27, 12, tzinfo=UTC)
    assert times("30 2 * * *", "Europe/Berlin", spring, 4) == [
        "03-28 02:30",
        "03-29 03:30",
        "03-30 02:30",
        "03-31 02:30",
    ]
    autumn = datetime(2026, 10, 23, 12, tzinfo=UTC)
    found = list(islice(cron_occurrences("30 2 * * *", "Europe/Berlin", autumn), 4))
    days = [moment.astimezone(ZoneInfo("Europe/Berlin")).date() for moment in found]
    assert len(set(days)) == 4
    hourly = list(
        islice(cron_occurrences("0,30 * * * *", "Europe/Berlin", spring + timedelta(days=1)), 60)
    )
    assert hourly == sorted(set(hourly))


def test_an_expression_that_never_comes_is_a_problem_everywhere(workspace: Workspace) -> None:
    """Written to the file by hand, it counts as none, the interval stays, and the check says so."""
    values = {"agents": {"defaults": {"dream": {"cron": "0 0 30 2 *"}}}}
    (workspace.root / "config.json").write_text(json.dumps(values))
    found = config.load_config(workspace.root)
    assert "no day in the next years" in str(found.problems)
    assert (
        dream_scheduler.next_deadline(dream_scheduler.parse_timing(found, "UTC"), NOW)
        == NOW + 2 * HOUR
    )
    told = [finding.message for finding in check_workspace(workspace.root)]
    assert any("no day in the next years" in message for message in told), told


def test_an_interval_knows_no_clocks() -> None:
    """Two hours are two hours, also in the night of a change."""
    night = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert dream_scheduler.next_deadline(EVERY_TWO, night) == night + 2 * HOUR


def test_a_change_of_settings_starts_nothing() -> None:
    """Whatever is changed, the new deadline lies ahead; what means the same moves nothing."""
    off = Timing(is_on=False, interval_h=2, cron="", zone="UTC")
    due = NOW + HOUR
    three = Timing(is_on=True, interval_h=3, cron="", zone="UTC")
    one = Timing(is_on=True, interval_h=1, cron="", zone="UTC")
    assert dream_scheduler.adapt_deadline(EVERY_TWO, three, due, NOW) == NOW + 2 * HOUR
    assert dream_scheduler.adapt_deadline(EVERY_TWO, one, due, NOW) == NOW + HOUR
    assert dream_scheduler.adapt_deadline(EVERY_TWO, off, due, NOW) is None
    assert dream_scheduler.adapt_deadline(off, EVERY_TWO, None, NOW + 5 * HOUR) == NOW + 7 * HOUR
    assert (
        dream_scheduler.adapt_deadline(EVERY_TWO, Timing(True, 2, "", "Asia/Tokyo"), due, NOW)
        == due
    )
    daily = cron("0 11 * * *", "America/New_York")
    assert dream_scheduler.adapt_deadline(EVERY_TWO, daily, due, NOW) == datetime(
        2026, 11, 30, 16, tzinfo=UTC
    )
    moved = dream_scheduler.adapt_deadline(daily, cron("0 11 * * *", "Asia/Tokyo"), due, NOW)
    assert moved == datetime(2026, 12, 1, 2, tzinfo=UTC)


@pytest.fixture
def workspace(db: None) -> Workspace:
    """A workspace with its folder."""
    account = Account.objects.make_owner("ana", PASSWORD, "UTC")
    assert account.current_workspace is not None
    account.current_workspace.make_folder()
    return account.current_workspace


def set_values(root: Path, **values: object) -> None:
    """Change Dream's settings, as a page does."""

    def mutate(data: config.Raw) -> None:
        part = data.setdefault("agents", {}).setdefault("defaults", {}).setdefault("dream", {})
        part.update(values)

    config.change_config(root, mutate)


def run_at(moment: datetime) -> int:
    """One look of the dispatcher; how many runs it began. They are over at once."""
    started: list[int] = []
    count = dream_scheduler.start_due_runs(started.append, moment)
    assert len(started) == count
    DreamRun.objects.update(state=DreamRun.State.ENDED, status="nothing_pending")
    return count


@pytest.mark.django_db
def test_the_deadline_outlives_restarts(workspace: Workspace) -> None:
    """A scheduler that starts anew every half hour keeps to two hours: the row knows."""
    dream_scheduler.keep_schedule(workspace, NOW)
    begun = [
        NOW + timedelta(minutes=minutes)
        for minutes in range(0, 5 * 60 + 1, 30)
        if run_at(NOW + timedelta(minutes=minutes))
    ]
    assert begun == [NOW + 2 * HOUR, NOW + 4 * HOUR]


@pytest.mark.django_db
def test_what_was_missed_is_caught_up_once(workspace: Workspace) -> None:
    """After five hours down: one run, the next a full interval later."""
    dream_scheduler.keep_schedule(workspace, NOW)
    assert run_at(NOW + 5 * HOUR) == 1
    assert run_at(NOW + 5 * HOUR + timedelta(minutes=1)) == 0
    assert run_at(NOW + 6 * HOUR) == 0
    assert run_at(NOW + 7 * HOUR) == 1


@pytest.mark.django_db
def test_switching_off_and_on_starts_nothing(workspace: Workspace) -> None:
    """Off for five hours, then on: the next run is a full interval away."""
    dream_scheduler.keep_schedule(workspace, NOW)
    set_values(workspace.root, enabled=False)
    dream_scheduler.keep_schedule(workspace, NOW)
    assert run_at(NOW + 5 * HOUR) == 0
    set_values(workspace.root, enabled=True)
    dream_scheduler.keep_schedule(workspace, NOW + 5 * HOUR)
    assert run_at(NOW + 5 * HOUR + timedelta(minutes=1)) == 0
    assert run_at(NOW + 7 * HOUR) == 1


@pytest.mark.django_db
def test_a_switch_in_the_file_counts_when_the_time_comes(workspace: Workspace) -> None:
    """The file is read at the deadline, whoever edited it, without anybody having looked."""
    dream_scheduler.keep_schedule(workspace, NOW)
    set_values(workspace.root, enabled=False)
    assert run_at(NOW + 2 * HOUR) == 0
    assert DreamSchedule.objects.get().next_dream_at is None


@pytest.mark.django_db
def test_a_broken_workspace_holds_up_nobody(workspace: Workspace) -> None:
    """One whose folder is gone is tried again later; the others run."""
    other = Workspace.make(workspace.owner, "other")
    other.make_folder()
    dream_scheduler.keep_schedule(workspace, NOW)
    dream_scheduler.keep_schedule(other, NOW)
    (workspace.root).rename(workspace.root.with_name("moved"))
    assert run_at(NOW + 3 * HOUR) == 1
    assert DreamRun.objects.get().workspace == other
    assert DreamRun.objects.get().trigger == "scheduled"


@pytest.mark.django_db
def test_ten_thousand_workspaces_cost_one_query(
    workspace: Workspace, django_assert_num_queries
) -> None:
    """While nobody is due."""
    rows = [
        Workspace(owner=workspace.owner, slug=f"many-{number}", name="many")
        for number in range(10_000)
    ]
    Workspace.objects.bulk_create(rows)
    DreamSchedule.objects.bulk_create(
        DreamSchedule(workspace=row, next_dream_at=NOW + HOUR) for row in rows
    )
    with django_assert_num_queries(1) as seen:
        assert run_at_nothing() == 0
    query = seen.captured_queries[0]["sql"]
    assert "next_dream_at" in query
    plan = steps_of(query)
    assert any("memory_dreamschedule" in step and "INDEX" in step for step in plan), plan
    assert not any("SCAN" in step for step in plan), plan


def steps_of(query: str) -> list[str]:
    """How the database goes about a query."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query}")
        return [row[-1].replace("SCAN CONSTANT ROW", "") for row in cursor.fetchall()]


def run_at_nothing() -> int:
    """A look that finds nothing due."""
    return dream_scheduler.start_due_runs(lambda _run: None, NOW)
