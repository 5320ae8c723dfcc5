import datetime as dt
import functools
import zoneinfo

from jenny.accounts.errors import UnknownZone

# Entries of the database that name no place: the host's own setting, and "none was set".
_NO_PLACES = frozenset({"localtime", "Factory"})


@functools.cache
def names() -> frozenset[str]:
    """Return every zone's name; cached, since reading the list from disk takes a while."""
    return frozenset(zoneinfo.available_timezones()) - _NO_PLACES


def first_known(*candidates: str) -> str:
    """Return the first of *candidates* that is a zone's name; ``UTC`` when none is."""
    return next((name for name in candidates if name in names()), "UTC")


def zone(name: str) -> dt.tzinfo:
    """Return the zone of that name; UTC when there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return dt.UTC


def known(name: str) -> str:
    """Return *name* when a zone has it.

    :raises UnknownZone: none has.
    """
    if name not in names():
        raise UnknownZone(name)
    return name
