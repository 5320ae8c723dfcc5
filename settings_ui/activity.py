"""Availability of each part of Jenny over the last days."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from settings_ui.plots import Bar, strip

# The parts of an instance, in the order of the page.
PARTS = {
    "web": "Web server",
    "worker-chat": "Worker for chats",
    "worker-memory": "Worker for the memory",
    "worker-maintenance": "Worker for upkeep",
    "beat": "Scheduler",
}
DAYS = 14


@dataclass(frozen=True, slots=True)
class Stretch:
    start: dt.datetime
    end: dt.datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    @property
    def length(self) -> str:
        return in_words(self.seconds)


@dataclass(frozen=True, slots=True)
class Line:
    """Availability of a part over the days shown: up times, gaps and the present state.

    ``known_from`` is the time of the first record, or ``None`` without any.
    """

    name: str
    bars: tuple[Bar, ...]
    gaps: tuple[Stretch, ...]
    hosts: tuple[str, ...]
    known_from: dt.datetime | None
    is_up: bool

    @property
    def message(self) -> str:
        if self.known_from is None:
            return "It has not been seen yet."
        now = "Up now" if self.is_up else "Not up now"
        if not self.gaps:
            return f"{now}, without a gap."
        count = "one gap" if len(self.gaps) == 1 else f"{len(self.gaps)} gaps"
        total = in_words(sum(gap.seconds for gap in self.gaps))
        return f"{now}; {count}, {total} in all."


def line(
    name: str,
    spans: Iterable[tuple[str, dt.datetime, dt.datetime]],
    now: dt.datetime,
    gap: dt.timedelta,
) -> Line:
    """Build a part's line from its spans of (host, start, last sign of life).

    A part is up when it is up on any host. A gap shorter than *gap* is ignored, since a part
    reports only now and then.
    """
    first = now - dt.timedelta(days=DAYS)
    rows = [row for row in spans if row[2] >= first]
    up = merged((Stretch(max(start, first), min(end, now)) for _, start, end in rows), gap)
    if not up:
        return Line(name, (), (), (), None, is_up=False)
    is_up = now - up[-1].end <= gap
    if is_up:
        up[-1] = Stretch(up[-1].start, now)
    gaps = [Stretch(a.end, b.start) for a, b in pairwise(up)]
    if not is_up:
        gaps.append(Stretch(up[-1].end, now))
    whole = (now - first).total_seconds()
    bars = strip(
        [((one.start - first).total_seconds() / whole, (one.end - first).total_seconds() / whole)
         for one in up]
    )  # fmt: skip
    hosts = tuple(sorted({host for host, _, end in rows if now - end <= gap}))
    return Line(name, bars, tuple(reversed(gaps)), hosts, up[0].start, is_up=is_up)


def merged(stretches: Iterable[Stretch], gap: dt.timedelta) -> list[Stretch]:
    """Merge stretches that touch or nearly touch."""
    found: list[Stretch] = []
    for one in sorted(stretches, key=lambda row: row.start):
        if found and one.start - found[-1].end <= gap:
            found[-1] = Stretch(found[-1].start, max(found[-1].end, one.end))
        else:
            found.append(one)
    return found


def in_words(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        shown = f"{days} day{'s' if days > 1 else ''}"
        return f"{shown} {hours} h" if hours else shown
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
