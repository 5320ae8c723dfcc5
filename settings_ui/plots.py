"""Plots of the pages, as values: usage by day, and the availability of each part of Jenny."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import ceil, log10

type Number = int | float | Decimal

# Units of the drawing, which is stretched to the available width.
WIDTH = 900.0
HEIGHT = 200.0
# Share of a day's width that stays empty between bars.
_GAP_PART = 0.2
# Number of colours (static/css/tokens.css); further series share the last one.
SERIES = 6


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    series: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars stacked for each day. ``top`` is the value of the upper edge."""

    bars: tuple[Bar, ...]
    top: float
    names: tuple[tuple[int, str], ...]
    first: dt.date
    last: dt.date
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def half(self) -> float:
        return self.top / 2


def stacked(
    days: Sequence[dt.date],
    series: Mapping[str, Mapping[dt.date, Number]],
    shown: Mapping[str, str] | None = None,
) -> Plot:
    """Stack the values of each series into one bar a day, oldest day first.

    *shown* gives the words for a value, by ``name day``.
    """
    names = list(series)
    sums = [sum(float(series[name].get(day, 0)) for name in names) for day in days]
    top = _round_up(max(sums, default=0.0))
    place = WIDTH / max(1, len(days))
    bars = []
    for index, day in enumerate(days):
        floor = HEIGHT
        for number, name in enumerate(names, start=1):
            value = float(series[name].get(day, 0))
            if value <= 0:
                continue
            height = value / top * HEIGHT
            floor -= height
            words = (shown or {}).get(f"{name} {day}", f"{value:,g}")
            bars.append(
                Bar(
                    x=round(index * place + place * _GAP_PART / 2, 2),
                    y=round(floor, 2),
                    width=round(place * (1 - _GAP_PART), 2),
                    height=round(height, 2),
                    series=min(number, SERIES),
                    title=f"{day:%-d %B}, {name}: {words}",
                )
            )
    known = tuple((min(number, SERIES), name) for number, name in enumerate(names, start=1))
    return Plot(tuple(bars), top, known, days[0], days[-1])


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    power = 10.0 ** (ceil(log10(value)) - 1)
    for step in (1, 2, 5, 10):
        if value <= step * power:
            return step * power
    return 10 * power


def strip(
    spans: Sequence[tuple[float, float]], *, title: str = "", width: float = WIDTH
) -> tuple[Bar, ...]:
    """Draw spans of a line, each given as start and end between 0 and 1."""
    bars = []
    for start, end in spans:
        low, high = max(0.0, start), min(1.0, end)
        if high > low:
            # Very short spans stay visible.
            wide = max((high - low) * width, 1.0)
            bars.append(Bar(round(low * width, 2), 0.0, round(wide, 2), 1.0, 1, title))
    return tuple(bars)


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
class TimeSpan:
    start: dt.datetime
    end: dt.datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    @property
    def length(self) -> str:
        return duration_in_words(self.seconds)


@dataclass(frozen=True, slots=True)
class AvailabilityLine:
    """Availability of a part over the days shown: up times, gaps and the present state.

    ``known_from`` is the time of the first record, or ``None`` without any.
    """

    name: str
    bars: tuple[Bar, ...]
    gaps: tuple[TimeSpan, ...]
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
        total = duration_in_words(sum(gap.seconds for gap in self.gaps))
        return f"{now}; {count}, {total} in all."


def availability_line(
    name: str,
    spans: Iterable[tuple[str, dt.datetime, dt.datetime]],
    now: dt.datetime,
    gap: dt.timedelta,
) -> AvailabilityLine:
    """Build a part's line from its spans of (host, start, last sign of life).

    A part is up when it is up on any host. A gap shorter than *gap* is ignored, since a part
    reports only now and then.
    """
    first = now - dt.timedelta(days=DAYS)
    rows = [row for row in spans if row[2] >= first]
    up = _merge_spans((TimeSpan(max(start, first), min(end, now)) for _, start, end in rows), gap)
    if not up:
        return AvailabilityLine(name, (), (), (), None, is_up=False)
    is_up = now - up[-1].end <= gap
    if is_up:
        up[-1] = TimeSpan(up[-1].start, now)
    gaps = [TimeSpan(a.end, b.start) for a, b in pairwise(up)]
    if not is_up:
        gaps.append(TimeSpan(up[-1].end, now))
    whole = (now - first).total_seconds()
    bars = strip(
        [((one.start - first).total_seconds() / whole, (one.end - first).total_seconds() / whole)
         for one in up]
    )  # fmt: skip
    hosts = tuple(sorted({host for host, _, end in rows if now - end <= gap}))
    return AvailabilityLine(name, bars, tuple(reversed(gaps)), hosts, up[0].start, is_up=is_up)


def _merge_spans(stretches: Iterable[TimeSpan], gap: dt.timedelta) -> list[TimeSpan]:
    """Merge stretches that touch or nearly touch."""
    found: list[TimeSpan] = []
    for one in sorted(stretches, key=lambda row: row.start):
        if found and one.start - found[-1].end <= gap:
            found[-1] = TimeSpan(found[-1].start, max(found[-1].end, one.end))
        else:
            found.append(one)
    return found


def duration_in_words(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        shown = f"{days} day{'s' if days > 1 else ''}"
        return f"{shown} {hours} h" if hours else shown
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
