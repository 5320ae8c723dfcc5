"""The history's stamps, and the zone that they are in."""

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from jenny.workspace import config
from jenny.workspace.config import Config


def zone_of(root: Path, fallback: str = "") -> str:
    """Its IANA name: the workspace's, else *fallback*, else UTC."""
    return _name(config.load(root), fallback)


def zone(real: Path, fallback: str = "") -> tzinfo:
    """The same as a zone; UTC when there is none of that name. *real*: the real folder."""
    try:
        return ZoneInfo(_name(config.load_real(real), fallback))
    except (LookupError, ValueError, OSError):
        return UTC


def stamp(local: datetime) -> str:
    """A local time as entries carry it (``entries.STAMP``)."""
    return local.replace(tzinfo=None).isoformat(" ", "minutes")


def _name(settings: Config, fallback: str) -> str:
    return settings.get("agents.defaults.timezone") or fallback or "UTC"
