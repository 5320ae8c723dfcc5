"""Restoring: what would happen, a yes, and the page that tells how far it is."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts.models import Job
from jenny.workspace.snapshots.values import Snapshot
from memory.management import restoring
from memory.models import DreamRun
from memory.restore import telling
from memory.restore.values import Prepared
from settings_ui.views.snapshots import frame
from settings_ui.views.snapshots.frame import Desk, told

LISTED = 200
_CHANGED = "Something changed since you were shown this. Look once more, then confirm."


@require_http_methods(["GET", "HEAD", "POST"])
@told
def page(request: HttpRequest, snapshot_id: str) -> HttpResponseBase:
    """What restoring everything, a folder or a file (``?path=``) does; confirmed, it begins."""
    desk = frame.desk(request)
    path = frame.asked_path(request)
    if request.method == "POST":
        restoring.note_edits(desk.row)
    shot, found = restoring.preview(desk.row, snapshot_id, path)
    if request.method != "POST":
        return _page(request, desk, shot, path, found)
    if (under_way := _under_way(desk)) is not None:
        messages.warning(request, "A restore is under way already. This is it.")
        return redirect("job", under_way.pk)
    if request.POST.get("token") != found.plan.token:
        return _page(request, desk, shot, path, found, problem=_CHANGED)
    job = restoring.begin(desk.row, desk.account, shot.id, path, token=found.plan.token)
    return redirect("job", job.pk)


def _under_way(desk: Desk) -> Job | None:
    rows = Job.objects.filter(workspace=desk.row, kind=restoring.KIND, state__in=Job.OPEN)
    return rows.first()


def _page(
    request: HttpRequest,
    desk: Desk,
    shot: Snapshot,
    path: str,
    found: Prepared,
    *,
    problem: str = "",
) -> HttpResponse:
    plan = found.plan
    context: dict[str, Any] = frame.about(desk, shot, path) | {
        "problem": problem,
        "plan": plan,
        "found": found,
        "groups": [
            ("Gets its old content back", "changed", _rows(shot, plan.changed)),
            ("Comes back", "added", _rows(shot, plan.added)),
            ("Goes: it was made later", "removed", _rows(shot, plan.removed)),
        ],
        "left": plan.left[:LISTED],
        "forgotten": telling.left_out(found)[:LISTED],
        "sentences": [
            sentence
            for sentence in (
                telling.ledger_sentence(found),
                telling.entries_sentence(found.reoffer, done=False),
                _voided(desk, found),
                _settings(found),
                *found.merged.notes,
            )
            if sentence
        ],
        "dreaming": DreamRun.objects.filter(
            workspace=desk.row, state=DreamRun.State.RUNNING
        ).exists(),
        "under_way": _under_way(desk),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "snapshots/restore.html", context, status=status)


def _voided(desk: Desk, found: Prepared) -> str:
    if not found.touches_memory:
        return ""
    return telling.voided_sentence(restoring.waiting_hunks(desk.row))


def _settings(found: Prepared) -> str:
    """That the settings go back, too: some of them keep words from leaving this machine."""
    plan = found.plan
    paths = {row.path for row in (*plan.changed, *plan.added)}
    if "config.json" not in paths | {row.path for row in plan.removed}:
        return ""
    return (
        "The settings are as they were then, too: which models are asked, and whether all calls to "
        "them are paused. Settings → Privacy shows it."
    )


def _rows(shot: Snapshot, rows: Any) -> dict[str, Any]:
    """The files of one kind, those that a page can hold, each with where it is compared."""
    return {
        "count": len(rows),
        "left_out": max(len(rows) - LISTED, 0),
        "rows": [
            {"path": row.path, "href": frame.address("snapshot_diff", shot.id, row.path)}
            for row in rows[:LISTED]
        ],
    }
