"""Settings → Usage: tokens and costs by day, kind of run and model, and daily limits."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access
from jenny.accounts.models import Account, UsageDay
from jenny.accounts.services import usage as account_usage
from jenny.agent.run_kinds import usage_label
from jenny.chat.services import turn_recovery
from memory.services import dream_scheduler
from settings_ui import plots
from settings_ui.forms import CapsForm

# Usage of models summed by day, kind of run and model.


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


_DEFAULT_DAYS = 30


@require_http_methods(["GET", "HEAD", "POST"])
def usage_page(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if request.method != "POST":
        return _page(request, person, CapsForm(initial=_initial(person)))
    form = CapsForm(request.POST)
    if not form.is_valid():
        return _page(request, person, form)
    before = account_usage.caps_of(person)
    wanted = account_usage.Caps(
        form.cleaned_data["maxTokensPerDay"], form.cleaned_data["maxCostPerDay"]
    )
    if wanted == before:
        messages.success(request, "Nothing was written: these were the limits already.")
        return redirect("settings_usage")
    Account.objects.filter(pk=person.pk).update(
        max_tokens_per_day=wanted.tokens, max_cost_per_day=wanted.cost
    )
    person.refresh_from_db(fields=["max_tokens_per_day", "max_cost_per_day"])
    going = _go_on(person)
    messages.success(
        request, f"Saved, and in force from the next request on. {_said(wanted)}{going}"
    )
    return redirect("settings_usage")


def _said(wanted: account_usage.Caps) -> str:
    parts = []
    if wanted.tokens is not None:
        parts.append(f"{wanted.tokens:,} tokens a day")
    if wanted.cost is not None:
        parts.append(f"{money(wanted.cost)} a day")
    return f"At most {' and '.join(parts)}." if parts else "There is no limit."


def _go_on(person: Account) -> str:
    """Resume what waited for a higher limit and return a sentence about it."""
    if account_usage.why_spent(person.pk):
        return ""
    going = 0
    for row in person.workspaces(manager="objects").exclude(folder_made_at=None):
        if not account_usage.why_calls_wait(row):
            dream_scheduler.catch_up(row)
            going += turn_recovery.resume(row)
    if not going:
        return ""
    count = "One conversation goes" if going == 1 else f"{going:,} conversations go"
    return f" {count} on where it stopped." if going == 1 else f" {count} on where they stopped."


def _initial(person: Account) -> dict[str, Any]:
    return {
        "maxTokensPerDay": person.max_tokens_per_day,
        "maxCostPerDay": person.max_cost_per_day,
    }


def _page(request: HttpRequest, person: Account, form: CapsForm) -> HttpResponse:
    count = _days(request)
    measure = request.GET.get("show", "")
    if measure not in MEASURES:
        measure = "tokens"
    today = account_usage.today(person.time_zone)
    found = report(_entries(person, today, count), today, count)
    used = account_usage.used_today(person)
    bounds = account_usage.caps_of(person)
    said = account_usage.spent_sentence(bounds, used.tokens, used.cost)
    context = {
        "form": form,
        "report": found,
        "plot": None if found.is_empty else _plot(found, today, count, measure),
        "measure": measure,
        "measures": MEASURES.items(),
        "days": count,
        "periods": PERIODS,
        "zone": person.time_zone,
        "caps": bounds,
        "used": used,
        "used_cost": money(used.cost),
        "spent": f"{said} {account_usage.until_sentence(person.time_zone)}" if said else "",
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "settings/usage.html", context, status=status)


def _days(request: HttpRequest) -> int:
    try:
        asked = int(request.GET.get("days", ""))
    except ValueError:
        return _DEFAULT_DAYS
    return asked if asked in PERIODS else _DEFAULT_DAYS


def _entries(person: Account, today: dt.date, count: int) -> list[Entry]:
    rows = UsageDay.objects.filter(
        account=person, day__gt=today - dt.timedelta(days=count), day__lte=today
    )
    return [
        Entry(
            row.day,
            row.kind,
            row.model,
            Sum(
                requests=row.requests,
                input=row.input_tokens,
                output=row.output_tokens,
                cache_read=row.cache_read_tokens,
                cache_write=row.cache_write_tokens,
                cost=row.cost,
                unpriced=row.unpriced_tokens,
            ),
        )
        for row in rows
    ]


def _plot(found: Report, today: dt.date, count: int, measure: str) -> plots.Plot:
    days = [today - dt.timedelta(days=back) for back in reversed(range(count))]
    series: dict[str, dict[dt.date, int | Decimal]] = {kind.name: {} for kind in found.kinds}
    shown = {}
    for (day, kind), one in found.by_day.items():
        series[usage_label(kind)][day] = one.tokens if measure == "tokens" else one.cost
        words = f"{one.tokens:,} tokens" if measure == "tokens" else one.price
        shown[f"{usage_label(kind)} {day}"] = words
    return plots.stacked(days, series, shown)
