"""What one version of the memory files changed, and taking it back."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from jenny.workspace import texts
from jenny.workspace.errors import UndoRefused, VersionUnknown
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked import CURSOR
from jenny.workspace.versions.undo import Step, Undone, UndoPlan, plan_undo, undo
from memory.management.dreaming import book
from memory.models import DreamRun
from memory.versions import cursor_sentence, kind_label, left_out_lines
from settings_ui.views.snapshots import frame, listing
from settings_ui.views.snapshots.frame import Desk, told

LISTED = 100
FILES = 50
TEXT_CHARS = 200_000
_LABELS = {
    "clean": "as it left it",
    "moved on": "changed since",
    "already there": "already as before",
}


@require_safe
@told
def every(request: HttpRequest) -> HttpResponseBase:
    """All that Dream changed, and what was undone."""
    desk = frame.desk(request)
    return render(request, "snapshots/versions.html", listing.versions(desk, LISTED))


@require_http_methods(["GET", "HEAD", "POST"])
@told
def page(request: HttpRequest, version_id: str) -> HttpResponseBase:
    """What a version changed, and what undoing it does; confirmed, it is undone."""
    desk = frame.desk(request)
    with open_history(desk.row.root) as past:
        version = past.resolve(version_id)
        changes = [row for row in past.changes(version) if row.path != CURSOR]
    if request.method == "POST":
        return _undo(request, desk, version, changes)
    if version_id != version.sha:
        return redirect("snapshot_version", version.sha)
    return _page(request, desk, version, changes)


def _undo(
    request: HttpRequest, desk: Desk, version: Version, changes: list[FileChange]
) -> HttpResponse:
    plan = plan_undo(desk.row.root, version.sha)
    if plan.moved_on and request.POST.get("confirm") != "yes":
        problem = "Later work goes too: say yes to that first. Nothing was undone."
        return _page(request, desk, version, changes, problem=problem)
    token = request.POST.get("token", "")
    try:
        done = undo(desk.row.root, version.sha, account=desk.account.pk, expect=token)
    except UndoRefused as error:
        return _page(request, desk, version, changes, problem=error.sentence)
    _offer(request, desk, done)
    if not done.written:
        messages.info(request, "Every file is already as it was before. Nothing was written.")
        return redirect("snapshot_version", version.sha)
    messages.success(request, _told(done))
    for path, text, _ in left_out_lines(done.left_out)[:5]:
        messages.warning(request, f"Left out of {path}, since you had it forgotten: {text}")
    return redirect("snapshot_version", (done.version or version).sha)


def _offer(request: HttpRequest, desk: Desk, done: Undone) -> None:
    """Have the run's entries shown to Dream again, where the cursor stays and a person wants it."""
    entries = done.plan.cursor.entries
    if entries and not done.plan.cursor.moves and request.POST.get("offer") == "yes":
        first, last = entries
        book.put_on_offer(desk.row, frozenset(range(first, last + 1)))
        messages.info(request, f"Entries {first} to {last} are shown to Dream again.")


def _told(done: Undone) -> str:
    count = len(done.written)
    files = "1 file" if count == 1 else f"{count:,} files"
    parts = [f"Undone: {files} put back as they were before."]
    if count == 1:
        parts = [f"Undone: {done.written[0].path} is {done.written[0].verb}."]
    if done.version is None:
        parts.append(f"It has no version yet: {done.problem}")
    parts.append(cursor_sentence(done.plan.cursor))
    return " ".join(part for part in parts if part)


def _page(
    request: HttpRequest,
    desk: Desk,
    version: Version,
    changes: list[FileChange],
    *,
    problem: str = "",
) -> HttpResponse:
    plan, refused = _plan(desk, version)
    context: dict[str, Any] = {
        "version": version,
        "title": listing.title(version),
        "when": desk.local_seconds(version.when),
        "by": kind_label(version),
        "run": _run(desk, version),
        "files": [_file(change) for change in changes[:FILES]],
        "left_out": max(len(changes) - FILES, 0),
        "plan": plan,
        "steps": [_step(desk, step) for step in plan.steps] if plan else [],
        "cursor": cursor_sentence(plan.cursor) if plan else "",
        "offer": plan.cursor.entries if plan and not plan.cursor.moves else None,
        "forgotten": left_out_lines(plan.left_out) if plan else [],
        "refused": refused,
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "snapshots/version.html", context, status=status)


def _plan(desk: Desk, version: Version) -> tuple[UndoPlan | None, str]:
    """What undoing it would do; or why it cannot be undone."""
    try:
        return plan_undo(desk.row.root, version.sha), ""
    except (UndoRefused, VersionUnknown) as error:
        return None, error.sentence


def _run(desk: Desk, version: Version) -> DreamRun | None:
    """The run of Dream that made it."""
    numbers = [int(name[6:]) for name in version.runs if name[6:].isdecimal()]
    if version.kind != "dream" or not numbers:
        return None
    return DreamRun.objects.filter(workspace=desk.row, pk=numbers[0]).first()


def _file(change: FileChange) -> dict[str, Any]:
    counts = change.counts
    before, after = _text(change.old), _text(change.new)
    return {
        "path": change.path,
        "counts": counts,
        "is_new": change.old is None,
        "is_gone": change.new is None,
        "sides": None if counts.is_binary else texts.side_by_side(before, after),
    }


def _step(desk: Desk, step: Step) -> dict[str, Any]:
    return {
        "step": step,
        "label": _LABELS[step.label],
        "later": [
            {"version": row, "when": desk.local_seconds(row.when), "by": kind_label(row)}
            for row in step.later[:5]
        ],
        "counts": step.lost.counts if step.label == "moved on" else None,
    }


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")[:TEXT_CHARS]
