"""Snapshots and versions: their lists, and how long snapshots are kept."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts import access
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services.workspace_context import WorkspaceErrorPage
from jenny.workspace import config, retention, stat_signature
from jenny.workspace import retention as periods
from jenny.workspace.diffs import difference
from jenny.workspace.errors import (
    SnapshotUnknown,
    StoreBroken,
    UndoRefused,
    VersionsOff,
    VersionUnknown,
    WorkspaceError,
)
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Plan, Snapshot
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.versions.messages import UNDOABLE, Version
from jenny.workspace.versions.tracked_files import CURSOR
from jenny.workspace.versions.undo import UndoPlan, plan_undo
from memory.models import SnapshotState
from memory.services import restores, snapshots
from memory.versions import version_title
from settings_ui import file_browser
from settings_ui.values import write_into
from settings_ui.views.memory.runs import run_of_version

workspace_error_page = WorkspaceErrorPage(
    "Snapshots",
    "snapshots",
    {
        SnapshotUnknown: HTTPStatus.NOT_FOUND,
        VersionUnknown: HTTPStatus.NOT_FOUND,
        StoreBroken: HTTPStatus.SERVICE_UNAVAILABLE,
        VersionsOff: HTTPStatus.SERVICE_UNAVAILABLE,
    },
)
_PATH_CHARS = 2_000


@dataclass(frozen=True)
class SnapshotContext:
    """The snapshots of the workspace that the account works in."""

    account: Account
    row: Workspace
    store: Store

    def local(self, when: datetime) -> datetime:
        return when.astimezone(ZoneInfo(self.account.time_zone))

    def local_seconds(self, seconds: float) -> datetime:
        """A time of the disk, in the account's zone."""
        return self.local(stat_signature.moment_of(seconds))

    def every(self) -> list[Snapshot]:
        return reader.list_snapshots(self.store) if self.store.exists else []

    @contextmanager
    def opened(self, asked: str) -> Iterator[tuple[Objects, Snapshot]]:
        """Open the store and the named snapshot.

        Raises:
            SnapshotUnknown: there is none.
        """
        name = self.store.resolve(asked)
        shelved = next((shot for shot in self.every() if shot.id == name), None)
        with self.store.open() as repo:
            yield repo, shelved or self.store.get(repo, name)


def get_snapshot_context(request: HttpRequest) -> SnapshotContext:
    """The snapshots that this account may see: those of its current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    return SnapshotContext(person, row, snapshots.store_of(row))


def asked_path(request: HttpRequest) -> str:
    """Return the path that the address names; empty for everything."""
    return request.GET.get("path", "").strip("/")[:_PATH_CHARS]


def address(page: str, name: str, path: str = "", **more: str) -> str:
    """Return the address of a page about a snapshot or a *path* in it; empty when no address can
    hold the name."""
    if not _is_addressable(path):
        return ""
    query = {"path": path, **more} if path else more
    return reverse(page, args=[name]) + (f"?{urlencode(query)}" if query else "")


def about(ctx: SnapshotContext, shot: Snapshot, path: str = "") -> dict[str, Any]:
    return {
        "shot": shot,
        "when": ctx.local(shot.when),
        "path": path,
        "name": path.rpartition("/")[2],
        "crumbs": [(part, at_address(shot.id, at)) for part, at in file_browser.crumbs(path)],
        "links": {
            "top": at_address(shot.id, ""),
            "restore": address("snapshot_restore", shot.id, path),
            "diff": address("snapshot_diff", shot.id, path),
            "before": address("snapshot_diff", shot.id, path, to=shot.before or ""),
        },
    }


def at_address(name: str, path: str) -> str:
    """Return the address of a file or folder of a snapshot; empty when no address can hold the
    name."""
    if not path:
        return reverse("snapshot", args=[name])
    return reverse("snapshot_at", args=[name, path]) if _is_addressable(path) else ""


def _is_addressable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


SNAPSHOTS_LISTED = 30
VERSIONS = 15
_LABEL_CHARS = 120
_PAGE_DIGITS = 6
# A failed restore is shown on the list for a day.
_FRESH = timedelta(days=1)
# A file's line in a version's message (``jenny.workspace.versions.messages``).
_COUNTED = re.compile(r"^(.+): \+(\d+) -(\d+)(?: \(\w+\))?$", re.MULTILINE)
_NAMED = 2


@require_safe
@workspace_error_page
def snapshots_page(request: HttpRequest) -> HttpResponseBase:
    ctx = get_snapshot_context(request)
    every = ctx.every()
    asked = request.GET.get("page", "1")
    count = max(1, -(-len(every) // SNAPSHOTS_LISTED))
    number = int(asked) if asked.isdecimal() and len(asked) <= _PAGE_DIGITS else 1
    number = min(max(1, number), count)
    some = every[(number - 1) * SNAPSHOTS_LISTED : number * SNAPSHOTS_LISTED]
    minutes = Counter(_minute(shot) for shot in every)
    state = SnapshotState.objects.filter(workspace=ctx.row).first()
    keep_for = str(config.load_config(ctx.row.root).snapshots.keep_for)
    context = {
        "rows": [_snapshot_row(ctx, shot, is_alone=minutes[_minute(shot)] == 1) for shot in some],
        "total": len(every),
        "retention": retention,
        "number": number,
        "count": count,
        "keep_for": config.BY_KEY["snapshots.keepFor"].choices,
        "kept": dict(config.BY_KEY["snapshots.keepFor"].choices).get(keep_for, keep_for).lower(),
        "waiting": _waiting(ctx, state),
        "job": _newest_restore(ctx),
    }
    return render(request, "snapshots/list.html", context | versions(ctx, VERSIONS))


@require_POST
@workspace_error_page
def take_snapshot(request: HttpRequest) -> HttpResponseBase:
    ctx = get_snapshot_context(request)
    label = request.POST.get("label", "").strip()[:_LABEL_CHARS]
    outcome = snapshots.take_snapshot(ctx.row, "manual", label=label)
    messages.success(request, outcome.message)
    for skipped in outcome.skipped[:5]:
        messages.info(request, skipped.message)
    return redirect("snapshots")


def versions(ctx: SnapshotContext, most: int) -> dict[str, Any]:
    """Return Dream's changes and reverts, newest first, or why they cannot be read."""
    try:
        with open_history(ctx.row.root) as past:
            found = past.log(kinds=UNDOABLE, limit=most + 1)
    except VersionsOff as error:
        return {"versions": [], "versions_off": error.message}
    rows = [
        {
            "version": row,
            "when": ctx.local_seconds(row.when),
            "title": version_title(row),
            "files": _files(row),
        }
        for row in found[:most]
    ]
    return {"versions": rows, "more_versions": len(found) > most}


def _files(version: Version) -> str:
    rows = [row for row in _COUNTED.findall(version.body) if row[0] != CURSOR]
    named = [f"{path} +{added} −{removed}" for path, added, removed in rows[:_NAMED]]
    return ", ".join(named) + (f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else "")


def _minute(shot: Snapshot) -> datetime:
    return shot.when.replace(second=0, microsecond=0)


def _snapshot_row(ctx: SnapshotContext, shot: Snapshot, *, is_alone: bool) -> dict[str, Any]:
    """*is_alone*: no other snapshot is of the same minute, so its time needs no seconds."""
    before = shot.before
    return {
        "time": "j F Y, H:i" if is_alone else "j F Y, H:i:s",
        "shot": shot,
        "when": ctx.local(shot.when),
        "top": at_address(shot.id, ""),
        "restore": address("snapshot_restore", shot.id),
        "diff": address("snapshot_diff", shot.id),
        "since": address("snapshot_diff", before, to=shot.id) if before else "",
    }


def _newest_restore(ctx: SnapshotContext) -> Job | None:
    """Return the restore under way, or a failed one of the last day."""
    job = Job.objects.filter(workspace=ctx.row, kind=restores.KIND).order_by("-pk").first()
    if job is None or job.is_open:
        return job
    is_fresh = job.ended_at is not None and timezone.now() - job.ended_at < _FRESH
    return job if is_fresh and job.state != Job.State.DONE else None


def _waiting(ctx: SnapshotContext, state: SnapshotState | None) -> str:
    """Describe the deletion by a retention that was shortened in the settings file and is not
    confirmed."""
    if state is None:
        return ""
    try:
        wanted = snapshots.plan(ctx.row)
    except WorkspaceError:
        return ""
    return wanted.message if snapshots.waiting(state, wanted) else ""


# The list of versions of the memory files, and the page of one.


LISTED = 100
FILES = 50


@require_safe
@workspace_error_page
def version_list(request: HttpRequest) -> HttpResponseBase:
    ctx = get_snapshot_context(request)
    return render(request, "snapshots/versions.html", versions(ctx, LISTED))


@require_safe
@workspace_error_page
def version_page(request: HttpRequest, version_id: str) -> HttpResponseBase:
    """Show what a version changed, with the way to its undo."""
    ctx = get_snapshot_context(request)
    with open_history(ctx.row.root) as past:
        version = past.resolve(version_id)
        changes = [row for row in past.changes(version) if row.path != CURSOR]
    if version_id != version.sha:
        return redirect("snapshot_version", version.sha)
    return _version_response(request, ctx, version, changes)


def _version_response(
    request: HttpRequest, ctx: SnapshotContext, version: Version, changes: list[FileChange]
) -> HttpResponse:
    plan, refused = _plan(ctx, version)
    context: dict[str, Any] = {
        "version": version,
        "title": version_title(version),
        "when": ctx.local_seconds(version.when),
        "run": run_of_version(ctx.row, version),
        "files": [_version_file(change) for change in changes[:FILES]],
        "left_out": max(len(changes) - FILES, 0),
        "plan": plan,
        "refused": refused,
    }
    return render(request, "snapshots/version.html", context)


def _plan(ctx: SnapshotContext, version: Version) -> tuple[UndoPlan | None, str]:
    """Return the plan of the revert, or why it is impossible."""
    try:
        return plan_undo(ctx.row.root, version.sha), ""
    except (UndoRefused, VersionUnknown) as error:
        return None, error.message


def _version_file(change: FileChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "is_new": change.old is None,
        "is_gone": change.new is None,
        "difference": difference(change.old, change.new),
    }


# Retention of snapshots. A shorter one is confirmed after its effect is shown.


KEY = "snapshots.keepFor"


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def retention_page(request: HttpRequest) -> HttpResponseBase:
    """Show and save the retention. One that deletes snapshots needs ``confirm=yes``."""
    ctx = get_snapshot_context(request)
    found = config.load_config(ctx.row.root)
    current = found.snapshots.keep_for
    wanted = request.POST.get(KEY, request.GET.get(KEY, current))
    if wanted not in periods.SNAPSHOT_HORIZONS:
        return _retention_page(request, ctx, current, current, problem="Choose one of these.")
    if request.method != "POST":
        return _retention_page(request, ctx, current, wanted, asks=_waiting_retention(ctx))
    plan = snapshots.plan(ctx.row, keep_for=wanted)
    is_agreed = request.POST.get("confirm") == "yes"
    if plan.expired and not is_agreed:
        return _retention_page(request, ctx, current, wanted, asks=plan)
    config.change_config(ctx.row.root, lambda data: write_into(data, found, {KEY: wanted}))
    said = f"Snapshots are kept {_label(wanted).lower()}."
    if plan.goes and is_agreed:
        said += f" {snapshots.prune(ctx.row, plan).message}"
    else:
        snapshots.agree_retention(ctx.row, wanted)
    messages.success(request, said)
    return redirect("snapshots")


def _waiting_retention(ctx: SnapshotContext) -> Plan | None:
    """Preview the deletion by a retention that was shortened in the settings file and is not
    confirmed."""
    state = SnapshotState.objects.filter(workspace=ctx.row).first()
    if state is None:
        return None
    plan = snapshots.plan(ctx.row)
    return plan if snapshots.waiting(state, plan) else None


def _label(wanted: str) -> str:
    return dict(config.BY_KEY[KEY].choices)[wanted]


def _retention_page(
    request: HttpRequest,
    ctx: SnapshotContext,
    current: str,
    wanted: str,
    *,
    asks: Plan | None = None,
    problem: str = "",
) -> HttpResponse:
    context = {
        "choices": config.BY_KEY[KEY].choices,
        "current": current,
        "wanted": wanted,
        "problem": problem,
        "asks": asks,
        "oldest": asks.expired[:200] if asks else (),
        "total": len(ctx.every()),
        "retention": periods,
    }
    is_refused = problem or (asks and request.method == "POST")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    return render(request, "snapshots/keep.html", context, status=status)
