"""What models used, added up for a page: by day, by kind of run, by model."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jenny.accounts.usage_kinds import label

# The longest period of the page, and those that can be chosen.
PERIODS = (7, 30, 90)
MEASURES = {"tokens": "Tokens", "cost": "Cost"}


@dataclass(slots=True)
class Sum:
    """Requests, tokens and cost of something. ``unpriced``: tokens that are in no cost, since
    nobody named their price."""

    name: str = ""
    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, other: "Sum") -> None:
        """Count *other* in."""
        self.requests += other.requests
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost += other.cost
        self.unpriced += other.unpriced

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def amount(self) -> str:
        """The cost where there is little room; empty when no price is known."""
        return "" if self.unpriced and self.unpriced >= self.tokens else money(self.cost)

    @property
    def price(self) -> str:
        """The cost in words; what has no price is said, and never counted as nothing."""
        if not self.unpriced:
            return money(self.cost)
        if self.unpriced >= self.tokens:
            return "no price known"
        return f"{money(self.cost)}, and {self.unpriced:,} tokens without a price"


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored row: a day's requests of one kind of run to one model."""

    day: dt.date
    kind: str
    model: str
    used: Sum


@dataclass(frozen=True, slots=True)
class Report:
    """A period's use. ``days`` has every day of it, the newest first, also those without any."""

    days: Sequence[Sum]
    kinds: Sequence[Sum]
    models: Sequence[Sum]
    total: Sum
    by_day: dict[tuple[dt.date, str], Sum] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked at all."""
        return self.total.requests == 0


def report(entries: Iterable[Entry], last: dt.date, count: int) -> Report:
    """The use of the *count* days that end with *last*."""
    first = last - dt.timedelta(days=count - 1)
    rows = [row for row in entries if first <= row.day <= last]
    total = Sum("All")
    by_day: dict[tuple[dt.date, str], Sum] = {}
    days = {last - dt.timedelta(days=back): Sum() for back in range(count)}
    for day, found in days.items():
        found.name = f"{day:%a %-d %b}"
    for row in rows:
        total.add(row.used)
        days[row.day].add(row.used)
        by_day.setdefault((row.day, row.kind), Sum(label(row.kind))).add(row.used)
    return Report(
        days=list(days.values()),
        kinds=_grouped(rows, lambda row: label(row.kind)),
        models=_grouped(rows, lambda row: row.model),
        total=total,
        by_day=by_day,
    )


def money(amount: Decimal) -> str:
    """An amount of US dollars; a small one is not shown as nothing."""
    if 0 < amount < Decimal("0.01"):
        return "less than $0.01"
    return f"${amount:,.2f}"


def _grouped(rows: Sequence[Entry], name_of: Callable[[Entry], str]) -> list[Sum]:
    found: dict[str, Sum] = {}
    for row in rows:
        found.setdefault(name_of(row), Sum(name_of(row))).add(row.used)
    return sorted(found.values(), key=lambda one: (-one.tokens, one.name))
