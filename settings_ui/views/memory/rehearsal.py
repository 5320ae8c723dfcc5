"""The dry run: what the next run of Dream would be shown, cost and change. It is a job."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jenny.accounts.management import working
from settings_ui.views.memory.frame import desk, told

KIND = "rehearse"


def is_known() -> bool:
    """Whether there is somebody who carries it out."""
    return KIND in working.KINDS


@require_POST
@told
def begin(request: HttpRequest) -> HttpResponseBase:
    """Begin a dry run, and lead to how far it is; the one under way, when there is one."""
    mine = desk(request)
    if not is_known():
        raise Http404
    job = working.begin(mine.row, mine.account, KIND, {})
    return redirect("job", job.pk)
