"""When a snapshot is due: ten quiet minutes after a change, and once a day."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jenny.workspace.snapshots.values import Trigger

QUIET = timedelta(minutes=10)
DAY = timedelta(hours=24)


@dataclass(frozen=True)
class Seen:
    """What the last looks at a workspace saw; aware times.

    ``changed_at``: when a change was seen that no snapshot holds yet. ``taken_at``: when a
    snapshot was last taken, or was found to hold everything already.
    """

    fingerprint: str = ""
    changed_at: datetime | None = None
    taken_at: datetime | None = None


def look(seen: Seen, fingerprint: str, now: datetime) -> tuple[Seen, Trigger | None]:
    """What is known after a look at *now*, and the snapshot that is due.

    A clock that was put back makes nothing wait longer than it would have.
    """
    after = seen
    if fingerprint != seen.fingerprint:
        after = replace(seen, fingerprint=fingerprint, changed_at=now)
    elif seen.changed_at is not None and seen.changed_at > now:
        after = replace(seen, changed_at=now)
    if after.changed_at is not None and now - after.changed_at >= QUIET:
        return after, "auto"
    if after.taken_at is None or not timedelta(0) <= now - after.taken_at < DAY:
        return after, "daily"
    return after, None


def taken(seen: Seen, fingerprint: str, now: datetime) -> Seen:
    """What is known after a snapshot that was begun when the workspace had *fingerprint*."""
    return replace(seen, fingerprint=fingerprint, changed_at=None, taken_at=now)
