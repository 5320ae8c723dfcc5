import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Job
from jenny.workspace import config, retention
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.messages import UNDOABLE, Version
from jenny.workspace.versions.tracked_files import CURSOR
from memory.models import SnapshotState
from memory.services import restores, snapshots
from memory.versions import version_title
from settings_ui.views.snapshots import base_context
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

LISTED = 30
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
    ctx = base_context.get_snapshot_context(request)
    every = ctx.every()
    asked = request.GET.get("page", "1")
    count = max(1, -(-len(every) // LISTED))
    number = int(asked) if asked.isdecimal() and len(asked) <= _PAGE_DIGITS else 1
    number = min(max(1, number), count)
    some = every[(number - 1) * LISTED : number * LISTED]
    minutes = Counter(_minute(shot) for shot in every)
    state = SnapshotState.objects.filter(workspace=ctx.row).first()
    keep_for = str(config.load_config(ctx.row.root).get("snapshots.keepFor"))
    context = {
        "rows": [_row(ctx, shot, is_alone=minutes[_minute(shot)] == 1) for shot in some],
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
    ctx = base_context.get_snapshot_context(request)
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


def _row(ctx: SnapshotContext, shot: Snapshot, *, is_alone: bool) -> dict[str, Any]:
    """*is_alone*: no other snapshot is of the same minute, so its time needs no seconds."""
    before = shot.before
    return {
        "time": "j F Y, H:i" if is_alone else "j F Y, H:i:s",
        "shot": shot,
        "when": ctx.local(shot.when),
        "top": base_context.at_address(shot.id, ""),
        "restore": base_context.address("snapshot_restore", shot.id),
        "diff": base_context.address("snapshot_diff", shot.id),
        "since": base_context.address("snapshot_diff", before, to=shot.id) if before else "",
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
