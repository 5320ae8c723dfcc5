from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jenny.accounts import access
from jenny.accounts.models import Job, Workspace
from jenny.accounts.services import jobs
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs

# Jobs that are listed beside the page's job.
RECENT = 8
OTHER = jobs.JobKind(task="", title="Work")


@require_safe
def job_page(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show a job; htmx polls its content every second while it runs."""
    job = _job(request, job_id)
    is_fragment = request.headers.get("HX-Request") == "true"
    context = _context(job, _elsewhere(request, job)) | {"is_fragment": is_fragment}
    if not is_fragment or not job.is_open:
        context["recent"] = [(one, _title(one)) for one in _jobs(request).order_by("-pk")[:RECENT]]
    answer = render(request, f"jobs/job.html{'#middle' if is_fragment else ''}", context)
    if not job.is_open and is_fragment:
        answer["HX-Trigger"] = "job-ended"
    return answer


def _job(request: HttpRequest, job_id: int) -> Job:
    """Return the job when it belongs to a workspace of the account."""
    rows = _jobs(request)
    if job_id > 2**62:
        raise Http404
    return get_object_or_404(rows, pk=job_id)


def _jobs(request: HttpRequest) -> "QuerySet[Job]":
    person = access.account(request)
    return Job.objects.filter(workspace__owner=person, workspace__deleted_at=None)


def _title(job: Job) -> str:
    return jobs.KINDS.get(job.kind, OTHER).title


def _elsewhere(request: HttpRequest, job: Job) -> Workspace | None:
    """Return the workspace of the job's links when it is not the session's: an import may have
    created it."""
    target = str(job.arguments.get("workspace") or job.workspace_id)
    current = access.current_workspace(request)
    return None if current and str(current.pk) == target else access.own_workspace(request, target)


def _context(job: Job, elsewhere: Workspace | None) -> dict[str, Any]:
    about = jobs.KINDS.get(job.kind, OTHER)
    links = job.result.get("links", [])
    return {
        "job": job,
        "title": about.title,
        "home": {"href": about.home[0], "label": about.home[1]},
        "elsewhere": elsewhere,
        "links": [link for link in links if link.get("download")] if elsewhere else links,
        "lists": job.result.get("lists", []),
        "diff": markdown(diffs.fenced(diff)) if (diff := job.result.get("diff")) else "",
    }
