"""The list of runs, and the page of one run."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.markdown.render import render as markdown
from jenny.workspace.errors import WorkspaceError
from memory.approvals.values import Hunk
from memory.models import DreamRun
from memory.services import approvals
from memory.services.dream import run_store
from memory.services.snapshots import store_of
from settings_ui.dream_pages import labels
from settings_ui.views.memory import report, run_rows
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)

A_PAGE = 25
# htmx stops polling at this status.
_STOP_POLLING = 286
_LARGEST = 2**62


@require_safe
@workspace_error_page
def listing(request: HttpRequest) -> HttpResponseBase:
    mine = get_workspace_context(request)
    before = number_in(request.GET.get("before", ""))
    found, older = run_rows.page_of(mine.row, before=before, most=A_PAGE)
    context = base_context(mine, "runs") | {"runs": found, "older": older, "is_first": not before}
    return render(request, "memory/runs.html", context)


@require_safe
@workspace_error_page
def run_page(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Show a run's progress or report. The page polls while it runs."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    run = run_of(mine, run_id)
    if not is_fragment(request):
        return render(request, "memory/run.html", base_context(mine, "runs") | _context(mine, run))
    if request.GET.get("seen") == _stamp(run):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/run.html#fragment", _context(mine, run))
    if run.state == DreamRun.State.ENDED:
        answer.status_code = _STOP_POLLING
    return answer


@require_POST
@workspace_error_page
def offer(request: HttpRequest, run_id: int) -> HttpResponseBase:
    mine = get_workspace_context(request)
    run = run_of(mine, run_id)
    cursors = report.cursors_to_offer(mine.row, run)
    if cursors:
        run_store.queue_entries(mine.row, cursors)
        what = "1 note" if len(cursors) == 1 else f"{len(cursors):,} notes"
        messages.success(request, f"{what} will be tried again with the next update.")
    else:
        messages.info(request, "Nothing was changed: its notes will be tried again already.")
    return redirect("memory_run", run.pk)


def decided(hunks: Iterable[Hunk]) -> list[dict[str, Any]]:
    return [{"hunk": row, "word": labels.HUNK.get(row.state, row.state)} for row in hunks]


def run_of(mine: WorkspaceContext, run_id: int) -> DreamRun:
    """Return the workspace's run of that number.

    Raises:
        Http404: there is none.
    """
    run = DreamRun.objects.filter(workspace=mine.row, pk=min(run_id, _LARGEST)).first()
    if run is None:
        raise Http404
    return run


def _context(mine: WorkspaceContext, run: DreamRun) -> dict[str, Any]:
    is_live = run.state != DreamRun.State.ENDED
    found: dict[str, Any] = {
        "run": run,
        "word": labels.status(run.state if is_live else run.status),
        "trigger": labels.TRIGGER.get(run.trigger, run.trigger),
        "is_live": is_live,
        "stamp": _stamp(run),
    }
    if is_live:
        is_dead = DreamRun.dead().filter(pk=run.pk).exists()
        return found | {"is_dead": is_dead, "steps": report.steps(run)}
    waiting = len(approvals.waiting(mine.row, run_id=run.pk))
    return (
        found
        | {"word": labels.status(run.status, still_waits=bool(waiting)), "waiting": waiting}
        | {"message": markdown(run.message), "notes": [markdown(note) for note in run.notes]}
        | {"report": report.report(mine, run), "read_notes": report.read_notes(run)}
        | {"has_snapshot": _has_snapshot(mine, run)}
        | {"review": markdown(str(run.review.get("message", "")))}
        | {"prunes": approvals.large_prunes(mine.row, run_id=run.pk)}
        | {"decided": decided(approvals.decided(mine.row, run_id=run.pk))}
    )


def _has_snapshot(mine: WorkspaceContext, run: DreamRun) -> bool:
    try:
        return bool(run.snapshot) and store_of(mine.row).resolve(run.snapshot) == run.snapshot
    except WorkspaceError:
        return False


def _stamp(run: DreamRun) -> str:
    """Return a value that changes with the shown progress of a run."""
    return f"{run.state}-{run.cursor_from}-{run.tokens}"
