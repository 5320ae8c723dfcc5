"""Timestamps of the history and their zone."""

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from jenny.workspace import config
from jenny.workspace.config import Config


def zone_of(root: Path, fallback: str = "") -> str:
    """Return the IANA name of the workspace's zone, else *fallback*, else UTC."""
    return _name(config.load_config(root), fallback)


def zone(real: Path, fallback: str = "") -> tzinfo:
    """Return the workspace's zone, or UTC for an unknown name. *real* is the real folder."""
    try:
        return ZoneInfo(_name(config.load_real(real), fallback))
    except (LookupError, ValueError, OSError):
        return UTC


def stamp(local: datetime) -> str:
    """Format a local time as entries have it (``entries.STAMP``)."""
    return local.replace(tzinfo=None).isoformat(" ", "minutes")


def _name(settings: Config, fallback: str) -> str:
    return settings.get("agents.defaults.timezone") or fallback or "UTC"
