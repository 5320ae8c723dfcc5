from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts.models import Job
from jenny.workspace import names
from jenny.workspace.files import is_hidden
from jenny.workspace.snapshots.values import Snapshot
from memory.models import DreamRun
from memory.restore.plan import (
    Prepared,
    entries_sentence,
    ledger_sentence,
    left_out,
    voided_sentence,
)
from memory.services import restores
from settings_ui.views.snapshots import base_context
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

LISTED = 200
# Files of a group that its heading names.
_NAMED = 3
_CHANGED = "Something changed since you were shown this. Look once more, then confirm."


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def restore_page(request: HttpRequest, snapshot_id: str) -> HttpResponseBase:
    """Preview the restore of everything, a folder or a file (``?path=``); a confirmed POST starts
    it."""
    ctx = base_context.get_snapshot_context(request)
    path = base_context.asked_path(request)
    if request.method == "POST":
        restores.note_edits(ctx.row)
    shot, found = restores.preview(ctx.row, snapshot_id, path)
    if request.method != "POST":
        return _page(request, ctx, shot, path, found)
    if (under_way := _under_way(ctx)) is not None:
        messages.warning(request, "A restore is under way already. This is it.")
        return redirect("job", under_way.pk)
    if request.POST.get("token") != found.plan.token:
        return _page(request, ctx, shot, path, found, problem=_CHANGED)
    job = restores.start_restore(ctx.row, ctx.account, shot.id, path, token=found.plan.token)
    return redirect("job", job.pk)


def _under_way(ctx: SnapshotContext) -> Job | None:
    rows = Job.objects.filter(workspace=ctx.row, kind=restores.KIND, state__in=Job.OPEN)
    return rows.first()


def _page(
    request: HttpRequest,
    ctx: SnapshotContext,
    shot: Snapshot,
    path: str,
    found: Prepared,
    *,
    problem: str = "",
) -> HttpResponse:
    plan = found.plan
    context: dict[str, Any] = base_context.about(ctx, shot, path) | {
        "problem": problem,
        "plan": plan,
        "found": found,
        "groups": [
            ("Gets its old content back", "changed", _rows(shot, plan.changed)),
            ("Comes back", "added", _rows(shot, plan.added)),
            ("Is deleted, since it was made later", "removed", _rows(shot, plan.removed)),
        ],
        "left": plan.left[:LISTED],
        "forgotten": left_out(found)[:LISTED],
        "sentences": [
            message
            for message in (
                ledger_sentence(found),
                entries_sentence(found.reoffer, done=False),
                _voided(ctx, found),
                _settings(found),
                *found.merged.notes,
            )
            if message
        ],
        "dreaming": DreamRun.objects.filter(
            workspace=ctx.row, state=DreamRun.State.RUNNING
        ).exists(),
        "under_way": _under_way(ctx),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "snapshots/restore.html", context, status=status)


def _voided(ctx: SnapshotContext, found: Prepared) -> str:
    if not found.touches_memory:
        return ""
    return voided_sentence(restores.waiting_hunks(ctx.row))


def _settings(found: Prepared) -> str:
    """Warn that the settings are restored, too: some of them limit what leaves this machine."""
    plan = found.plan
    paths = {row.path for row in (*plan.changed, *plan.added)}
    if "config.json" not in paths | {row.path for row in plan.removed}:
        return ""
    return (
        "The settings are as they were then, too: which models are asked, and whether all calls to "
        "them are paused. Settings → Privacy shows it."
    )


def _rows(shot: Snapshot, rows: Any) -> dict[str, Any]:
    """List the files of one kind, each with the address of its comparison, and apart from them
    those that Jenny keeps for herself."""
    rows = sorted(rows, key=lambda row: is_hidden(row.path))
    more = len(rows) - _NAMED
    named = ", ".join(names.shown(row.path)[1:-1] for row in rows[:_NAMED])
    return {
        "count": len(rows),
        "named": f"{named} and {more:,} more" if more > 0 else named,
        "left_out": max(len(rows) - LISTED, 0),
        "lists": [
            [
                {"path": row.path, "href": base_context.address("snapshot_diff", shot.id, row.path)}
                for row in rows[:LISTED]
                if is_hidden(row.path) == is_internal
            ]
            for is_internal in (False, True)
        ],
    }
