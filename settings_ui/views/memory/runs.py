"""Runs: all of them, page by page, and each one with what it read, wrote, refused and moved."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.markdown.render import render as markdown
from jenny.workspace.errors import WorkspaceError
from memory.approval.values import Hunk
from memory.management import approving
from memory.management.dreaming import book
from memory.management.snapshots import store_of
from memory.models import DreamRun
from settings_ui.pipeline import wording
from settings_ui.views.memory import report, rows
from settings_ui.views.memory.frame import (
    Desk,
    answered_anew,
    desk,
    frame,
    is_fragment,
    number_in,
    told,
)

A_PAGE = 25
# What htmx takes as "ask no more".
_STOP_POLLING = 286
_LARGEST = 2**62


@require_safe
@told
def listing(request: HttpRequest) -> HttpResponseBase:
    """Every run, the newest first."""
    mine = desk(request)
    before = number_in(request.GET.get("before", ""))
    found, older = rows.page_of(mine.row, before=before, most=A_PAGE)
    context = frame(mine, "runs") | {"runs": found, "older": older, "is_first": not before}
    return render(request, "memory/runs.html", context)


@require_safe
@told
def page(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """One run: how far it is, or what it did. A page that waits for it asks again and again."""
    mine = desk(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    run = run_of(mine, run_id)
    if not is_fragment(request):
        return render(request, "memory/run.html", frame(mine, "runs") | _context(mine, run))
    if request.GET.get("seen") == _stamp(run):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/run.html#fragment", _context(mine, run))
    if run.state == DreamRun.State.ENDED:
        answer.status_code = _STOP_POLLING
    return answer


@require_POST
@told
def offer(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """After a run was undone: have the entries that it had read shown to Dream again."""
    mine = desk(request)
    run = run_of(mine, run_id)
    cursors = report.cursors_to_offer(mine.row, run)
    if cursors:
        book.put_on_offer(mine.row, cursors)
        what = "1 entry is" if len(cursors) == 1 else f"{len(cursors):,} entries are"
        messages.success(request, f"{what} offered to Dream again, with its next run.")
    else:
        messages.info(request, "Nothing was changed: its entries wait for Dream already.")
    return redirect("memory_run", run.pk)


def decided(hunks: Iterable[Hunk]) -> list[dict[str, Any]]:
    """Changes that were decided, each with the word for it."""
    return [{"hunk": row, "word": wording.HUNK.get(row.state, row.state)} for row in hunks]


def run_of(mine: Desk, run_id: int) -> DreamRun:
    """The workspace's run of that number.

    :raises Http404: it has none.
    """
    run = DreamRun.objects.filter(workspace=mine.row, pk=min(run_id, _LARGEST)).first()
    if run is None:
        raise Http404
    return run


def _context(mine: Desk, run: DreamRun) -> dict[str, Any]:
    is_live = run.state != DreamRun.State.ENDED
    found: dict[str, Any] = {
        "run": run,
        "word": wording.status(run.state if is_live else run.status),
        "trigger": wording.TRIGGER.get(run.trigger, run.trigger),
        "is_live": is_live,
        "stamp": _stamp(run),
    }
    if is_live:
        is_dead = DreamRun.dead().filter(pk=run.pk).exists()
        return found | {"is_dead": is_dead, "steps": report.steps(run)}
    waiting = len(approving.waiting(mine.row, run_id=run.pk))
    return (
        found
        | {"word": wording.status(run.status, still_waits=bool(waiting)), "waiting": waiting}
        | {"sentence": markdown(run.sentence), "notes": [markdown(note) for note in run.notes]}
        | {"report": report.report(mine, run), "has_snapshot": _has_snapshot(mine, run)}
        | {"review": markdown(str(run.review.get("sentence", "")))}
        | {"prunes": approving.large_prunes(mine.row, run_id=run.pk)}
        | {"decided": decided(approving.decided(mine.row, run_id=run.pk))}
    )


def _has_snapshot(mine: Desk, run: DreamRun) -> bool:
    """Whether the snapshot that was taken before the run is still kept."""
    try:
        return bool(run.snapshot) and store_of(mine.row).resolve(run.snapshot) == run.snapshot
    except WorkspaceError:
        return False


def _stamp(run: DreamRun) -> str:
    """Changes with what the page shows of a run that is under way."""
    return f"{run.state}-{run.cursor_from}-{run.tokens}"
