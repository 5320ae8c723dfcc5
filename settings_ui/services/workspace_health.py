"""The check of a workspace's files as a job, and the result of the last one."""

from dataclasses import asdict

from django.db.models import Q

from jenny.accounts.checks import row_findings
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs
from jenny.agent.messages import clean_value
from jenny.workspace.check import check_workspace

KIND = "check"
_MOST_FINDINGS = 500
_HOME = ("/settings/system/health/", "Health of this workspace")


def begin(workspace: Workspace, account: Account) -> Job:
    """Enqueue a check; the one under way if there is one."""
    return jobs.begin_job(workspace, account, KIND, {})


def work(job: Job) -> jobs.JobEnd:
    """Check the workspace of a claimed job. Results of earlier checks are deleted."""
    workspace = job.workspace
    job.progress(0, 0, "Looking through the files.")
    found = check_workspace(workspace.root) + row_findings(workspace, repair=False)
    found.sort(key=lambda one: not one.is_open)
    count = sum(one.is_open for one in found)
    is_over = ~Q(state__in=Job.OPEN)
    Job.objects.filter(is_over, workspace=workspace, kind=KIND, pk__lt=job.pk).delete()
    result = {
        # A name of a file may be no text that a database takes.
        "findings": [
            clean_value(asdict(one) | {"is_open": one.is_open}) for one in found[:_MOST_FINDINGS]
        ],
        "open": count,
        "left_out": max(0, len(found) - _MOST_FINDINGS),
        "links": [{"href": _HOME[0], "label": "What was found"}],
    }
    message = "1 thing is to put right." if count == 1 else f"{count:,} things are to put right."
    return jobs.JobEnd(message if count else "All is well.", result)


def last_check(workspace: Workspace) -> Job | None:
    """Return the last completed check; ``None`` when there was none yet."""
    rows = Job.objects.filter(workspace=workspace, kind=KIND, state=Job.State.DONE)
    return rows.order_by("-pk").first()


def open_check(workspace: Workspace) -> Job | None:
    return Job.objects.filter(workspace=workspace, kind=KIND, state__in=Job.OPEN).first()


ABOUT = jobs.JobKind("workspace.check", "Check of the files", _HOME)
