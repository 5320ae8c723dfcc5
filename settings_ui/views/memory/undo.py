"""The undo page of a version of the memory files: of a Dream run, or of an earlier undo."""

import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from jenny.accounts.models import Workspace
from jenny.workspace.diffs import difference
from jenny.workspace.errors import UndoRefused, WorkspaceError
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.undo import Step, Undone, UndoPlan, plan_undo
from memory.models import DreamRun
from memory.services.dream import run_store
from memory.versions import left_out_lines, undo_run
from settings_ui.dream_pages.runs import run_number
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    base_context,
    get_workspace_context,
    workspace_error_page,
)
from settings_ui.views.memory.report import commits_of
from settings_ui.views.memory.runs import run_of

_ID = re.compile(r"[0-9a-f]{40}")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def undo_update(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Undo a version (``version``) of a run, or redo it: the version of its undo."""
    mine = get_workspace_context(request)
    run = run_of(mine, run_id)
    sent = request.POST if request.method == "POST" else request.GET
    version = _version(mine, sent.get("version", "") or ",".join(commits_of(run)))
    if not {version.sha, version.undoes} & set(commits_of(run)):
        raise Http404
    return _undo(request, mine, version, run)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def undo_version(request: HttpRequest, sha: str) -> HttpResponseBase:
    mine = get_workspace_context(request)
    version = _version(mine, sha)
    return _undo(request, mine, version, run_of_version(mine.row, version))


def run_of_version(workspace: Workspace, version: Version) -> DreamRun | None:
    """Return the run that made a version; ``None`` for other versions and unknown runs."""
    if version.kind != "dream":
        return None
    numbers = [number for name in version.runs if (number := run_number(name))]
    return DreamRun.objects.filter(workspace=workspace, pk__in=numbers[:1]).first()


def _version(mine: WorkspaceContext, sha: str) -> Version:
    """Return the version with that full id.

    Raises:
        Http404: there is none.
    """
    if not _ID.fullmatch(sha):
        raise Http404
    try:
        with open_history(mine.files.root) as history:
            return history.version(sha)
    except WorkspaceError as error:
        raise Http404 from error


def _undo(
    request: HttpRequest, mine: WorkspaceContext, version: Version, run: DreamRun | None
) -> HttpResponse:
    """Show what undoing the version would do; a POST with the ``token`` of that plan does it."""
    root = mine.files.root
    if request.method != "POST":
        return _page(request, mine, run, plan_undo(root, version.sha))
    try:
        token, is_again = request.POST.get("token", ""), request.POST.get("notes") == "again"
        done = undo_run(
            root, version.sha, account=mine.account.pk, expect=token, keep_out=not is_again
        )
    except UndoRefused as error:
        plan = plan_undo(root, version.sha)
        return _page(request, mine, run, plan, problem=error.message)
    again = is_again and _try_again(mine, done)
    redo = ""
    if done.version is not None:
        redo = reverse("memory_undo_version", args=[done.version.sha])
    messages.success(request, _outcome(done, is_again=again, redo=redo))
    if run is not None:
        return redirect("memory_run", run.pk)
    return redirect("snapshot_version", (done.version or version).sha)


def _try_again(mine: WorkspaceContext, done: Undone) -> bool:
    """Have the notes of the undone run read again by the next one. ``False``: it had none."""
    cursor = done.plan.cursor
    if cursor.entries and not cursor.moves:
        first, last = cursor.entries
        run_store.queue_entries(mine.row, frozenset(range(first, last + 1)))
    return bool(cursor.entries)


def _page(
    request: HttpRequest,
    mine: WorkspaceContext,
    run: DreamRun | None,
    plan: UndoPlan,
    *,
    problem: str = "",
) -> HttpResponse:
    back = reverse("snapshot_version", args=[plan.version.sha])
    context = base_context(mine, "runs") | {
        "run": run,
        "back_href": reverse("memory_run", args=[run.pk]) if run else back,
        "plan": plan,
        "when": datetime.fromtimestamp(plan.version.when, UTC),
        "files": [_file(step) for step in plan.steps],
        "left_out": left_out_lines(plan.left_out),
        "problem": problem,
        "is_redo": plan.version.kind == "restore",
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "memory/undo.html", context, status=status)


def _file(step: Step) -> dict[str, Any]:
    """Return a file's change from its present content."""
    later = ""
    if step.label == "moved on":
        counts = step.lost.counts
        later = (
            f"This file was changed since (+{counts.added} −{counts.removed} lines), and that "
            "goes, too. An earlier state keeps it."
        )
    return {"step": step, "told": later, "difference": difference(step.found, step.wanted)}


def _outcome(done: Undone, *, is_again: bool, redo: str) -> str:
    forgotten = _left_out_told(done)
    if not done.written:
        but = ", but for what you had forgotten" if forgotten else ""
        same = f"every file is as it was before already{but}."
        return f"Nothing had to be done: {same} {forgotten}".rstrip()
    files = ", ".join(f"{step.path} is {step.verb}" for step in done.written)
    again = " Its notes will be tried again." if is_again else ""
    if not again and done.plan.version.kind != "restore":
        again = " What it had added is not saved again, unless you say it anew."
    later = "" if redo else f" {done.problem}"
    return f"Undone: {files}.{again}{later} {forgotten}".rstrip()


def _left_out_told(done: Undone) -> str:
    rows = left_out_lines(done.left_out)
    if not rows:
        return ""
    named = ", ".join(f"“{text}”" for _, text, _ in rows[:5])
    return (
        f"Left out, since you had it forgotten: {named}{' …' if rows[5:] else ''}. Memory → "
        "Forgotten lets it come back."
    )
