"""Time zones by name."""

import datetime as dt
import functools
import zoneinfo

from jenny.accounts.errors import UnknownZone

# Entries of the database that are no place: the host's own setting, and "none was set".
_NO_PLACES = frozenset({"localtime", "Factory"})


@functools.cache
def names() -> frozenset[str]:
    """Every zone's name; reading the list from disk takes a while, so it is read once."""
    return frozenset(zoneinfo.available_timezones()) - _NO_PLACES


def first_known(*candidates: str) -> str:
    """The first of *candidates* that is a zone's name; ``UTC`` when none is."""
    return next((name for name in candidates if name in names()), "UTC")


def zone(name: str) -> dt.tzinfo:
    """The zone of that name; UTC when there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return dt.UTC


def known(name: str) -> str:
    """*name*, when it is a zone's.

    :raises UnknownZone: it is none.
    """
    if name not in names():
        raise UnknownZone(name)
    return name
