"""The zone that the history's stamps are in."""

from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from jenny.workspace import config


def zone_of(root: Path, fallback: str = "") -> str:
    """Its IANA name: the workspace's, else *fallback*, else UTC."""
    return config.load(root).get("agents.defaults.timezone") or fallback or "UTC"


def zone(root: Path, fallback: str = "") -> tzinfo:
    """The same as a zone; UTC when there is none of that name."""
    try:
        return ZoneInfo(zone_of(root, fallback))
    except (LookupError, ValueError, OSError):
        return UTC
