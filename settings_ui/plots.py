import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
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
