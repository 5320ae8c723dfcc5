"""Settings → System, the page of a job, and ``/metrics``."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from jenny.accounts import access
from jenny.accounts.models import Account, Job, Theme, UpSpan, Workspace
from jenny.accounts.models.activity import GAP
from jenny.accounts.services import health, jobs
from jenny.agent import clock
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs, retention
from jenny.workspace.config import Config
from settings_ui import plots, values
from settings_ui.services import accounts, metrics, workspaces
from settings_ui.values import SentForm
from settings_ui.views.values import group_page

# Disk space used by each part of the data, and how long the data is kept.


# A larger folder is measured in part, since the page must not take long to open.
MOST_ENTRIES = 50_000


@dataclass(frozen=True, slots=True)
class DiskPart:
    """A kind of stored data with its place and retention. ``size`` is in bytes, a lower bound
    with ``is_more``."""

    name: str
    kept: str
    size: int
    is_more: bool = False


def disk_part(name: str, kept: str, paths: Iterable[Path], *, most: int = MOST_ENTRIES) -> DiskPart:
    """Measure the files and folders of one part."""
    size, left = 0, most
    for path in paths:
        found, left = _measured(path, left)
        size += found
    return DiskPart(name, kept, size, is_more=left <= 0)


def disk_total(parts: Iterable[DiskPart]) -> DiskPart:
    rows = list(parts)
    return DiskPart("All", "", sum(row.size for row in rows), any(row.is_more for row in rows))


def _measured(path: Path, left: int) -> tuple[int, int]:
    """Return bytes and remaining entries to look at. Links are not followed; unreadable entries
    count 0."""
    size = 0
    waiting = [str(path)]
    try:
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size, left - 1
    except OSError:
        return 0, left
    while waiting and left > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return size, left


_HOW_LONG = {"week": "a week", "month": "a month", "year": "a year"}


@require_http_methods(["GET", "HEAD", "POST"])
def system_page(request: HttpRequest) -> HttpResponse:
    person, workspace = access.account(request), access.workspace(request)
    if request.method == "POST" and "developer_mode" in request.POST:
        _set_developer_mode(request, person)
        return redirect("settings_system")

    def context(row: Workspace, found: Config, asked: SentForm | None) -> dict[str, Any]:
        return {
            "rows": _rows(person, found, asked),
            "checks": health.checks(),
            "lines": lines(),
            "days": plots.DAYS,
            "retention": retention,
            **_disk(person, row, found),
        }

    return group_page(request, workspace, "system", context)


@require_http_methods(["GET", "HEAD", "POST"])
def appearance(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if request.method == "POST":
        _set_theme(request, person)
        return redirect("settings_appearance")
    return render(request, "settings/appearance.html", {"themes": Theme.choices})


def _rows(person: Account, found: Config, asked: SentForm | None) -> list[values.Row]:
    """Return the rows of the form; the zone is chosen from a list."""
    choices = (
        ("", f"The account's own (now {person.time_zone})"),
        *((name, name.replace("_", " ")) for name in sorted(clock.zone_names())),
    )
    return [
        replace(row, choices=choices) if row.field.key == accounts.KEY else row
        for row in values.rows(found, values.fields_of("system"), asked)
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def files(request: HttpRequest) -> HttpResponse:
    """Show what the last check of the workspace's files found; by POST, begin another one."""
    person, workspace = access.account(request), access.workspace(request)
    if request.method == "POST":
        return redirect("job", workspaces.begin_check(workspace, person).pk)
    context = {
        "last": workspaces.last_check(workspace),
        "under_way": workspaces.open_check(workspace),
        "slug": workspace.slug,
    }
    return render(request, "settings/health.html", context)


def lines() -> list[plots.AvailabilityLine]:
    now = timezone.now()
    rows: dict[str, list[tuple[str, Any, Any]]] = {name: [] for name in plots.PARTS}
    for part, host, start, last in UpSpan.objects.values_list(
        "part", "host", "started_at", "last_at"
    ):
        rows.setdefault(part, []).append((host, start, last))
    return [
        plots.availability_line(plots.PARTS.get(part, part), spans, now, GAP)
        for part, spans in rows.items()
    ]


def _disk(person: Account, workspace: Workspace, found: Config) -> dict[str, Any]:
    """Return disk usage of the account, and of the instance for its owner."""
    data = settings.JENNY_DATA
    keep = _HOW_LONG.get(found.snapshots.keep_for, "")
    snapshots = "until you delete them"
    if keep:
        snapshots = f"{keep}, the newest {retention.NEWEST_SNAPSHOTS} always"
    in_trash = retention.in_words(retention.TRASH)
    in_parts = retention.in_words(retention.UPLOAD_PART)
    versions = workspace.root / "memory" / ".git"
    parts = [
        disk_part(f"Files of “{workspace.name}”", "until you delete them", [workspace.root]),
        disk_part("of these, versions of the memory files", "for good", [versions]),
        disk_part("Its snapshots", snapshots, [data.snapshots / f"{workspace.pk}.git"]),
        disk_part("Its trash", in_trash, [data.trash / str(workspace.pk)]),
        disk_part("Uploads that broke off, or wait", in_parts, [data.uploads / str(person.pk)]),
    ]
    other = person.workspaces(manager="all_objects").exclude(pk=workspace.pk)
    if roots := [row.root for row in other]:
        kept = f"deleted ones {retention.in_words(retention.DELETED_WORKSPACE)}"
        parts.append(disk_part("Your other workspaces", kept, roots))
    if person.is_superuser:
        parts += _instance(data.root)
    return {"parts": parts, "free": _free(data.root)}


def _instance(root: Path) -> list[DiskPart]:
    newest = f"the last {retention.DATABASE_COPIES}"
    backups = disk_part("Copies of the database", newest, [root / "backups"])
    queue = disk_part("The queue", "made anew when lost", [settings.JENNY_DATA.redis])
    return [
        DiskPart("The database", "what was said, until it is deleted", _database_size()),
        backups,
        queue,
    ]


def _database_size() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    base = Path(settings.DATABASES["default"]["NAME"])
    files = [base, base.with_name(f"{base.name}-wal"), base.with_name(f"{base.name}-shm")]
    return disk_part("", "", files).size


def _free(root: Path) -> int | None:
    try:
        return shutil.disk_usage(root).free
    except OSError:
        return None


def _set_theme(request: HttpRequest, person: Account) -> None:
    wanted = request.POST.get("theme", "")
    if wanted not in Theme.values:
        messages.error(request, "This look is not known. Nothing was changed.")
        return
    done = Account.objects.filter(pk=person.pk).exclude(theme=wanted).update(theme=wanted)
    said = Theme(wanted).label.lower()
    messages.success(request, f"The look is {said} now." if done else f"It was {said} already.")


def _set_developer_mode(request: HttpRequest, person: Account) -> None:
    wants = request.POST.getlist("developer_mode")[-1] == "on"
    done = Account.objects.filter(pk=person.pk, developer_mode=not wants)
    state = "on" if wants else "off"
    if done.update(developer_mode=wants):
        messages.success(request, f"Developer mode is {state} now.")
    else:
        messages.success(request, f"Developer mode was {state} already.")


# ``/metrics`` for Prometheus, when the operator enabled it.


@login_not_required
@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if settings.JENNY_METRICS != "on":
        raise Http404
    token = settings.JENNY_METRICS_TOKEN
    if token and not constant_time_compare(
        request.headers.get("Authorization", ""), f"Bearer {token}"
    ):
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)


# Jobs that are listed beside the page's job.
RECENT = 8
OTHER = jobs.JobKind(task="", title="Work")


@require_safe
def job_page(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show a job; htmx polls its content every second while it runs."""
    job = _job(request, job_id)
    is_fragment = request.headers.get("HX-Request") == "true"
    context = _job_context(job, _elsewhere(request, job)) | {"is_fragment": is_fragment}
    if not is_fragment or not job.is_open:
        context["recent"] = [(one, _title(one)) for one in _jobs(request).order_by("-pk")[:RECENT]]
    answer = render(request, f"jobs/job.html{'#middle' if is_fragment else ''}", context)
    if not job.is_open and is_fragment:
        answer["HX-Trigger"] = "job-ended"
    return answer


def _job(request: HttpRequest, job_id: int) -> Job:
    """Return the job when it belongs to a workspace of the account."""
    rows = _jobs(request)
    if job_id > 2**62:
        raise Http404
    return get_object_or_404(rows, pk=job_id)


def _jobs(request: HttpRequest) -> "QuerySet[Job]":
    person = access.account(request)
    return Job.objects.filter(workspace__owner=person, workspace__deleted_at=None)


def _title(job: Job) -> str:
    return jobs.KINDS.get(job.kind, OTHER).title


def _elsewhere(request: HttpRequest, job: Job) -> Workspace | None:
    """Return the workspace of the job's links when it is not the session's: an import may have
    created it."""
    target = str(job.arguments.get("workspace") or job.workspace_id)
    current = access.current_workspace(request)
    return None if current and str(current.pk) == target else access.own_workspace(request, target)


def _job_context(job: Job, elsewhere: Workspace | None) -> dict[str, Any]:
    about = jobs.KINDS.get(job.kind, OTHER)
    links = job.result.get("links", [])
    return {
        "job": job,
        "title": about.title,
        "home": {"href": about.home[0], "label": about.home[1]},
        "elsewhere": elsewhere,
        "links": [link for link in links if link.get("download")] if elsewhere else links,
        "lists": job.result.get("lists", []),
        "diff": markdown(diffs.fenced(diff)) if (diff := job.result.get("diff")) else "",
    }
