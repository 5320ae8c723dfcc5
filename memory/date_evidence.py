"""Says which days a line may name: those of the texts that it rests on, and those that follow from
what they say and the days of their entries ("tomorrow", "in two weeks", "nächsten Samstag",
"再来週")."""

import calendar
import contextlib
import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from jenny.text_normalisation import case_key
from memory import dates
from memory.fact_units import Text, Unit, has_month, is_same_date

type DatedTexts = Iterable[tuple[Text, Collection[dt.date]]]

_WEEK_DAYS = 7
_NEAR_DAYS = 45
_DAY_ALONE = re.compile(
    r"(?<![\d.])([12]?\d|3[01])(?:st\b|nd\b|rd\b|th\b|\.(?=\s?[–a-z])|日|\s–\s)"
)
_YEAR_NUMBER = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Seasons and feasts, by a month of theirs.
_SEASONS = {
    1: r"new year|neujahr|nouvel an|año nuevo|正月|新年",
    2: r"winter|hiver|invierno|冬",
    4: r"spring|easter|frühling|frühjahr|ostern|printemps|pâques|primavera|春",
    7: r"summer|sommer|été|verano|夏",
    10: r"autumn|herbst|automne|otoño|秋",
    12: r"christmas|xmas|weihnacht\w*|noël|navidad|クリスマス|年末",
}
_SEASON_FORMS = {at: re.compile(form, re.IGNORECASE) for at, form in _SEASONS.items()}
# Of a clause that runs on without end, so much is compared with others.
MOST_UNITS = 60

# The days that a text means when it counts from the day on which it was said.
type _Unit = Literal["day", "month", "year"]

_UNITS = {
    "day": 1, "days": 1, "tag": 1, "tage": 1, "tagen": 1, "日": 1, "天": 1, "días": 1, "jours": 1,
    "week": 7, "weeks": 7, "woche": 7, "wochen": 7, "週": 7, "週間": 7, "周": 7, "semanas": 7,
    "semaines": 7, "semana": 7, "semaine": 7,
    "month": 30, "months": 30, "monat": 30, "monate": 30, "monaten": 30, "か月": 30, "ヶ月": 30,
    "カ月": 30, "个月": 30, "meses": 30, "mes": 30, "mois": 30,
    "year": 365, "years": 365, "jahr": 365, "jahre": 365, "jahren": 365, "年": 365,
    "años": 365, "año": 365, "ans": 365, "an": 365,
}  # fmt: skip
# How far a length may be off, by its unit.
_SLACK = {1: 1, 7: 6, 30: 20, 365: 200}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_NUMBER = r"(?P<n>\d{1,9}|an?|one|ein(?:em|er|en)?|una?|une)"
_SHORT, _FAR_DAYS, _WEEK = 3, 300, 7
_AHEAD = re.compile(
    rf"\b(?:in|dans|en)\s(?:about\s)?{_NUMBER}\s(?P<u>{_UNIT})\b"
    rf"|(?<!\d)(?P<n2>\d{{1,9}})\s?(?P<u2>{_UNIT})後",
    re.IGNORECASE,
)
_BACK = re.compile(
    rf"\b{_NUMBER}\s(?P<u>{_UNIT})\sago\b"
    r"|\b(?:vor|hace|il y a)\s(?:about\s)?(?P<n1>\d{1,9}|eine[mr]?"
    rf"|una?|une)\s(?P<u1>{_UNIT})\b|(?<!\d)(?P<n2>\d{{1,9}})\s?(?P<u2>{_UNIT})前",
    re.IGNORECASE,
)
# "A five-year warranty", "for 6 months", "8年".
_LENGTH = re.compile(
    r"(?<![\d.,])(?P<n>\d{1,3})[-\s]?(?:(?P<year>years?\b|jahre?n?\b|años?\b|ans\b|年(?!\d|月|生))"
    r"|(?P<month>months?\b|monate?n?\b|meses\b|mois\b|[かヶカ]月)"
    r"|(?P<week>weeks?\b|wochen?\b|semanas?\b|semaines?\b|週間)"
    r"|(?P<day>days?\b|nights?\b|tagen?\b|tage\b|nächten?\b|días?\b|noches?\b|jours?\b|日間|泊))",
    re.IGNORECASE,
)
_MONTH, _YEAR = r"\s(?:month|monat(?:es|s)?)\b", r"\s(?:year|jahr(?:es|s)?)\b"
_MONTHS, _YEARS = r"\s(?:months|monaten?)\b", r"\s(?:years|jahren?)\b"
_NEXT = r"\b(?:next|coming|nächste[nmrs]?|kommende[nmrs]?)"
_LAST = r"\b(?:last|letzte[nmrs]?|vorige[nmrs]?|vergangene[nmrs]?)"
_THIS = r"\b(?:this|diese[nmrs]?)"
# Months and years, of which the word stands behind such a word or before it, are counted apart.
_OF_DAYS = rf"\b(?!{_MONTH}|{_YEAR}|{_MONTHS}|{_YEARS}|\s(?:mes|mois|año|année)\b)"
_ALONE = r"(?<!\baño )(?<!\bmes )(?<!\bmois )(?<!\ban )(?<!\bannée )"
# Stretches of days, from the first to the last, counted from the day itself.
_STRETCHES: tuple[tuple[str, tuple[int, int]], ...] = (
    (
        (
            r"\b(?:today|tonight|this (?:morning|afternoon|evening)|heute|hoy|aujourd'hui)\b"
            r"|今日|今晩|今天"
        ),
        (0, 0),
    ),
    (
        (
            r"(?<!after )\btomorrow\b|(?<!über)\bmorgen\b|\bmañana\b|(?<!après-)\bdemain\b"
            r"|(?<!明)明日|明天"
        ),
        (1, 1),
    ),
    (
        (
            r"\bday after tomorrow\b|\bübermorgen\b|\bpasado mañana\b|\baprès-demain\b"
            r"|明後日|あさって|后天"
        ),
        (2, 2),
    ),
    (r"(?<!before )\byesterday\b|\bgestern\b|\bayer\b|\bhier\b|昨日|昨天", (-1, -1)),
    (
        (
            r"\bday before yesterday\b|\bvorgestern\b|\banteayer\b|\bavant-hier\b"
            r"|一昨日|おととい|前天"
        ),
        (-2, -2),
    ),
    (
        (
            rf"(?<!after ){_ALONE}\b(?:next|coming|nächste\w*|kommende\w*|próxim\w+|prochain\w*)"
            rf"{_OF_DAYS}|(?<!再)来週|(?<!下)下周|下星期|下個"
        ),
        (1, 14),
    ),
    (
        rf"(?<!month )(?<!year )\bafter next\b|\bübernächste\w*{_OF_DAYS}|再来週|下下周",
        (7, 21),
    ),
    (rf"\b(?:this|diese\w*|este|esta|ce|cette){_OF_DAYS}|今週|这周|本周", (-7, 7)),
    (
        (
            rf"(?<!before ){_ALONE}\b(?:last|letzte\w*|vorige\w*|vergangene\w*|pasad\w+|dernier\w*"
            rf"|dernière){_OF_DAYS}|先週|(?<!上)上周|上星期"
        ),
        (-14, -1),
    ),
    (
        rf"(?<!month )(?<!year )\bbefore last\b|\bvorletzte\w*{_OF_DAYS}|先々週|上上周",
        (-21, -7),
    ),
    (rf"{_NEXT}{_MONTHS}", (1, 93)),
    (rf"{_LAST}{_MONTHS}", (-93, -1)),
    (rf"{_NEXT}{_YEARS}", (1, 730)),
    (rf"{_LAST}{_YEARS}", (-730, -1)),
)
# Whole months and years, counted from those of the day.
_CALENDAR: tuple[tuple[str, _Unit, int], ...] = (
    (rf"{_THIS}{_MONTH}|\beste mes\b|\bce mois\b|今月|本月|这个月", "month", 0),
    (
        (
            rf"(?<!after ){_NEXT}{_MONTH}|\bpróximo mes\b|\bmes (?:próximo|que viene)\b"
            r"|\bmois prochain\b|(?<!再)来月|(?<!下)下个月"
        ),
        "month",
        1,
    ),
    (
        rf"(?<!before ){_LAST}{_MONTH}|\bmes pasado\b|\bmois dernier\b|先月|(?<!上)上个月",
        "month",
        -1,
    ),
    (rf"\bmonth after next\b|\bübernächste[nmrs]?{_MONTH}|再来月|下下个月", "month", 2),
    (rf"\bmonth before last\b|\bvorletzte[nmrs]?{_MONTH}|先々月|上上个月", "month", -2),
    (rf"{_THIS}{_YEAR}|\beste año\b|\bcette année\b|今年", "year", 0),
    (
        (
            rf"(?<!after ){_NEXT}{_YEAR}|\bpróximo año\b|\baño (?:próximo|que viene)\b"
            r"|\b(?:an|année) prochaine?\b|(?<!再)来年|明年"
        ),
        "year",
        1,
    ),
    (
        (
            rf"(?<!before ){_LAST}{_YEAR}|\baño pasado\b|\b(?:an|année) (?:dernier|dernière)\b"
            r"|\b(?:an|année) passée?\b|去年|(?<!一)昨年"
        ),
        "year",
        -1,
    ),
    (rf"\byear after next\b|\bübernächste[nmrs]?{_YEAR}|再来年|后年", "year", 2),
    (rf"\byear before last\b|\bvorletzte[nmrs]?{_YEAR}|一昨年|おととし|前年", "year", -2),
)
_COMPILED: tuple[tuple[re.Pattern[str], _Unit, tuple[int, int]], ...] = (
    *((re.compile(form, re.IGNORECASE), "day", days) for form, days in _STRETCHES),
    *((re.compile(form, re.IGNORECASE), unit, (at, at)) for form, unit, at in _CALENDAR),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    first: dt.date
    last: dt.date

    def days(self) -> list[dt.date]:
        """The days of a short one; of a longer one none is meant."""
        length = (self.last - self.first).days
        return (
            [self.first + dt.timedelta(at) for at in range(length + 1)] if length < _SHORT else []
        )

    @property
    def years(self) -> range:
        """The years of one that reaches into another year, or is one."""
        is_long = (self.last - self.first).days > _FAR_DAYS
        return range(self.first.year, self.last.year + 1) if is_long else range(0)

    def has(self, year: int, month: int, day: int) -> bool:
        """True when a date, of which the day may be missing (0), falls into it."""
        try:
            begin = dt.date(year, month, day or 1)
            end = begin if day else begin.replace(day=calendar.monthrange(year, month)[1])
        except ValueError:
            return False
        return begin <= self.last and end >= self.first


def find_stretches(text: str, said: dt.date) -> Iterator[Stretch]:
    """Yield what the relative words of a text may mean that was said on a day. Its numbers are
    digits (``memory.fact_quantities``)."""
    for unit, low, high in _find_lengths(text):
        with contextlib.suppress(OverflowError, ValueError):
            yield _count(said, unit, low, high)


def _count(said: dt.date, unit: _Unit, low: int, high: int) -> Stretch:
    """The stretch from the *low*-th day, month or year to the *high*-th, after that of a day."""
    if unit == "day":
        return Stretch(said + dt.timedelta(low), said + dt.timedelta(high))
    if unit == "year":
        return Stretch(dt.date(said.year + low, 1, 1), dt.date(said.year + high, 12, 31))
    months = 12 * said.year + said.month - 1
    (year, month), (end, last) = divmod(months + low, 12), divmod(months + high, 12)
    days = calendar.monthrange(end, last + 1)[1]
    return Stretch(dt.date(year, month + 1, 1), dt.date(end, last + 1, days))


@lru_cache(maxsize=4_000)
def _find_lengths(text: str) -> tuple[tuple[_Unit, int, int], ...]:
    """The unit, and the first and the last one of each stretch, counted from the day itself."""
    found = [(unit, *ends) for form, unit, ends in _COMPILED if form.search(text)]
    for form, sign in ((_AHEAD, 1), (_BACK, -1)):
        for match in form.finditer(text):
            parts = match.groupdict()
            number = next(value for key, value in parts.items() if key[0] == "n" and value)
            days = _UNITS[case_key(next(v for key, v in parts.items() if key[0] == "u" and v))]
            length = sign * days * (int(number) if number.isdecimal() else 1)
            found.append(("day", length - _SLACK[days], length + _SLACK[days]))
    for match in _LENGTH.finditer(text):
        number = int(match["n"]) * (_WEEK if match["week"] else 1)
        unit: _Unit = "year" if match["year"] else "month" if match["month"] else "day"
        # The last day, or month, may be counted or not.
        found += [(unit, number - (unit != "year"), number), (unit, -number, -number)]
    return tuple(found)


_PAST = re.compile(
    r"\b(?:was|were|had|been|ago|last|since|went|bought|got|began|met|left|took|came|born|died"
    r"|\w{2,}ed|war|waren|hatte|hatten|wurde|wurden|seit|depuis|desde|dal|sinds|\w*ge\w{3,}(?:t|en)|fue|était)\b"
    r"|(?:た|だ)(?:[。、がのま]|$)|以来|了",
    re.IGNORECASE,
)
# The further one of the dates before and behind a day may be so much further away.
_ALIKE_FAR = 2
_MIDDLE = 15


def near_years(text: str, said: dt.date, month: int, day: int) -> set[int]:
    """The years that a date without a year may mean that was said on a day: the one next to it; of
    two that are about as far away, or where the text tells of the past, the one before as well."""
    if named := {said.year + at for at in _years_beside(text, month)}:
        return named
    days: dict[int, int] = {}
    for year in (said.year - 1, said.year, said.year + 1):
        with contextlib.suppress(ValueError):
            days[year] = (dt.date(year, month, day or _MIDDLE) - said).days
    if not days:
        return set()
    nearest = min(map(abs, days.values()))
    found = {year for year, off in days.items() if abs(off) <= _ALIKE_FAR * nearest}
    if _PAST.search(text):
        found |= {max((year for year, off in days.items() if off <= 0), default=said.year)}
    return found


@lru_cache(maxsize=4_000)
def _years_beside(text: str, month: int) -> frozenset[int]:
    """Return the years said of a month, as differences: "March next year", "来年の3月"."""
    names = "|".join(rf"{name}\b" for name, at in dates.MONTHS.items() if at == month)
    names = f"{names}|(?<!\\d){month}月"
    return frozenset(
        ends[0]
        for form, unit, ends in _COMPILED
        if unit == "year"
        and re.search(
            rf"(?:{form.pattern})\s?の?,?(?:(?:in|im)\s)?(?:{names})"
            rf"|(?<!\w)(?:{names})\s(?:of\s|des\s|de\s)?(?:{form.pattern})",
            text,
            re.IGNORECASE,
        )
    )


_GAP = re.compile(r"[\s,;:(（、–—-]*(?=\d)")


def is_dated_note(line: str, text: str, weekdays: Iterable[str] = ()) -> bool:
    """True when a line keeps the relative words of a text, or these *weekdays*, and no date stands
    beside them as theirs: "Due tomorrow (said on 30 November 2026)"."""
    forms = [form for form, *_ in _COMPILED if form.search(text)]
    forms += [re.compile(re.escape(word)) for word in weekdays]
    kept = (found for form in forms if (found := form.search(line)))
    return any(not _GAP.match(line, found.end()) for found in kept)


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
            has_year = _YEAR_NUMBER.search(text.source)
            found |= years or (set() if has_year else {str(seen.year)})
            for date in text.words.dates:
                year, month, day = map(int, date.split("-"))
                found |= set() if year else set(map(str, near_years(text.source, seen, month, day)))
            for month, season in _SEASON_FORMS.items():
                if season.search(text.source):
                    last = seen.year - (month > seen.month)
                    found |= {str(last), str(last + 1)}
        return found

    def has_date(self, text: Text, date: str) -> bool:
        """True when a text has a date; one without a year is the one next to the text's day."""
        return any(
            is_same_date(date, other) and self._is_near(text, date, other)
            for other in (*text.words.dates, *_days_alone(text))
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
            self._is_meant(text, seen, (one, month, day))
            for text, seen in self.days
            for one in ([year] if year else range(seen.year - 1, seen.year + 2))
            if self._is_translation or shared_weight(self._line, text) or not self._most_shared
        )

    def _is_meant(self, text: Text, seen: dt.date, date: tuple[int, int, int]) -> bool:
        """True when a text of a day may mean a date: one that it counts to from that day or from a
        date in it, the day of the week within a week, or the day itself, if it has no other."""
        year, month, day = date
        own = set(_full_dates(text, seen))
        starts = (seen, *own, *(() if own else _first_days(text, seen)))
        meant = _date(*date)
        if meant and _has_weekday(text, meant, starts, _WEEK_DAYS - bool(own)):
            return True
        alone = {int(one) for one in _DAY_ALONE.findall(text.source)}
        if meant and alone and not own:
            # "On the 15th of next month", "from the 29th to the 4th".
            rows = list(find_stretches(text.source, seen))
            is_near = not rows and abs((meant - seen).days) <= _NEAR_DAYS
            return day in alone and (is_near or any(row.has(*date) for row in rows))
        stretches = self._stretches(text, starts, day)
        if any(row.has(*date) for row in stretches):
            return True
        if any(has_month(text, at) for at in range(1, 13) if at != month):
            return False
        if day and has_month(text, month) and _is_third_of_month(text.source, day):
            return year in near_years(text.source, seen, month, day)
        return self._is_own_day(text, seen, date, stretches)

    def _is_own_day(
        self, text: Text, seen: dt.date, date: tuple[int, int, int], stretches: Sequence[Stretch]
    ) -> bool:
        year, month, day = date
        week = dt.timedelta(_WEEK_DAYS)
        near = {(one.year, one.month) for one in (seen - week, seen + week)}
        if not day and not stretches and (year, month) in near:
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

    @staticmethod
    def _stretches(text: Text, starts: Iterable[dt.date], day: int) -> list[Stretch]:
        """Return what the text counts to. "Next year, on 12 June" is one day of it."""
        is_dated = day and any(not one.endswith("-0") for one in text.words.dates)
        found = (row for one in starts for row in find_stretches(text.source, one))
        return [row for row in found if not (is_dated and row.years)]

    @cached_property
    def _most_shared(self) -> int:
        return max((shared_weight(self._line, text) for text, _ in self.days), default=0)


def shared_weight(line: Text, text: Text) -> int:
    """The weight of the words that a text has of a line."""
    units = [one for one in line.units if one.counts and not one.is_of_calendar]
    return sum(one.weight for one in units[:MOST_UNITS] if text.knows(one))


def _date(year: int, month: int, day: int) -> dt.date | None:
    with contextlib.suppress(ValueError):
        return dt.date(year, month, day)
    return None


def _first_days(text: Text, seen: dt.date) -> Iterator[dt.date]:
    """The first days of the months that a text names."""
    months = (at for at in range(1, 13) if has_month(text, at))
    return (dt.date(one, at, 1) for at in months for one in near_years(text.source, seen, at, 0))


def _has_weekday(text: Text, meant: dt.date, starts: Iterable[dt.date], most: int) -> bool:
    is_named = f"day {meant.weekday()}" in text.keys
    return is_named and any(abs((meant - one).days) <= most for one in starts)


_THIRDS = (
    (range(1, 12), r"early|beginning|start|anfang|principios|début|上旬|初"),
    (range(10, 22), r"\bmid|mitte|mediados|mi-|中旬|半ば"),
    (range(20, 32), r"\bend\b|\blate\b|ende\b|finales|fin\b|下旬|末"),
)


def _is_third_of_month(text: str, day: int) -> bool:
    """True when a text says of what third of a month it speaks, and the day is one of that."""
    return any(day in days and re.search(form, text, re.IGNORECASE) for days, form in _THIRDS)


def _days_alone(text: Text) -> Iterator[str]:
    """The days without a month of their own, in the months of the text: "from the 18th of December
    to the 27th"."""
    months = {date.split("-")[1] for date in text.words.dates}
    days = _DAY_ALONE.findall(text.source)
    return (f"0-{month}-{int(day)}" for month in months for day in days)


def _weekdays_of(text: Text) -> set[Unit]:
    return {unit for unit in text.units if unit.key.startswith("day ")}


def _full_dates(text: Text, seen: dt.date) -> Iterator[dt.date]:
    """The days that a text names, in the years that it may mean."""
    for year, month, day in (map(int, date.split("-")) for date in text.words.dates):
        for one in [year] if year else near_years(text.source, seen, month, day):
            with contextlib.suppress(ValueError):
                yield dt.date(one, month, day)
