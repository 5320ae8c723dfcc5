"""Formats times for models: days with their weekday, and the present time with its zone."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

# Not by strftime, which uses the server's language.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})(?=$|[ T]\d{1,2}:\d{2})")


@cache
def zone_of(name: str) -> tzinfo:
    """Return the zone of that IANA name; UTC when there is none."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return UTC


def describe_now(now: datetime, zone: tzinfo) -> str:
    """Format the time in *zone*: ``Friday, 4 December 2026, 15:00 (Europe/Prague, UTC+01:00)``."""
    local = now.astimezone(zone)
    day = f"{WEEKDAYS[local.weekday()]}, {local.day} {MONTHS[local.month - 1]} {local.year}"
    name = " ".join(str(local.tzinfo).split())[:64]
    return f"{day}, {local:%H:%M} ({name}, UTC{local.strftime('%:z')})"


def with_weekday(stamp: str) -> str:
    """Add the weekday to a timestamp (``2026-12-04 15:00``); other texts stay as they are."""
    found = _STAMP.match(stamp)
    try:
        return f"{WEEKDAYS[date.fromisoformat(found[1]).weekday()]} {stamp}" if found else stamp
    except ValueError:  # there is no such day
        return stamp


def list_days(first: date, count: int) -> str:
    """List so many days from *first* on, each with its weekday."""
    days = []
    for number in range(count):
        try:
            days.append(first + timedelta(number))
        except OverflowError:  # the end of the calendar
            break
    return ", ".join(f"{WEEKDAYS[day.weekday()]} {day}" for day in days)
