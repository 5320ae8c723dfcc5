import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from jenny.accounts import access, time_zones
from jenny.accounts.models import Account, Theme, UpSpan, Workspace
from jenny.accounts.models.activity import GAP
from jenny.accounts.services import health
from jenny.workspace import retention
from jenny.workspace.config import Config
from settings_ui import activity, disk, values
from settings_ui.services import account_timezone, workspace_health
from settings_ui.values import Asked
from settings_ui.views.values import group_page

_KEEP_FOR = "snapshots.keepFor"
_HOW_LONG = {"week": "a week", "month": "a month", "year": "a year"}


@require_http_methods(["GET", "HEAD", "POST"])
def system_page(request: HttpRequest) -> HttpResponse:
    person, workspace = access.account(request), access.workspace(request)
    if request.method == "POST" and "developer_mode" in request.POST:
        _set_developer_mode(request, person)
        return redirect("settings_system")

    def context(row: Workspace, found: Config, asked: Asked | None) -> dict[str, Any]:
        return {
            "rows": _rows(person, found, asked),
            "checks": health.checks(),
            "lines": lines(),
            "days": activity.DAYS,
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


def _rows(person: Account, found: Config, asked: Asked | None) -> list[values.Row]:
    """Return the rows of the form; the zone is chosen from a list."""
    choices = (
        ("", f"The account's own (now {person.time_zone})"),
        *((name, name.replace("_", " ")) for name in sorted(time_zones.names())),
    )
    return [
        replace(row, choices=choices) if row.field.key == account_timezone.KEY else row
        for row in values.rows(found, values.fields_of("system"), asked)
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def files(request: HttpRequest) -> HttpResponse:
    """Show what the last check of the workspace's files found; by POST, begin another one."""
    person, workspace = access.account(request), access.workspace(request)
    if request.method == "POST":
        return redirect("job", workspace_health.begin(workspace, person).pk)
    context = {
        "last": workspace_health.last_check(workspace),
        "under_way": workspace_health.open_check(workspace),
        "slug": workspace.slug,
    }
    return render(request, "settings/health.html", context)


def lines() -> list[activity.Line]:
    now = timezone.now()
    rows: dict[str, list[tuple[str, Any, Any]]] = {name: [] for name in activity.PARTS}
    for part, host, start, last in UpSpan.objects.values_list(
        "part", "host", "started_at", "last_at"
    ):
        rows.setdefault(part, []).append((host, start, last))
    return [
        activity.line(activity.PARTS.get(part, part), spans, now, GAP)
        for part, spans in rows.items()
    ]


def _disk(person: Account, workspace: Workspace, found: Config) -> dict[str, Any]:
    """Return disk usage of the account, and of the instance for its owner."""
    data = settings.JENNY_DATA
    keep = _HOW_LONG.get(str(found.get(_KEEP_FOR)), "")
    snapshots = "until you delete them"
    if keep:
        snapshots = f"{keep}, the newest {retention.NEWEST_SNAPSHOTS} always"
    in_trash = retention.in_words(retention.TRASH)
    in_parts = retention.in_words(retention.UPLOAD_PART)
    versions = workspace.root / "memory" / ".git"
    parts = [
        disk.part(f"Files of “{workspace.name}”", "until you delete them", [workspace.root]),
        disk.part("of these, versions of the memory files", "for good", [versions]),
        disk.part("Its snapshots", snapshots, [data.snapshots / f"{workspace.pk}.git"]),
        disk.part("Its trash", in_trash, [data.trash / str(workspace.pk)]),
        disk.part("Uploads that broke off", in_parts, [data.uploads / str(person.pk)]),
    ]
    other = person.workspaces(manager="all_objects").exclude(pk=workspace.pk)
    if roots := [row.root for row in other]:
        kept = f"deleted ones {retention.in_words(retention.DELETED_WORKSPACE)}"
        parts.append(disk.part("Your other workspaces", kept, roots))
    if person.is_superuser:
        parts += _instance(data.root)
    return {"parts": parts, "free": _free(data.root)}


def _instance(root: Path) -> list[disk.Part]:
    newest = f"the last {retention.DATABASE_COPIES}"
    backups = disk.part("Copies of the database", newest, [root / "backups"])
    queue = disk.part("The queue", "made anew when lost", [settings.JENNY_DATA.redis])
    return [
        disk.Part("The database", "what was said, until it is deleted", _database_size()),
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
    return disk.part("", "", files).size


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
