"""Usage of models summed by day, kind of run and model."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jenny.agent.run_kinds import usage_label

# Periods to choose from, in days; the last one is the longest.
PERIODS = (7, 30, 90)
MEASURES = {"tokens": "Tokens", "cost": "Cost"}


@dataclass(slots=True)
class Sum:
    name: str = ""
    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, other: "Sum") -> None:
        self.requests += other.requests
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost += other.cost
        self.unpriced += other.unpriced

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def amount(self) -> str:
        """Format the cost briefly; empty without a known price."""
        return "" if self.unpriced and self.unpriced >= self.tokens else money(self.cost)

    @property
    def price(self) -> str:
        """Format the cost in words. Usage without a price is named and never counted as 0."""
        if not self.unpriced:
            return money(self.cost)
        if self.unpriced >= self.tokens:
            return "no price known"
        return f"{money(self.cost)}, and {self.unpriced:,} tokens without a price"


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored row: the requests of one kind of run to one model on one day."""

    day: dt.date
    kind: str
    model: str
    used: Sum


@dataclass(frozen=True, slots=True)
class Report:
    """Usage of a period. ``days`` lists every day of it, newest first, also days without usage."""

    days: Sequence[Sum]
    kinds: Sequence[Sum]
    models: Sequence[Sum]
    total: Sum
    by_day: dict[tuple[dt.date, str], Sum] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.total.requests == 0


def report(entries: Iterable[Entry], last: dt.date, count: int) -> Report:
    """Sum up the usage of the *count* days that end with *last*."""
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
        by_day.setdefault((row.day, row.kind), Sum(usage_label(row.kind))).add(row.used)
    return Report(
        days=list(days.values()),
        kinds=_grouped(rows, lambda row: usage_label(row.kind)),
        models=_grouped(rows, lambda row: row.model),
        total=total,
        by_day=by_day,
    )


def money(amount: Decimal) -> str:
    if 0 < amount < Decimal("0.01"):
        return "less than $0.01"
    return f"${amount:,.2f}"


def _grouped(rows: Sequence[Entry], name_of: Callable[[Entry], str]) -> list[Sum]:
    found: dict[str, Sum] = {}
    for row in rows:
        found.setdefault(name_of(row), Sum(name_of(row))).add(row.used)
    return sorted(found.values(), key=lambda one: (-one.tokens, one.name))
