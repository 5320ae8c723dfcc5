"""The list: snapshots of everything, and what Dream changed; taking one by hand."""

import re
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Job
from jenny.workspace import config
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.snapshots.values import Snapshot
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.messages import UNDOABLE, Version
from jenny.workspace.versions.tracked import CURSOR
from memory.management import restoring, snapshots
from memory.models import SnapshotState
from settings_ui.views.snapshots import frame
from settings_ui.views.snapshots.frame import Desk, told

LISTED = 30
VERSIONS = 15
_LABEL_CHARS = 120
_PAGE_DIGITS = 6
# For so long a restore that did not work is told of on the list.
_FRESH = timedelta(days=1)
# A file's line in a version's message (``jenny.workspace.versions.messages``).
_COUNTED = re.compile(r"^(.+): \+(\d+) -(\d+)(?: \(\w+\))?$", re.MULTILINE)
_NAMED = 2


@require_safe
@told
def page(request: HttpRequest) -> HttpResponseBase:
    """Everything that can be brought back."""
    desk = frame.desk(request)
    every = desk.every()
    asked = request.GET.get("page", "1")
    count = max(1, -(-len(every) // LISTED))
    number = int(asked) if asked.isdecimal() and len(asked) <= _PAGE_DIGITS else 1
    number = min(max(1, number), count)
    some = every[(number - 1) * LISTED : number * LISTED]
    state = SnapshotState.objects.filter(workspace=desk.row).first()
    keep_for = str(config.load(desk.row.root).get("snapshots.keepFor"))
    context = {
        "rows": [_row(desk, shot) for shot in some],
        "total": len(every),
        "number": number,
        "count": count,
        "keep_for": config.BY_KEY["snapshots.keepFor"].choices,
        "kept": dict(config.BY_KEY["snapshots.keepFor"].choices).get(keep_for, keep_for).lower(),
        "waiting": _waiting(desk, state),
        "job": _newest_restore(desk),
    }
    return render(request, "snapshots/list.html", context | versions(desk, VERSIONS))


@require_POST
@told
def take(request: HttpRequest) -> HttpResponseBase:
    """Take one now."""
    desk = frame.desk(request)
    label = request.POST.get("label", "").strip()[:_LABEL_CHARS]
    outcome = snapshots.take(desk.row, "manual", label=label)
    messages.success(request, outcome.sentence)
    for skipped in outcome.skipped[:5]:
        messages.info(request, skipped.sentence)
    return redirect("snapshots")


def versions(desk: Desk, most: int) -> dict[str, Any]:
    """What Dream changed and what was undone, newest first, or why there is nothing to be seen."""
    try:
        with open_history(desk.row.root) as past:
            found = past.log(kinds=UNDOABLE, limit=most + 1)
    except VersionsOff as error:
        return {"versions": [], "versions_off": error.sentence}
    rows = [
        {
            "version": row,
            "when": desk.local_seconds(row.when),
            "title": title(row),
            "files": _files(row),
        }
        for row in found[:most]
    ]
    return {"versions": rows, "more_versions": len(found) > most}


def title(version: Version) -> str:
    """What a version is called on a page."""
    what = version.subject.partition(": ")[2]
    if version.kind == "dream":
        return f"Dream, {what}"
    if version.kind == "restore":
        undone = what.removeprefix("undo ")
        return f"Undid {undone}" if undone != what else f"Restored {what}"
    return version.subject


def _files(version: Version) -> str:
    """Which files it changed, as its message counts them."""
    rows = [row for row in _COUNTED.findall(version.body) if row[0] != CURSOR]
    named = [f"{path} +{added} −{removed}" for path, added, removed in rows[:_NAMED]]
    return ", ".join(named) + (f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else "")


def _row(desk: Desk, shot: Snapshot) -> dict[str, Any]:
    before = shot.before
    return {
        "shot": shot,
        "when": desk.local(shot.when),
        "top": frame.at_address(shot.id, ""),
        "restore": frame.address("snapshot_restore", shot.id),
        "diff": frame.address("snapshot_diff", shot.id),
        "since": frame.address("snapshot_diff", before, to=shot.id) if before else "",
    }


def _newest_restore(desk: Desk) -> Job | None:
    """The restore that is under way, or one of the last day that did not work."""
    job = Job.objects.filter(workspace=desk.row, kind=restoring.KIND).order_by("-pk").first()
    if job is None or job.is_open:
        return job
    is_fresh = job.ended_at is not None and timezone.now() - job.ended_at < _FRESH
    return job if is_fresh and job.state != Job.State.DONE else None


def _waiting(desk: Desk, state: SnapshotState | None) -> str:
    """What a horizon that was shortened in the settings file would delete, if nobody agreed yet."""
    if state is None:
        return ""
    try:
        wanted = snapshots.plan(desk.row)
    except WorkspaceError:
        return ""
    return wanted.sentence if snapshots.waiting(state, wanted) else ""
