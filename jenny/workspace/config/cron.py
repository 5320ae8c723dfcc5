"""Cron expressions of five fields: what is one, and which minutes and days it means."""

from dataclasses import dataclass
from datetime import date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 7, {name: number for number, name in enumerate(_DAYS)}),
)
_SUNDAY = 7


@dataclass(frozen=True, slots=True)
class Times:
    """What an expression means. As everywhere with cron, where both the day of the month and the
    weekday are restricted, either is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def is_day(self, day: date) -> bool:
        """Whether the expression means that day."""
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return of_month and of_week
        return of_month or of_week


def is_cron(text: str) -> bool:
    """Whether *text* is a cron expression of five fields."""
    fields = text.lower().split()
    return len(fields) == len(_FIELDS) and all(
        _span(item, low, high, words) is not None
        for field, (low, high, words) in zip(fields, _FIELDS, strict=True)
        for item in field.split(",")
    )


def parse(text: str) -> Times:
    """What the expression means.

    Raises:
        ValueError: it is none (``is_cron``).
    """
    if not is_cron(text):
        raise ValueError(text)
    fields = text.lower().split()
    minutes, hours, days, months, weekdays = (
        frozenset(
            number for item in field.split(",") for number in (_span(item, low, high, words) or ())
        )
        for field, (low, high, words) in zip(fields, _FIELDS, strict=True)
    )
    return Times(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(number % _SUNDAY for number in weekdays),
        any_day=fields[2].startswith("*"),
        any_weekday=fields[4].startswith("*"),
    )


def _span(item: str, low: int, high: int, words: dict[str, int]) -> range | None:
    """The numbers of one item (``*``, ``4``, ``1-5``, ``*/2``); ``None`` when it is wrong."""
    span, slash, steps = item.partition("/")
    step = _number_of(steps, {}) if slash else 1
    if not 1 <= step <= high:
        return None
    if span == "*":
        return range(low, high + 1, step)
    first, _, last = span.partition("-") if "-" in span else (span, "", span)
    begin, end = _number_of(first, words), _number_of(last, words)
    return range(begin, end + 1, step) if low <= begin <= end <= high else None


def _number_of(text: str, words: dict[str, int]) -> int:
    """The number in a cron field, which may be a month's or day's name; -1 when it is none."""
    short = text.isascii() and text.isdigit() and len(text) <= len("59")
    return int(text) if short else words.get(text, -1)
