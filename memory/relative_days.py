"""The days that a text means when it counts from the day on which it was said: "tomorrow",
"in two weeks", "nächsten Samstag", "再来週"."""

import calendar
import contextlib
import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from jenny.text_normalisation import case_key

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
_SHORT, _FAR_DAYS = 3, 300
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
    return tuple(found)


_PAST = re.compile(
    r"\b(?:was|were|had|been|ago|last|since|went|bought|got|began|met|left|took|came|born|died"
    r"|\w{2,}ed|war|waren|hatte|hatten|wurde|wurden|seit|\w*ge\w{3,}(?:t|en)|fue|était)\b"
    r"|(?:た|だ)(?:[。、がのま]|$)|以来|了",
    re.IGNORECASE,
)
# The further one of the dates before and behind a day may be so much further away.
_ALIKE_FAR = 1.5
_MIDDLE = 15


def near_years(text: str, said: dt.date, month: int, day: int) -> set[int]:
    """The years that a date without a year may mean that was said on a day: the one next to it; of
    two that are about as far away, or where the text tells of the past, the one before as well."""
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


_GAP = re.compile(r"[\s,;:(（、–—-]*(?=\d)")


def is_dated_note(line: str, text: str, weekdays: Iterable[str] = ()) -> bool:
    """True when a line keeps the relative words of a text, or these *weekdays*, and no date stands
    beside them as theirs: "Due tomorrow (said on 30 November 2026)"."""
    forms = [form for form, *_ in _COMPILED if form.search(text)]
    forms += [re.compile(re.escape(word)) for word in weekdays]
    kept = (found for form in forms if (found := form.search(line)))
    return any(not _GAP.match(line, found.end()) for found in kept)
