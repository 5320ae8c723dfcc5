"""When Dream runs by itself: every so many hours, or at the times of a cron expression.

Times are instants; only a cron expression is read in a zone (``jenny.workspace.config.kinds``).
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from jenny.workspace.config import Config, kinds

_D = "agents.defaults"


@dataclass(frozen=True, slots=True)
class Timing:
    """What the settings say of it. ``cron`` counts where it is set; ``zone`` is its zone."""

    is_on: bool
    interval_h: int
    cron: str
    zone: str

    def as_json(self) -> dict[str, Any]:
        """For keeping beside the deadline that was worked out from it."""
        return asdict(self)


def timing(settings: Config, account_zone: str) -> Timing:
    """What a workspace's settings say; without a zone of its own, the account's counts."""
    return Timing(
        is_on=settings.get(f"{_D}.dream.enabled"),
        interval_h=settings.get(f"{_D}.dream.intervalH"),
        cron=settings.get(f"{_D}.dream.cron") or "",
        zone=settings.get(f"{_D}.timezone") or account_zone,
    )


def following(timing: Timing, now: datetime) -> datetime | None:
    """The deadline after a run that begins *now*, or for a workspace that has none yet; ``None``:
    never."""
    if not timing.is_on:
        return None
    if timing.cron:
        return next(kinds.cron_occurrences(timing.cron, timing.zone, now), None)
    return now + timedelta(hours=timing.interval_h)


def moved(old: Timing, new: Timing, due: datetime | None, now: datetime) -> datetime | None:
    """The deadline after the settings changed, which by itself starts nothing.

    Another interval counts from where the old one did, unless that would be over by now.
    """
    if not new.is_on or not old.is_on or due is None or new.cron or old.cron:
        return due if _means_the_same(old, new) else following(new, now)
    shifted = due + timedelta(hours=new.interval_h - old.interval_h)
    return shifted if shifted > now else following(new, now)


def upcoming(timing: Timing, due: datetime | None, now: datetime, count: int) -> list[datetime]:
    """The next times, the deadline *due* first."""
    if due is None:
        return []
    found = [due]
    if timing.cron:
        found += islice(kinds.cron_occurrences(timing.cron, timing.zone, max(due, now)), count - 1)
    else:
        step = timedelta(hours=timing.interval_h)
        found += [max(due, now) + step * number for number in range(1, count)]
    return found[:count]


def _means_the_same(old: Timing, new: Timing) -> bool:
    if old.is_on != new.is_on or old.cron != new.cron:
        return False
    return old.zone == new.zone if new.cron else old.interval_h == new.interval_h
