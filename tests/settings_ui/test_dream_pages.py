"""Differences and words of the Memory pages, as values."""

import datetime as dt
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from jenny.accounts.templatetags.humanise import moment
from jenny.workspace import diffs
from jenny.workspace.diffs import MOST_LINES, difference, read_unified
from memory.dream.values import Status, VerdictKind
from settings_ui import dream_pages
from settings_ui.dream_pages import run_number

OLD = "".join(f"- line {at}\n" for at in range(1, 13)).encode()
NEW = OLD.replace(b"- line 6\n", b"- line six\n- line six and a half\n")


def marks(found) -> list[tuple[str, str, int | None]]:
    """The lines that changed, with where they stand."""
    return [(row.kind, row.text, row.number) for row in found.lines if row.kind != "same"]


def test_what_went_stands_before_what_came():
    """With its place before, and the new lines with theirs; far lines are left out."""
    found = difference(OLD, NEW)
    assert marks(found) == [
        ("gap", "", None),
        ("went", "- line 6", 6),
        ("came", "- line six", 6),
        ("came", "- line six and a half", 7),
        ("gap", "", None),
    ]
    assert [row.number for row in found.lines if row.kind == "same"] == [3, 4, 5, 8, 9, 10]


def test_a_file_that_is_new_gone_or_no_text():
    """Each is told as what it is."""
    assert [row.kind for row in difference(None, b"- a\n").lines] == ["came"]
    assert [row.kind for row in difference(b"- a\n", None).lines] == ["went"]
    assert not difference(b"\xff\xfe", b"- a\n").is_text
    assert difference(OLD, OLD).lines == ()


def test_a_very_long_difference_is_cut_and_says_so():
    """What is not shown is counted."""
    found = difference(None, b"- x\n" * (MOST_LINES + 7))
    assert (len(found.lines), found.left_out) == (MOST_LINES, 7)


def test_a_unified_difference_says_the_same():
    """What was written down as a text is read back line by line, with the same places."""
    read = read_unified(diffs.unified("USER.md", OLD, NEW))
    changed = [row for row in marks(read) if row[0] != "gap"]
    assert changed == [row for row in marks(difference(OLD, NEW)) if row[0] != "gap"]
    assert read_unified("binary or not UTF-8: no lines are shown\n").lines == ()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("dream:12", 12),
        ("dream:12:review", 12),
        ("turn:12", None),
        ("dream:", None),
        ("dream:x12", None),
        ("", None),
    ],
)
def test_runs_are_known_by_their_names(name, number):
    """Only a run of Dream has a page."""
    assert run_number(name) == number


def test_every_outcome_and_verdict_has_a_name():
    """None is shown by the name that the code has for it."""
    assert set(get_args(Status.__value__)) <= dream_pages.STATUS.keys()
    assert set(get_args(VerdictKind.__value__)) <= dream_pages.VERDICT.keys()
    assert dream_pages.status("something_new").text == "Something new"
    assert dream_pages.status("waiting", still_waits=False).text == "Decided by you"


def test_times_are_told_by_the_day_in_the_persons_zone(monkeypatch):
    """Near days in words, others with their date, those of another year with it."""
    zone = ZoneInfo("Pacific/Auckland")
    noon = dt.datetime(2026, 11, 30, 12, 5, tzinfo=zone)
    monkeypatch.setattr(timezone, "now", lambda: noon.astimezone(dt.UTC))
    day = dt.timedelta(days=1)
    with timezone.override(zone):
        assert moment(noon.astimezone(dt.UTC)) == "today, 12:05"
        assert moment(noon - day) == "yesterday, 12:05"
        assert moment(noon + day) == "tomorrow, 12:05"
        assert moment(noon - 3 * day) == "Fri 27 November, 12:05"
        assert moment(dt.datetime(2020, 8, 3, 14, 5, tzinfo=zone)) == "3 August 2020, 14:05"
        assert moment(None) == ""
