"""The dry run: what the next run of Dream would be shown, cost and change. It is a job, which can
be left and found again."""

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.management import working
from jenny.accounts.models import Job, Workspace
from jenny.markdown.render import render as markdown
from settings_ui.pipeline import wording
from settings_ui.pipeline.differences import read_unified
from settings_ui.views.memory.frame import answered_anew, desk, frame, is_fragment, told

KIND = "rehearse"
EXCERPT = 300
# What htmx takes as "ask no more".
_STOP_POLLING = 286
_LARGEST = 2**62


def newest(workspace: Workspace) -> Job | None:
    """The workspace's last dry run, without what came of it."""
    return (
        Job.objects.filter(workspace=workspace, kind=KIND).defer("result").order_by("-pk").first()
    )


@require_POST
@told
def begin(request: HttpRequest) -> HttpResponseBase:
    """Begin a dry run, and lead to it; to the one under way, when there is one."""
    mine = desk(request)
    job = working.begin(mine.row, mine.account, KIND, {})
    return redirect("memory_rehearsal", job.pk)


@require_safe
@told
def page(request: HttpRequest, job_id: int) -> HttpResponseBase:
    """How far a dry run is, or what it found. A page that waits for it asks again and again."""
    mine = desk(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    rows = Job.objects.filter(workspace=mine.row, kind=KIND, pk=min(job_id, _LARGEST))
    job = rows.first()
    if job is None:
        raise Http404
    if not is_fragment(request):
        context = frame(mine, "overview") | _context(job)
        return render(request, "memory/rehearsal.html", context)
    if request.GET.get("seen") == _stamp(job):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/rehearsal.html#fragment", _context(job))
    if not job.is_open:
        answer.status_code = _STOP_POLLING
    return answer


def _context(job: Job) -> dict[str, Any]:
    context: dict[str, Any] = {"job": job, "stamp": _stamp(job)}
    found = job.result
    if job.is_open or "entries" not in found:
        return context | {"sentence": markdown(job.sentence)}
    return context | {
        "sentence": markdown(job.sentence),
        "found": found,
        "word": wording.status(str(found.get("status", ""))),
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
    text = wording.lines(str(row.get("text", "")))
    return {
        "cursor": row.get("cursor"),
        "excerpt": text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…",
        "reason": row.get("reason", ""),
        "word": wording.verdict(row["verdict"]) if row.get("verdict") else None,
    }


def _stamp(job: Job) -> str:
    """Changes with what the page shows of a dry run that is under way."""
    return f"{job.state}-{job.step}-{job.doing}"
