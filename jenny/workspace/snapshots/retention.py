"""Which snapshots are kept: the newest 20 always; those older than 30 days one a day;
none older than the horizon."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo

from jenny.workspace.snapshots.values import Plan, Snapshot

NEWEST = 20
EACH_FOR = timedelta(days=30)
# The choices of ``snapshots.keepFor``; None: for ever.
HORIZONS: dict[str, timedelta | None] = {
    "week": timedelta(days=7),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
    "forever": None,
}


def plan(
    shots: Sequence[Snapshot],
    keep_for: str,
    *,
    now: datetime,
    zone: tzinfo,
    pinned: Iterable[str] = (),
) -> Plan:
    """What pruning would delete of *shots* (in any order); nothing is deleted by this.

    *keep_for*: a key of ``HORIZONS``. *now*: aware. *zone*: where the days are counted in.
    *pinned*: commits of snapshots that are in use.
    """
    horizon = HORIZONS[keep_for]
    ordered = sorted(shots, key=lambda shot: shot.number)
    safe = {shot.id for shot in ordered[-NEWEST:]}
    safe |= {shot.id for shot in ordered if shot.commit in set(pinned)}
    # The last of each day stands for it, whatever else keeps it.
    last = {shot.when.astimezone(zone).date(): shot.id for shot in ordered}
    expired, thinned = [], []
    for shot in ordered:
        if shot.id in safe:
            continue
        age = now - shot.when
        if horizon is not None and age > horizon:
            expired.append(shot)
        elif age > EACH_FOR and last[shot.when.astimezone(zone).date()] != shot.id:
            thinned.append(shot)
    kept = len(ordered) - len(expired) - len(thinned)
    return Plan(keep_for, tuple(thinned), tuple(expired), kept)


def is_shorter(keep_for: str, than: str) -> bool:
    """Whether one horizon deletes more than another."""
    mine, other = HORIZONS[keep_for], HORIZONS[than]
    return mine is not None and (other is None or mine < other)
