import datetime as dt
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
from memory.services.dream import scheduler
from settings_ui import plots, usage
from settings_ui.forms import CapsForm
from settings_ui.usage import Entry, Report, Sum

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
        parts.append(f"{usage.money(wanted.cost)} a day")
    return f"At most {' and '.join(parts)}." if parts else "There is no limit."


def _go_on(person: Account) -> str:
    """Resume what waited for a higher limit and return a sentence about it."""
    if account_usage.why_spent(person.pk):
        return ""
    going = 0
    for row in person.workspaces(manager="objects").exclude(folder_made_at=None):
        if not account_usage.why_calls_wait(row):
            scheduler.catch_up(row)
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
    if measure not in usage.MEASURES:
        measure = "tokens"
    today = account_usage.today(person.time_zone)
    found = usage.report(_entries(person, today, count), today, count)
    used = account_usage.used_today(person)
    bounds = account_usage.caps_of(person)
    said = account_usage.spent_sentence(bounds, used.tokens, used.cost)
    context = {
        "form": form,
        "report": found,
        "plot": None if found.is_empty else _plot(found, today, count, measure),
        "measure": measure,
        "measures": usage.MEASURES.items(),
        "days": count,
        "periods": usage.PERIODS,
        "zone": person.time_zone,
        "caps": bounds,
        "used": used,
        "used_cost": usage.money(used.cost),
        "spent": f"{said} {account_usage.until_sentence(person.time_zone)}" if said else "",
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "settings/usage.html", context, status=status)


def _days(request: HttpRequest) -> int:
    try:
        asked = int(request.GET.get("days", ""))
    except ValueError:
        return _DEFAULT_DAYS
    return asked if asked in usage.PERIODS else _DEFAULT_DAYS


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
