"""Settings → Memory and Conversation: the fields of ``config.json``, by group."""

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.accounts.management import gate
from jenny.accounts.models import Workspace
from jenny.chat.models import look_again
from jenny.workspace import config
from jenny.workspace.config import Config, Raw
from jenny.workspace.errors import ConfigRefused, ConfirmationNeeded, WorkspaceError
from jenny.workspace.files import Actor
from memory import files
from memory.budgets import gauge
from memory.dream import schedule
from memory.dream.prompting import guide
from memory.management.commands.dream import GOOD
from memory.management.dreaming import clock
from memory.models import DreamRun
from settings_ui import values
from settings_ui.management import zone
from settings_ui.values import Asked

NEXT_TIMES = 3
# A run that is over its time by so long is worth a word: the machine may have been off for a night.
STALE_AFTER = timedelta(days=3)
_IDLE = "agents.defaults.idleCompactAfterMinutes"
_CONFIRMABLE = [key for key, row in config.BY_KEY.items() if row.confirm_below is not None]
_MEMORY = values.fields_of("memory")
_LIMITS = [row for row in _MEMORY if row.name.startswith("max")]
_BUDGETS = [row for row in _MEMORY if row.name.endswith("BudgetChars")]
_RUNS = [row for row in _MEMORY if row not in _LIMITS and row not in _BUDGETS]


@require_http_methods(["GET", "HEAD", "POST"])
def memory(request: HttpRequest) -> HttpResponse:
    """Dream: when it runs, by which model, how large the files may be, what waits for a person."""
    workspace = access.workspace(request)
    return group_page(request, workspace, "memory", _memory_context)


@require_POST
def make_guide(request: HttpRequest) -> HttpResponse:
    """Make the workspace's own guide for Dream from the built-in text, where none stands."""
    workspace = access.workspace(request)
    person = access.account(request)
    try:
        said = guide.init(workspace.root, Actor("browser", account=person.pk))
    except WorkspaceError as error:
        messages.error(request, error.sentence)
    else:
        messages.info(request, said.replace("`", ""))
    return redirect("settings_memory")


@require_http_methods(["GET", "HEAD", "POST"])
def conversation(request: HttpRequest) -> HttpResponse:
    """How long conversations are kept in the model's sight, and when they are summarised."""
    workspace = access.workspace(request)
    return group_page(request, workspace, "conversation", _plain_context("conversation"))


def group_page(
    request: HttpRequest,
    workspace: Workspace,
    group: str,
    context_of: Callable[[Workspace, Config, Asked | None], dict[str, Any]],
) -> HttpResponse:
    """Show a group's settings; by POST, change what was sent, all of it or nothing."""
    before = config.load(workspace.root)
    if request.method != "POST":
        return render(request, f"settings/{group}.html", context_of(workspace, before, None))
    sent = {name: texts[-1] for name, texts in request.POST.lists() if texts}
    asked = values.asked_of(before, values.fields_of(group), sent)
    more: dict[str, Any] = {}
    if not asked.problems:
        try:
            written = _write(workspace, before, asked, is_confirmed=sent.get("confirm") == "yes")
        except ConfirmationNeeded as error:
            more = {"confirm": list(error.problems.values())}
        except ConfigRefused as error:
            asked.problems.update(error.problems)
            more = {"problem": error.sentence}
        except WorkspaceError as error:
            more = {"problem": error.sentence}
        else:
            clock.keep(workspace, timezone.now())
            if asked.values.get(zone.KEY):
                _let_follow(request, str(asked.values[zone.KEY]))
            if _IDLE in asked.values and asked.values[_IDLE] != before.get(_IDLE):
                look_again(workspace)
            _say(request, workspace, before, asked, written=written)
            return redirect(request.path)
    context = context_of(workspace, before, asked) | more
    return render(
        request, f"settings/{group}.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _write(workspace: Workspace, before: Config, asked: Asked, *, is_confirmed: bool) -> bool:
    """Write what was asked for, through the funnel; whether anything was written."""

    def mutate(data: Raw) -> None:
        values.write_into(data, before, asked.values)

    confirmed = _CONFIRMABLE if is_confirmed else ()
    return config.change(workspace.root, mutate, confirmed=confirmed)


def _let_follow(request: HttpRequest, name: str) -> None:
    try:
        zone.follow(access.account(request), name)
    except WorkspaceError as error:
        messages.error(request, f"Another workspace keeps its time zone. {error.sentence}")


def _say(
    request: HttpRequest, workspace: Workspace, before: Config, asked: Asked, *, written: bool
) -> None:
    """Whether the write happened, and what is different now."""
    what = values.changed(before, config.load(workspace.root), asked.values)
    if not written or not what:
        messages.success(request, "Nothing was written: these were the values already.")
        return
    messages.success(request, f"Saved, and in use from the next run on. {'; '.join(what)}.")
    for one in gauge(workspace.root):
        if one.file.budget_key in asked.values and one.over:
            messages.info(
                request,
                f"{one.sentence} is {one.over:,} over. Nothing is cut: Dream may only make the "
                "file smaller until it fits.",
            )


def _memory_context(workspace: Workspace, found: Config, asked: Asked | None) -> dict[str, Any]:
    gauges = {row.file.budget_key: row for row in gauge(workspace.root)}
    due = clock.shown(workspace, now := timezone.now())
    timing = schedule.timing(found, workspace.owner.time_zone)
    place = ZoneInfo(timing.zone)
    lately = _lately(workspace, timing, now)
    times = schedule.upcoming(timing, due, now, NEXT_TIMES)
    return {
        **lately,
        "guide": guide.read(workspace.root),
        "is_paused": found.get(gate.PAUSE),
        "times": [moment.astimezone(place) for moment in times],
        "zone": timing.zone,
        "runs": values.rows(found, _RUNS, asked),
        "budgets": [
            {
                "row": row,
                "gauge": (one := gauges.get(row.field.key)),
                "changed": lately["changed"].get(one.file.path) if one else None,
            }
            for row in values.rows(found, _BUDGETS, asked)
        ],
        "limits": values.rows(found, _LIMITS, asked),
    }


def _lately(workspace: Workspace, timing: schedule.Timing, now: datetime) -> dict[str, Any]:
    """When Dream last got on, when each file last changed, and whether either is suspiciously long
    ago though Dream runs by itself."""
    runs = DreamRun.objects.filter(workspace=workspace, status__in=GOOD).order_by("-pk")
    last = runs.values_list("ended_at", flat=True).first()
    age = now - (last or workspace.created_at)
    changed: dict[str, datetime] = {}
    for file in files.BY_PATH:
        with contextlib.suppress(OSError):
            seconds = (workspace.root / file).stat().st_mtime
            changed[file] = datetime.fromtimestamp(seconds, UTC)
    return {
        "last_run": last,
        "is_stale": timing.is_on and age > timedelta(hours=timing.interval_h) + STALE_AFTER,
        "changed": changed,
    }


def _plain_context(
    group: str,
) -> Callable[[Workspace, Config, Asked | None], dict[str, Any]]:
    def context(_workspace: Workspace, found: Config, asked: Asked | None) -> dict[str, Any]:
        return {"rows": values.rows(found, values.fields_of(group), asked)}

    return context
