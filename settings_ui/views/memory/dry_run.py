"""The dry run pages: what the next Dream run would be shown, cost and change."""

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Job, Workspace
from jenny.accounts.services import jobs
from jenny.markdown.render import render as markdown
from jenny.workspace.diffs import read_unified
from settings_ui.dream_pages import labels
from settings_ui.views.memory.base_context import (
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    workspace_error_page,
)

KIND = "rehearse"
# htmx stops polling at this status.
_STOP_POLLING = 286
_LARGEST = 2**62


def newest(workspace: Workspace) -> Job | None:
    """Return the last dry run without its result."""
    return (
        Job.objects.filter(workspace=workspace, kind=KIND).defer("result").order_by("-pk").first()
    )


@require_POST
@workspace_error_page
def begin_dry_run(request: HttpRequest) -> HttpResponseBase:
    """Start a dry run, or redirect to the one under way."""
    mine = get_workspace_context(request)
    job = jobs.begin_job(mine.row, mine.account, KIND, {})
    return redirect("memory_rehearsal", job.pk)


@require_safe
@workspace_error_page
def dry_run_page(request: HttpRequest, job_id: int) -> HttpResponseBase:
    """Show the progress or the result of a dry run. The page polls while it runs."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    rows = Job.objects.filter(workspace=mine.row, kind=KIND, pk=min(job_id, _LARGEST))
    job = rows.first()
    if job is None:
        raise Http404
    if not is_fragment(request):
        context = base_context(mine, "overview") | _context(job)
        return render(request, "memory/dry_run.html", context)
    if request.GET.get("seen") == _stamp(job):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/dry_run.html#fragment", _context(job))
    if not job.is_open:
        answer.status_code = _STOP_POLLING
    return answer


def _context(job: Job) -> dict[str, Any]:
    context: dict[str, Any] = {"job": job, "stamp": _stamp(job)}
    found = job.result
    if job.is_open or "entries" not in found:
        return context | {"message": markdown(job.message)}
    return context | {
        "message": markdown(job.message),
        "found": found,
        "word": labels.status(str(found.get("status", ""))),
        "review": markdown(str(found.get("review", ""))),
        "notes": [markdown(str(note)) for note in found.get("notes", ())],
        "estimates": [markdown(str(one)) for one in found.get("estimate", {}).get("sentences", ())],
        "entries": [_entry(row) for row in found["entries"]],
        "diffs": [
            {"path": path, "difference": read_unified(str(text))}
            for path, text in found.get("diffs", {}).items()
        ],
    }


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "cursor": row.get("cursor"),
        "excerpt": labels.excerpt(str(row.get("text", ""))),
        "reason": row.get("reason", ""),
        "word": labels.verdict(row["verdict"]) if row.get("verdict") else None,
    }


def _stamp(job: Job) -> str:
    """Return a value that changes with the shown progress of a dry run."""
    return f"{job.state}-{job.step}-{job.doing}"
