from http import HTTPStatus

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access
from jenny.accounts.models import Workspace
from jenny.accounts.services import usage
from jenny.agent.run_kinds import USAGE_KINDS
from jenny.chat.models import Conversation
from jenny.chat.services import turn_recovery
from jenny.workspace import config
from jenny.workspace.errors import WorkspaceError
from memory.services.dream import scheduler
from settings_ui import privacy, values

_FIELD = config.BY_KEY[usage.PAUSE]


@require_http_methods(["GET", "HEAD", "POST"])
def privacy_page(request: HttpRequest) -> HttpResponse:
    """Show the page; a POST pauses or resumes model calls."""
    workspace = access.workspace(request)
    if request.method != "POST":
        return _page(request, workspace)
    sent = {name: texts[-1] for name, texts in request.POST.lists() if texts}
    before = config.load_config(workspace.root)
    asked = values.asked_of(before, [_FIELD], sent)
    if not asked.values:
        problem = asked.problems.get(_FIELD.key, "Say whether to pause or to resume.")
        return _page(request, workspace, problem)
    wants = bool(asked.values[_FIELD.key])
    try:
        changed = config.change_config(
            workspace.root, lambda data: values.write_into(data, before, asked.values)
        )
    except WorkspaceError as error:
        return _page(request, workspace, error.message)
    messages.success(request, _said(workspace, wants=wants, changed=changed))
    return redirect(request.path)


def chosen_models(workspace: Workspace) -> dict[str, int]:
    """Count the conversations in which each model was chosen by name."""
    rows = Conversation.objects.filter(workspace=workspace).exclude(preset="")
    counted = rows.values_list("preset").annotate(count=Count("pk"))
    return dict(counted.order_by("preset"))


def _said(workspace: Workspace, *, wants: bool, changed: bool) -> str:
    """Return a sentence about the change. Resuming starts what waited."""
    if wants:
        return (
            "All model calls are paused. Answers under way end within a second or two; what was "
            "written is kept."
            if changed
            else "All model calls were paused already."
        )
    if not changed:
        return "Model calls were not paused."
    scheduler.catch_up(workspace)
    going = turn_recovery.resume(workspace)
    if not going:
        return "Model calls are resumed."
    if going == 1:
        return "Model calls are resumed. One conversation goes on where it stopped."
    return f"Model calls are resumed. {going:,} conversations go on where they stopped."


def _page(request: HttpRequest, workspace: Workspace, problem: str = "") -> HttpResponse:
    found = config.load_config(workspace.root)
    origins = set(workspace.owner.api_keys.values_list("origin", flat=True))
    rows = privacy.recipients(found, access.environment(), origins, chosen_models(workspace))
    context = {
        "recipients": rows,
        "message": privacy.message(rows),
        "sent": USAGE_KINDS.values(),
        "is_paused": found.get(usage.PAUSE),
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "settings/privacy.html", context, status=status)
