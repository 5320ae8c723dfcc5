"""Taking a run back: first what that means, then, after a yes to just this, done."""

import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.workspace.errors import UndoRefused, WorkspaceError
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import Undone, UndoPlan, plan_undo, undo
from memory.models import DreamRun
from memory.versions import cursor_sentence, left_out_lines
from settings_ui.pipeline.differences import difference
from settings_ui.views.memory.frame import Desk, desk, frame, told
from settings_ui.views.memory.report import commits_of
from settings_ui.views.memory.runs import run_of

_ID = re.compile(r"[0-9a-f]{40}")


@require_http_methods(["GET", "HEAD", "POST"])
@told
def page(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """What undoing the run's version (``version``) would do; by POST it is done, if that is what
    was shown (``token``)."""
    mine = desk(request)
    run = run_of(mine, run_id)
    sent = request.POST if request.method == "POST" else request.GET
    sha = _version(mine, run, sent.get("version", ""))
    if request.method != "POST":
        return _page(request, mine, run, plan_undo(mine.files.root, sha))
    try:
        done = undo(
            mine.files.root, sha, account=mine.account.pk, expect=request.POST.get("token", "")
        )
    except UndoRefused as error:
        plan = plan_undo(mine.files.root, sha)
        return _page(request, mine, run, plan, problem=error.sentence)
    messages.success(request, _told(done))
    return redirect("memory_run", run.pk)


def _version(mine: Desk, run: DreamRun, wanted: str) -> str:
    """The full id of a version of the run, or of an undoing of one.

    :raises Http404: the run has no such version.
    """
    commits = commits_of(run)
    if wanted in commits:
        return wanted
    if not wanted and len(commits) == 1:
        return commits[0]
    if not _ID.fullmatch(wanted):
        raise Http404
    try:
        with open_history(mine.files.root) as history:
            version = history.version(wanted)
    except WorkspaceError as error:
        raise Http404 from error
    if version.undoes not in commits:
        raise Http404
    return version.sha


def _page(
    request: HttpRequest, mine: Desk, run: DreamRun, plan: UndoPlan, *, problem: str = ""
) -> HttpResponse:
    context = frame(mine, "runs") | {
        "run": run,
        "plan": plan,
        "when": datetime.fromtimestamp(plan.version.when, UTC),
        "files": [_file(step) for step in plan.steps],
        "left_out": left_out_lines(plan.left_out),
        "cursor": cursor_sentence(plan.cursor),
        "problem": problem,
        "is_redo": plan.version.kind == "restore",
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "memory/undo.html", context, status=status)


def _file(step: Any) -> dict[str, Any]:
    """A file's part of the plan: how it changes from what it is now."""
    return {
        "step": step,
        "difference": difference(step.found, step.wanted),
        "later": [row.short for row in step.later[:3]],
    }


def _told(done: Undone) -> str:
    if not done.written:
        return "Nothing had to be done: every file is as it was before this run already."
    names = ", ".join(step.path for step in done.written)
    version = f" The new version is {done.version.short}." if done.version else f" {done.problem}"
    return f"Taken back: {names}.{version} {cursor_sentence(done.plan.cursor)}".strip()
