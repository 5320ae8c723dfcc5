"""Settings → Memory updates and Conversation: the fields of ``config.json``, by group."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation, ProjectState, look_again
from jenny.chat.services import gardener
from jenny.workspace import config, stat_signature
from jenny.workspace.config import Config, Field, Raw
from jenny.workspace.errors import ConfigRefused, ConfirmationNeeded, WorkspaceError
from jenny.workspace.files import Actor
from memory import dream_guide, files
from memory.budgets import gauge
from memory.management.commands.dream import GOOD
from memory.models import DreamRun
from memory.services import dream_scheduler
from settings_ui import values
from settings_ui.services import accounts
from settings_ui.values import SentForm
from wikis import pages, project, wikis_block

NEXT_TIMES = 3
STALE_AFTER = timedelta(days=3)
_IDLE = "agents.defaults.idleCompactAfterMinutes"
_CONFIRMABLE = [key for key, row in config.BY_KEY.items() if row.confirm_below is not None]
_MEMORY = values.fields_of("memory")
_LIMITS = [row for row in _MEMORY if row.name.startswith("max")]
_BUDGETS = [row for row in _MEMORY if row.name.endswith("BudgetChars")]
# What most people change; the rest of a group is advanced.
_MAIN = {
    "enabled",
    "intervalH",
    "approve",
    "modelOverride",
    "contextWindowTokens",
    "idleCompactAfterMinutes",
    "dictation",
    "reading",
}
_RUNS = [row for row in _MEMORY if row not in _LIMITS and row not in _BUDGETS]


@require_http_methods(["GET", "HEAD", "POST"])
def memory(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    return group_page(request, workspace, "memory", _memory_context)


@require_POST
def make_guide(request: HttpRequest) -> HttpResponse:
    """Create the workspace's own guide for Dream from the built-in text unless it has one."""
    workspace = access.workspace(request)
    person = access.account(request)
    try:
        said = dream_guide.create_guide(workspace.root, Actor("browser", account=person.pk))
    except WorkspaceError as error:
        messages.error(request, error.message)
    else:
        messages.info(request, said.replace("`", ""))
    return redirect("settings_memory")


@require_POST
def keep_defaults(request: HttpRequest) -> HttpResponse:
    """Keep the values that an update's changed defaults left as they were, and end the notice."""
    try:
        config.accept_defaults(access.workspace(request).root)
    except WorkspaceError as error:
        messages.error(request, error.message)
    return redirect(access.way_back(request))


@require_http_methods(["GET", "HEAD", "POST"])
def conversation(request: HttpRequest) -> HttpResponse:
    """Show the settings of context and consolidation."""
    workspace = access.workspace(request)
    return group_page(request, workspace, "conversation", _plain_context("conversation"))


def group_page(
    request: HttpRequest,
    workspace: Workspace,
    group: str,
    context_of: Callable[[Workspace, Config, SentForm | None], dict[str, Any]],
) -> HttpResponse:
    """Show a group's settings; a POST changes all that was sent, or nothing."""
    before = config.load_config(workspace.root)
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
            more = {"problem": error.message}
        except WorkspaceError as error:
            more = {"problem": error.message}
        else:
            dream_scheduler.keep_schedule(workspace, timezone.now())
            if asked.values.get(accounts.KEY):
                _let_follow(request, str(asked.values[accounts.KEY]))
            if _IDLE in asked.values and asked.values[_IDLE] != before.values[_IDLE]:
                look_again(workspace)
            _say(request, workspace, before, asked, written=written)
            return redirect(request.path)
    context = context_of(workspace, before, asked) | more
    return render(
        request, f"settings/{group}.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _write(workspace: Workspace, before: Config, asked: SentForm, *, is_confirmed: bool) -> bool:
    """Write the requested values through the config store; ``True`` when something changed."""

    def mutate(data: Raw) -> None:
        values.write_into(data, before, asked.values)

    confirmed = _CONFIRMABLE if is_confirmed else ()
    return config.change_config(workspace.root, mutate, confirmed=confirmed)


def _let_follow(request: HttpRequest, name: str) -> None:
    try:
        accounts.set_time_zone(access.account(request), name)
    except WorkspaceError as error:
        messages.error(request, f"Another workspace keeps its time zone. {error.message}")


def _say(
    request: HttpRequest,
    workspace: Workspace,
    before: Config,
    asked: SentForm,
    *,
    written: bool,
) -> None:
    what = values.changed(before, config.load_config(workspace.root), asked.values)
    if not written or not what:
        messages.success(request, "Nothing was written: these were the values already.")
        return
    messages.success(request, f"Saved, and in use from the next run on. {'; '.join(what)}.")
    for one in gauge(workspace.root):
        if one.file.budget_key in asked.values and one.over:
            messages.info(
                request,
                f"{one.message} is {one.over:,} over. Nothing is cut: Dream may only make the "
                "file smaller until it fits.",
            )


def _memory_context(workspace: Workspace, found: Config, asked: SentForm | None) -> dict[str, Any]:
    gauges = {row.file.budget_key: row for row in gauge(workspace.root)}
    due = dream_scheduler.load_next_deadline(workspace, now := timezone.now())
    timing = dream_scheduler.parse_timing(found, workspace.owner.time_zone)
    place = ZoneInfo(timing.zone)
    lately = _lately(workspace, timing, now)
    times = dream_scheduler.list_deadlines(timing, due, now, NEXT_TIMES)
    return {
        **lately,
        "guide": dream_guide.read_guide(workspace.root),
        "is_paused": found.privacy.pause_model_calls,
        "times": [moment.astimezone(place) for moment in times],
        "zone": timing.zone,
        **_layers(found, _RUNS, asked),
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


def _lately(workspace: Workspace, timing: dream_scheduler.Timing, now: datetime) -> dict[str, Any]:
    """Return Dream's last progress and each file's last change, and whether they are suspiciously
    old while Dream is scheduled."""
    runs = DreamRun.objects.filter(workspace=workspace, status__in=GOOD).order_by("-pk")
    last = runs.values_list("ended_at", flat=True).first()
    age = now - (last or workspace.created_at)
    changed: dict[str, datetime] = {}
    for file in files.BY_PATH:
        with contextlib.suppress(OSError):
            seconds = (workspace.root / file).stat().st_mtime
            changed[file] = stat_signature.moment_of(seconds)
    return {
        "last_run": last,
        "is_stale": timing.is_on and age > timedelta(hours=timing.interval_h) + STALE_AFTER,
        "changed": changed,
    }


def _plain_context(
    group: str,
) -> Callable[[Workspace, Config, SentForm | None], dict[str, Any]]:
    def context(_workspace: Workspace, found: Config, asked: SentForm | None) -> dict[str, Any]:
        return _layers(found, values.fields_of(group), asked)

    return context


def _layers(found: Config, fields: list[Field], asked: SentForm | None) -> dict[str, Any]:
    """Return the rows that stand first, the advanced ones, and whether those are to be seen."""
    rows = values.rows(found, fields, asked)
    return {
        "main": [row for row in rows if row.name in _MAIN],
        "advanced": [row for row in rows if row.name not in _MAIN],
        "is_open": asked is not None,
    }


@dataclass(frozen=True, slots=True)
class ProjectRow:
    name: str
    scope: str
    conversations: int = 0
    knows_memory: bool = True
    tried: datetime | None = None
    why: str = ""
    problem: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
def projects_page(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    return group_page(request, workspace, "projects", _projects_context)


@require_POST
def tidy(request: HttpRequest, name: str) -> HttpResponse:
    workspace = access.workspace(request)
    try:
        pages.open_wiki(workspace.root, name)
    except WorkspaceError as error:
        raise Http404(error.message) from error
    job = gardener.request_tidy(workspace, access.account(request), name)
    if not job.is_new and job.arguments.get("project") != name:
        messages.info(request, "Another project is being tidied. Ask again when it is done.")
    return redirect("job", job.pk)


def _projects_context(
    workspace: Workspace, found: Config, asked: SentForm | None
) -> dict[str, Any]:
    return {
        "rows": values.rows(found, values.fields_of("projects"), asked),
        "projects": _projects(workspace),
    }


def _projects(workspace: Workspace) -> list[ProjectRow]:
    own = Conversation.objects.filter(workspace=workspace, kind=Conversation.Kind.PROJECT)
    counts = dict(own.values_list("project").annotate(Count("pk")))
    states = {row.name: row for row in ProjectState.objects.filter(workspace=workspace)}
    return [
        _project_row(workspace, wiki, counts.get(wiki.name, 0), states.get(wiki.name))
        for wiki in wikis_block.listing(workspace.root)
    ]


def _project_row(
    workspace: Workspace, wiki: wikis_block.Wiki, conversations: int, state: ProjectState | None
) -> ProjectRow:
    try:
        knows, problem = project.read_project(workspace.root, wiki.name).knows_memory, wiki.problem
    except WorkspaceError as error:
        knows, problem = True, error.message
    return ProjectRow(
        wiki.name,
        wiki.scope,
        conversations,
        knows,
        state.attempted_at if state else None,
        state.why if state else "",
        problem,
    )
