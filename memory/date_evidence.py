"""Says which days a line may name: those of the texts that it rests on, and those that follow from
what they say and the days of their entries."""

import contextlib
import datetime as dt
import re
from collections.abc import Collection, Iterable
from functools import cached_property

from memory.fact_units import Text, Unit, has_month, is_same_date
from memory.relative_days import find_stretches, is_dated_note, near_years

type DatedTexts = Iterable[tuple[Text, Collection[dt.date]]]

_WEEK_DAYS = 7
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Of a clause that runs on without end, so much is compared with others.
MOST_UNITS = 60


class DateEvidence:
    """The days of the texts that a line rests on: of those that it cites, and of others."""

    def __init__(
        self, line: Text, cited: DatedTexts, shown: DatedTexts, *, is_translation: bool
    ) -> None:
        self._line = line
        self._is_translation = is_translation
        self._cited_days = [(text, day) for text, own in cited for day in own]
        self._cited = [text for text, _ in cited]
        self.days = self._cited_days + [(text, day) for text, own in shown for day in own]

    @cached_property
    def weekdays(self) -> frozenset[str]:
        """The days of the week of the line's dates, and those that the texts count to."""
        found = set()
        for text, seen in self.days:
            for row in find_stretches(text.source, seen):
                found |= {day.weekday() for day in row.days()}
            for date in self._line.words.dates:
                year, month, day = map(int, date.split("-"))
                with contextlib.suppress(ValueError):
                    found.add(dt.date(year or seen.year, month, day).weekday())
        return frozenset(f"day {number}" for number in found)

    @property
    def years(self) -> set[str]:
        """The years that texts count to, or the year of an entry whose text names none."""
        found: set[str] = set()
        for text, seen in self.days:
            rows = find_stretches(text.source, seen)
            years = {str(year) for row in rows for year in row.years}
            has_year = _YEAR.search(text.source)
            found |= years or (set() if has_year else {str(seen.year)})
        return found

    def has_date(self, text: Text, date: str) -> bool:
        """True when a text has a date; one without a year is the one next to the text's day."""
        return any(
            is_same_date(date, other) and self._is_near(text, date, other)
            for other in text.words.dates
        )

    def _is_near(self, text: Text, date: str, other: str) -> bool:
        year, month, day = map(int, date.split("-"))
        if not year or not other.startswith("0-"):
            return True
        seen = [day for one, day in self.days if one is text] or [day for _, day in self.days]
        return not seen or any(year in near_years(text.source, one, month, day) for one in seen)

    def is_counted(self, date: str) -> bool:
        """True when a date follows from a text and the day of its entry: "tomorrow", "in May"."""
        year, month, day = map(int, date.split("-"))
        said = {day for text in self._cited for day in text.words.dates}
        has_day = any(re.fullmatch(rf"[1-9]\d*-{month}-\d+", one) for one in said)
        if not day and not has_day:
            near = self._cited_days or self.days
            if any(
                has_month(text, month)
                and (not year or year in near_years(text.source, seen, month, 0))
                for text, seen in near
            ):
                return True
        return any(
            self._is_meant(text, seen, (year or seen.year, month, day))
            for text, seen in self.days
            if self._is_translation or shared_weight(self._line, text) or not self._most_shared
        )

    def _is_meant(self, text: Text, seen: dt.date, date: tuple[int, int, int]) -> bool:
        """True when a text of a day may mean a date: one that it counts to from that day or from a
        date in it, the day of the week within a week, or the day itself, if it has no other."""
        year, month, day = date
        own = {one for one in map(_full_date, text.words.dates) if one}
        starts = (seen, *own)
        with contextlib.suppress(ValueError):
            meant = dt.date(year, month, day)
            has_weekday = f"day {meant.weekday()}" in text.keys
            if has_weekday and any(abs((meant - one).days) <= _WEEK_DAYS for one in starts):
                return True
        stretches = [row for one in starts for row in find_stretches(text.source, one)]
        if any(row.has(year, month, day) for row in stretches):
            return True
        if (year, month, day or seen.day) != (seen.year, seen.month, seen.day):
            return False
        # "Said on 30 November: due tomorrow" keeps what is counted and from where.
        named = _weekdays_of(text) & _weekdays_of(self._line)
        if is_dated_note(self._line.source, text.source, [unit.run for unit in named]):
            return True
        if not self._is_translation and shared_weight(self._line, text) < self._most_shared:
            return False
        has_another = text.words.dates or any(row.days() or not day for row in stretches)
        return not has_another and not _weekdays_of(text)

    @cached_property
    def _most_shared(self) -> int:
        return max((shared_weight(self._line, text) for text, _ in self.days), default=0)


def shared_weight(line: Text, text: Text) -> int:
    """The weight of the words that a text has of a line."""
    units = [one for one in line.units if one.counts and not one.is_of_calendar]
    return sum(one.weight for one in units[:MOST_UNITS] if text.knows(one))


def _weekdays_of(text: Text) -> set[Unit]:
    return {unit for unit in text.units if unit.key.startswith("day ")}


def _full_date(date: str) -> dt.date | None:
    """A date that has all its parts, and is one."""
    with contextlib.suppress(ValueError):
        return dt.date(*map(int, date.split("-")))
    return None
