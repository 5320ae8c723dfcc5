"""When parts were up, and plots."""

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from settings_ui import plots
from settings_ui.plots import TimeSpan, _merge_spans, availability_line
from settings_ui.views import system

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
GAP = dt.timedelta(seconds=150)


def ago(**length: float) -> dt.datetime:
    """That long before now."""
    return NOW - dt.timedelta(**length)


def test_a_part_that_was_always_up_has_no_gap() -> None:
    """Also when it began before what is shown."""
    found = availability_line("Web server", [("a", ago(days=20), ago(seconds=30))], NOW, GAP)
    assert found.is_up
    assert found.gaps == ()
    assert found.message == "Up now, without a gap."
    assert [(bar.x, bar.width) for bar in found.bars] == [(0.0, plots.WIDTH)]


def test_a_gap_is_shown_with_its_length() -> None:
    """The newest first."""
    spans = [
        ("a", ago(days=3), ago(days=2)),
        ("a", ago(days=1), ago(hours=5)),
        ("a", ago(hours=4), ago(seconds=10)),
    ]
    found = availability_line("Web server", spans, NOW, GAP)
    assert [gap.length for gap in found.gaps] == ["1 h", "1 day"]
    assert found.message == "Up now; 2 gaps, 1 day 1 h in all."


def test_one_host_stands_in_for_the_other() -> None:
    """Up is up on any host; both are named while both are there."""
    spans = [("a", ago(days=2), ago(hours=1)), ("b", ago(days=1), ago(seconds=5))]
    found = availability_line("Worker", spans, NOW, GAP)
    assert found.gaps == ()
    assert found.hosts == ("b",)
    both = availability_line("Worker", [*spans, ("a", ago(minutes=30), NOW)], NOW, GAP)
    assert both.hosts == ("a", "b")


def test_what_is_down_now_is_said() -> None:
    """The last gap is still open."""
    found = availability_line("Scheduler", [("a", ago(days=1), ago(hours=2))], NOW, GAP)
    assert not found.is_up
    assert found.message == "Not up now; one gap, 2 h in all."


def test_what_was_never_seen_has_no_gap() -> None:
    """A fresh instance has been down for no fortnight."""
    assert availability_line("Scheduler", [], NOW, GAP).message == "It has not been seen yet."
    old = availability_line("Scheduler", [("a", ago(days=30), ago(days=20))], NOW, GAP)
    assert old.known_from is None


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 500)), max_size=30))
def test_merging_loses_no_minute(rows: list[tuple[int, int]]) -> None:
    """Whatever the order: in order, apart by more than a gap, and every span lies in one."""
    spans = [TimeSpan(ago(minutes=a + b), ago(minutes=a)) for a, b in rows]
    found = _merge_spans(spans, GAP)
    for one, other in pairwise(found):
        assert other.start - one.end > GAP
    for span in spans:
        assert any(one.start <= span.start and span.end <= one.end for one in found)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "1 minute"), (170, "3 minutes"), (7500, "2 h 5 min"), (90_000, "1 day 1 h")],
)
def test_lengths_are_told_in_words(seconds: float, words: str) -> None:
    """Without seconds, which nobody needs here."""
    assert plots.duration_in_words(seconds) == words


@pytest.mark.parametrize(("value", "top"), [(0, 1), (0.03, 0.05), (1, 1), (17, 20), (2001, 5000)])
def test_a_scale_can_be_read(value: float, top: float) -> None:
    """It ends with 1, 2 or 5 and noughts, and holds the highest bar."""
    day = dt.date(2026, 1, 1)
    plot = plots.stacked([day], {"Chat": {day: value}})
    assert plot.top == pytest.approx(top)
    assert all(bar.y >= 0 and bar.y + bar.height <= plots.HEIGHT + 0.01 for bar in plot.bars)


def test_bars_stand_one_upon_the_other() -> None:
    """Each day's lie at its place and add up; more kinds than colours share the last."""
    days = [dt.date(2026, 1, day) for day in (1, 2)]
    series = {f"kind {n}": {days[0]: 10, days[1]: 0} for n in range(8)}
    plot = plots.stacked(days, series)
    assert len(plot.bars) == 8
    assert max(bar.series for bar in plot.bars) == plots.SERIES
    assert {bar.x for bar in plot.bars} == {plot.bars[0].x}
    assert sum(bar.height for bar in plot.bars) == pytest.approx(80 / plot.top * plots.HEIGHT, 0.01)


def test_room_is_measured_without_following_links(tmp_path) -> None:
    """A link out counts as a link, what is not there as nothing, and too much is said."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 1000)
    (tmp_path / "out").symlink_to("/usr")
    found = system.disk_part("x", "", [tmp_path, tmp_path / "missing"])
    assert 1000 <= found.size < 2000
    assert not found.is_more
    assert system.disk_part("x", "", [tmp_path], most=2).is_more
