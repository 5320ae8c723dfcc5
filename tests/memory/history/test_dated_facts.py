"""Dated facts stay before every chat until their day is over."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from jenny.workspace import config
from jenny.workspace.files import Actor
from memory import notes
from memory.errors import NotRemembered
from memory.history import cursors, dated_facts, log
from memory.history.entries import NewHistoryEntry
from tests.memory.history.conftest import line

BILL = "- [dated 2026-12-04] The phone bill is due on Friday 4 December 2026."


def shown(root: Path, when: str, zone: str = "Europe/Prague") -> str:
    """The block's text at a local time; nothing when there is none."""
    config.change_config(root, lambda raw: raw.update(agents={"defaults": {"timezone": zone}}))
    now = dt.datetime.fromisoformat(when).replace(tzinfo=ZoneInfo(zone))
    block = dated_facts.block(root, now=now)
    return block.text if block else ""


@pytest.mark.parametrize("zone", ["Europe/Prague", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_a_bill_is_shown_until_its_day_is_over(root: Path, zone: str) -> None:
    """Said three days before, whether Dream has read it or not, to the last minute of Friday."""
    log.append(root, [NewHistoryEntry(BILL)])
    for read_to in (0, 1):
        cursors.set_dream_cursor(root, read_to, Actor("pipeline"))
        for when in ("2026-12-01T09:00", "2026-12-04T00:00", "2026-12-04T23:59"):
            assert "The phone bill is due" in shown(root, when, zone)
        assert "Friday 2026-12-04" in shown(root, "2026-12-01T09:00", zone)
        assert shown(root, "2026-12-05T00:00", zone) == ""


def test_the_days_on_which_clocks_change_end_at_midnight(root: Path) -> None:
    """A day of 23 or of 25 hours is a day."""
    log.append(
        root,
        [NewHistoryEntry("- [dated 2026-10-25] Autumn.\n- [dated 2027-03-28] Spring comes then.")],
    )
    assert "Autumn." in shown(root, "2026-10-25T23:59")
    assert "Autumn." not in shown(root, "2026-10-26T00:00")
    assert "Spring" in shown(root, "2027-03-28T23:59")
    assert shown(root, "2027-03-29T00:00") == ""


@pytest.mark.parametrize(
    "fact",
    [
        "- [dated 2026-12-04 15:00] Zahnarzttermin am Freitag, 4. Dezember 2026, um 15 Uhr.",
        "- [dated 2026-12-02 to 2026-12-04] Besuch der Schwester.",
        "- [permanent, dated 2026-12-04] 友人の結婚式は2026年12月4日。",
        "- [ephemeral] Die Telefonrechnung ist am 4. Dezember 2026 fällig.",
        "- [ephemeral] 電気代の支払いは2026年12月4日まで。",
        "- [correction, dated 2026-12-04] The party is on 4 December 2026.",
    ],
)
def test_whatever_names_the_day(root: Path, history: Path, fact: str) -> None:
    """In any language: with a time, over several days, beside another tag, and passing facts that
    only name a day in their words."""
    history.write_bytes(line(1, fact, timestamp="2026-12-01 10:00"))
    text = fact.partition("] ")[2]
    assert text in shown(root, "2026-12-04T23:00")
    assert shown(root, "2026-12-05T00:30") == ""


@pytest.mark.parametrize(
    "correction",
    [
        "- [correction, dated 2026-12-11] The phone bill is due on Friday 11 December 2026.",
        "- [correction] The phone bill of 4 December 2026 is paid.",
    ],
)
def test_a_later_correction_takes_its_place(root: Path, correction: str) -> None:
    """And one about something else does not."""
    other = "- [correction] The user lives in Graz, no longer in Brno."
    log.append(root, [NewHistoryEntry(BILL), NewHistoryEntry(other)])
    assert "4 December 2026" in shown(root, "2026-12-01T09:00")
    log.append(root, [NewHistoryEntry(correction)])
    assert "due on Friday 4 December" not in shown(root, "2026-12-01T09:00")


def test_facts_in_the_monthly_segments_are_found(root: Path, history: Path) -> None:
    """What was said long before, and has left the history since."""
    folder = root / "memory" / "archive"
    folder.mkdir()
    (folder / "history-2026-01.jsonl").write_bytes(line(1, BILL))
    history.write_bytes(line(2, "- [durable] Drinks tea."))
    assert "phone bill" in shown(root, "2026-12-01T09:00")


def test_the_nearest_come_first_and_there_is_a_bound(root: Path) -> None:
    """The text says that more lies further ahead."""
    rows = [f"- [dated {2200 - year}-05-01] Review of the year {year}." for year in range(100)]
    log.append(
        root,
        [NewHistoryEntry("\n".join(rows[:60])), NewHistoryEntry("\n".join([*rows[60:], BILL]))],
    )
    text = shown(root, "2026-12-01T09:00")
    assert text.index("phone bill") < text.index("the year 99.")
    assert text.count("\n- ") <= dated_facts.MAX_FACTS
    assert "More of them lie further ahead" in text


def test_what_is_forgotten_is_not_shown(root: Path) -> None:
    """Whatever day it is about."""
    from memory import suppression, write_rules

    write_rules.install()
    log.append(root, [NewHistoryEntry(BILL)])
    (root / "USER.md").write_text("# User\n\n- The phone bill is due on Friday 4 December 2026.\n")
    suppression.forget(root, "phone bill", Actor("browser"))
    assert shown(root, "2026-12-01T09:00") == ""


def test_a_note_keeps_its_day(root: Path) -> None:
    """Named by the model, or in the words; what is no day is said."""
    day = (dt.datetime.now(dt.UTC) + dt.timedelta(3)).date()
    for text, given in ((f"The bill is due on {day}.", ""), ("The dentist waits.", str(day))):
        done = notes.remember(root, text, day=given)
        assert done.entry.content == f"- [permanent, dated {day}] {text}"
        assert notes.note_text(done.entry) == text
    assert "[permanent] Born" in notes.remember(root, "Born on 3 May 1990.").entry.content
    with pytest.raises(NotRemembered, match="no day"):
        notes.remember(root, "The bill.", day="Friday")
