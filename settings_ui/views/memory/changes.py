"""What a form of the Memory pages changed, and its undo."""

from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.chat.services import memory_changes
from jenny.workspace.diffs import difference
from jenny.workspace.errors import WorkspaceError
from memory import undo_turn
from memory.provenance import PAGE
from memory.services import origins
from settings_ui.views.memory.base_context import (
    base_context,
    get_workspace_context,
    workspace_error_page,
)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def change_page(request: HttpRequest, number: str) -> HttpResponseBase:
    """Show what a form changed; a POST undoes it. Where somebody wrote since, the page says so
    first, and a second press (``confirm=yes``) undoes what can be undone."""
    mine = get_workspace_context(request)
    run = f"{PAGE}{number}"
    rows = origins.changes_of(mine.row, run)
    if not rows:
        raise Http404
    values = memory_changes.values(rows)
    steps = undo_turn.plan(mine.files.root, run, values)
    problem, is_done = "", all(row.undone_at is not None for row in rows)
    asks = any(step.label in {"moved on", "conflict"} or step.left_out for step in steps)
    if request.method == "POST" and not is_done and (not asks or "confirm" in request.POST):
        try:
            steps = undo_turn.undo_turn(mine.files.root, run, values, account=mine.account.pk)
        except WorkspaceError as error:
            problem = error.message
        else:
            if message := undo_turn.undo_message(steps):
                done = {step.path for step in steps if step.label != "conflict"}
                origins.mark_undone(row for row in rows if row.path in done)
                messages.success(request, message)
                return redirect("memory")
    context = base_context(mine, "knows") | {
        "files": [
            {
                "step": step,
                "difference": difference(row.before, row.after),
                "left_out": step.left_out,
            }
            for row, step in zip(values, steps, strict=True)
        ],
        "at": rows[0].at,
        "is_done": is_done,
        "asks": asks,
        "can_undo": any(step.label in {"clean", "moved on"} for step in steps),
        "problem": problem,
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "memory/change.html", context, status=status)
