"""Time zones, and times as models read them: days with their weekday, the present time with its
zone."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

# Not by strftime, which uses the server's language.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})(?=$|[ T]\d{1,2}:\d{2})")


# Entries of the database that name no place: the host's own setting, and "none was set".
_NO_PLACES = frozenset({"localtime", "Factory"})


@cache
def zone_names() -> frozenset[str]:
    """Return every zone's name; cached, since reading the list from disk takes a while."""
    return frozenset(available_timezones()) - _NO_PLACES


def first_known_zone(*candidates: str) -> str:
    """Return the first of *candidates* that is a zone's name; ``UTC`` when none is."""
    return next((name for name in candidates if name in zone_names()), "UTC")


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
