"""Numbers that follow from numbers of a text: the same amount in another unit, the hours of an
afternoon, and the years since a year."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from memory.fact_units import Text


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in the unit of its kind; *digits*: how it is written."""

    kind: str
    total: Fraction
    digits: str = field(compare=False)


# The unit in which the amounts of a row are compared, and how many of it each has.
_UNITS: dict[str, tuple[tuple[str, int | Fraction], ...]] = {
    "minute": (
        (r"min(?:ute)?[ns]?|minuten|分(?!の)", 1),
        (r"h|hours?|hrs?|stunden?|時間", 60),
        (r"days?|tage?n?|tägig\w*|日(?:間)?", 1440),
        (r"weeks?|wochen?|wöch\w+|週(?:間)?", 10_080),
    ),
    "month": (
        (r"months?|monate?n?|monatig\w*|[かヶカ]月", 1),
        (r"years?|jahre?n?|jährig\w*|年(?:間)?", 12),
        (r"quarters?|quartale?n?", 3),
    ),
    "gram": ((r"g|grams?|gramm|グラム", 1), (r"kg|kilos?|キロ(?:グラム)?", 1000)),
    "metre": (
        (r"mm", Fraction(1, 1000)),
        (r"cm", Fraction(1, 100)),
        (r"m|met(?:re|er)s?|metern?", 1),
        (r"km", 1000),
    ),
    "millilitre": ((r"ml", 1), (r"l|lit(?:re|er)s?|litern?|リットル", 1000)),
    "megabyte": ((r"mb", 1), (r"gb", 1024), (r"tb", 1_048_576)),
    "one": (
        (r"k|thousand|tausend|千", 1000),
        (r"m(?:io|n)?|million(?:en|s)?", 1_000_000),
        (r"万", 10_000),
    ),
}
_NUMBER = r"(?<![\d.,:-])(\d{1,9}(?:[.,]\d{1,2})?)"
_FORMS = tuple(
    (kind, Fraction(factor), re.compile(rf"{_NUMBER}[\s-]?(?:{form})(?![a-zäöü])", re.IGNORECASE))
    for kind, rows in _UNITS.items()
    for form, factor in rows
)
_PLAIN = re.compile(r"(?<![\d.,:])(\d{1,3}(?:[.,]\d{3})+|\d{4,9})(?![\d:])")
# An hour that says no half of the day.
_HOUR = re.compile(
    r"\b(?:at|from|to|until|till|by|before|after|um|ab|von|bis|vor|nach|gegen)\s(\d{1,2})(?::(\d\d))?"
    r"(?!\s?(?:am\b|a\.m|:|\d|[.,]\d|%|days?|weeks?|months?|years?|tag|woche|monat|jahr))"
)
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)")
_EVENING = re.compile(r"夜|晩|夕|午後")
_HALF = re.compile(r"\bhalf\b(?! past)|\bhälfte\b|半[分額]|\bmitad\b|\bmoitié\b", re.IGNORECASE)
_EVERY_MONTHS = re.compile(r"\b(?:every|alle) (\d) (?:months|monate)", re.IGNORECASE)
_SHARES_OF_A_YEAR = (2, 3, 4, 6)
_PARTS = re.compile(r"\d+")
_RATIO = re.compile(
    r"(?<![\d.,])(\d+)"
    r"(?:\s?[:/]\s?|\s(?:zu|to|auf|over|a|sur|h|hours?(?: and)?|stunden?(?: und)?)\s|対|時間)"
    r"(\d+)(?![\d.,])"
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)?")
_NOON, _MIDNIGHT = 12, 24
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_SINCE = re.compile(
    r"\b(?:since|from|born|seit|ab|geboren|geb|jahrgang|in)\b|生まれ|から|以来", re.IGNORECASE
)
_TIME = re.compile(r"\d{1,2}:\d\d")


@lru_cache(maxsize=4_000)
def find_amounts(text: str) -> tuple[Amount, ...]:
    """The amounts of a text that have a unit, and its great numbers."""
    found = [
        Amount(kind, Fraction(match[1].replace(",", ".")) * factor, match[1])
        for kind, factor, form in _FORMS
        for match in form.finditer(text)
    ]
    return (*found, *_great_numbers(text))


def _great_numbers(text: str) -> Iterator[Amount]:
    for match in _PLAIN.finditer(text):
        digits = re.sub("[.,]", "", match[1])
        yield Amount("one", Fraction(digits), digits)


@dataclass(frozen=True, slots=True)
class DerivedNumbers:
    amounts: set[Amount] = field(default_factory=set)
    times: set[str] = field(default_factory=set)
    spans: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    ratios: set[tuple[str, ...]] = field(default_factory=set)

    def has(self, number: str, own: Iterable[Amount]) -> bool:
        """True when a number of a line, of which *own* are the amounts, follows from the texts."""
        times = _TIME.findall(number)
        if number.endswith("%") and number[:-1] in self.parts:
            return True
        if tuple(_PARTS.findall(number)) in self.ratios:
            return True
        if number in self.spans or (times and self.times.issuperset(times)):
            return True
        found = _DIGITS.match(number)
        return found is not None and any(
            amount in self.amounts and found[0] in {amount.digits, *re.split("[.,]", amount.digits)}
            for amount in own
        )


def derive_numbers(texts: Iterable[tuple[Text, dt.date | None]]) -> DerivedNumbers:
    """*texts*: each with the day on which it was said, where that is known."""
    found = DerivedNumbers()
    for text, said in texts:
        found.amounts.update(find_amounts(text.source))
        # "60:40" where "60/40" was said.
        found.parts.update(_PARTS.findall(text.source))
        found.ratios.update(_RATIO.findall(text.source))
        found.times.update(_later_times(text.source))
        if _HALF.search(text.source):
            found.spans.update(("50", "50%"))
        for number in map(int, _EVERY_MONTHS.findall(text.source)):
            if number in _SHARES_OF_A_YEAR:
                found.spans.add(str(12 // number))
        if said and _SINCE.search(text.source):
            found.spans.update(_spans(text.source, said))
    return found


# How often something happens, by the stretch in which it does.
_RATES = {
    "day": r"\b(?:daily|nightly|(?:per|a|every|each) (?:day|night|morning|evening)|täglich"
    r"|(?:jede[nr]?|pro|am) (?:tag|nacht|morgen|abend)|al día|cada (?:día|noche)|par jour)\b"
    r"|毎[日晩朝夜]|1?日に?\d回|日に\d",
    "week": r"\b(?:weekly|(?:per|a|every|each) week|wöchentlich|(?:jede|pro|in der) woche"
    r"|(?:a la|por|cada) semana|par semaine)\b|毎週|週に?\d回|週に\d",
    "month": r"\b(?:monthly|(?:per|a|every|each) month|monatlich|(?:jeden|pro|im) monat"
    r"|al mes|por mes|par mois)\b|毎月|月に?\d[回度]|月に\d",
    "year": r"\b(?:yearly|annually|(?:per|a|every|each) year|jährlich|(?:jedes|pro|im) jahr"
    r"|al año|par an)\b|毎年|年に?\d[回度]|年に\d",
}
_RATE_FORMS = {unit: re.compile(form, re.IGNORECASE) for unit, form in _RATES.items()}


@lru_cache(maxsize=4_000)
def find_rates(text: str) -> dict[str, str]:
    """Return how often something happens in a text: the stretches, each with its words."""
    found = ((unit, form.search(text)) for unit, form in _RATE_FORMS.items())
    return {unit: match[0] for unit, match in found if match}


def _later_times(text: str) -> Iterator[str]:
    """The hours of an afternoon or evening that a text may mean."""
    times = _HOUR.findall(text) + (_CLOCK.findall(text) if _EVENING.search(text) else [])
    return (
        f"{(int(hour) + _NOON) % _MIDNIGHT}:{minute or '00'}"
        for hour, minute in times
        if int(hour) <= _NOON
    )


def _spans(text: str, said: dt.date) -> Iterator[str]:
    for year in map(int, _YEAR.findall(text)):
        if year < said.year:
            yield from (str(said.year - year), str(said.year - year - 1))
