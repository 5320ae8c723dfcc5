from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
from jenny.workspace import retention
from jenny.workspace.errors import WorkspaceError
from settings_ui.errors import FolderFound, WorkspaceRefused
from settings_ui.services import workspaces

_PAGE = "settings_workspaces"


@require_http_methods(["GET", "HEAD", "POST"])
def workspaces_page(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    access.workspace(request)
    if request.method != "POST":
        return _page(request, person)
    name = request.POST.get("name", "")
    try:
        checked = workspaces.checked_name(person, name)
        attach = workspaces.wants_attached(person, checked, request.POST.get("folder", ""))
        row = workspaces.create(person, name, attach=attach)
    except FolderFound as error:
        return _page(request, person, typed=name, found=error.message)
    except (WorkspaceRefused, WorkspaceError) as error:
        return _page(request, person, problem=error.message, typed=name)
    access.choose_workspace(request, row)
    messages.success(request, f"“{row.name}” is made, and you work in it now.")
    return redirect(_PAGE)


@require_POST
def use(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    row = _own(request, workspace_id)
    row.make_folder()
    access.choose_workspace(request, row)
    messages.success(request, f"You work in “{row.name}” now.")
    goal = request.POST.get("next", "")
    return redirect(goal if goal.startswith("/") and access.is_own_url(request, goal) else _PAGE)


@require_POST
def rename(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    person, row = access.account(request), _own(request, workspace_id)
    given = request.POST.get("name", "")
    try:
        changed = workspaces.give_name(row, person, given)
    except WorkspaceRefused as error:
        return _page(request, person, renaming=row, problem=error.message, typed=given)
    row.refresh_from_db()
    said = "is the name now" if changed else "was the name already; nothing was written"
    messages.success(request, f"“{row.name}” {said}.")
    return redirect(_PAGE)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Show its content; a POST with ``confirm=yes`` deletes it."""
    row = _own(request, workspace_id)
    problem = ""
    if request.method == "POST" and request.POST.get("confirm") == "yes":
        try:
            message = workspaces.delete(row)
        except WorkspaceRefused as error:
            problem = error.message
        else:
            messages.success(
                request,
                f"“{row.name}” is deleted. For "
                f"{retention.in_words(retention.DELETED_WORKSPACE)} it can be brought back here. "
                f"{message}",
            )
            return redirect(_PAGE)
    elif request.method == "POST":
        problem = "Nothing was deleted: the answer was no yes."
    context = {
        "row": row,
        "inside": workspaces.inside(row),
        "kept_for": retention.in_words(retention.DELETED_WORKSPACE),
        "is_only": not access.has_others(row),
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "settings/workspace_delete.html", context, status=status)


@require_POST
def bring_back(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    person = access.account(request)
    row = workspaces.deleted(person).filter(pk=workspace_id).first()
    if row is None:
        raise Http404
    if workspaces.bring_back(row):
        messages.success(request, f"“{row.name}” is back, as it was.")
    else:
        messages.error(request, f"“{row.name}” cannot be brought back: its folder is gone.")
    return redirect(_PAGE)


def _own(request: HttpRequest, workspace_id: UUID) -> Workspace:
    row = access.own_workspace(request, workspace_id)
    if row is None:
        raise Http404
    return row


def _page(
    request: HttpRequest,
    person: Account,
    *,
    renaming: Workspace | None = None,
    problem: str = "",
    typed: str = "",
    found: str = "",
) -> HttpResponse:
    current = access.current_workspace(request)
    rows = [
        {
            "row": row,
            "is_current": row == current,
            "conversations": Conversation.objects.filter(workspace=row).count(),
            "problem": problem if row == renaming else "",
            "name": typed if row == renaming else row.name,
        }
        for row in workspaces.live(person)
    ]
    gone = [
        {"row": row, "until": row.deleted_at + retention.DELETED_WORKSPACE}
        for row in workspaces.deleted(person)
        if row.deleted_at is not None
    ]
    context = {
        "rows": rows,
        "gone": gone,
        "kept_for": retention.in_words(retention.DELETED_WORKSPACE),
        "problem": problem if renaming is None else "",
        "typed": typed if renaming is None else "",
        "found": found,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem or found else HTTPStatus.OK
    return render(request, "settings/workspaces.html", context, status=status)
