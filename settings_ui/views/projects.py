from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation, ProjectState
from jenny.chat.services import gardener
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from settings_ui import values
from settings_ui.values import Asked
from settings_ui.views.values import group_page
from wikis import pages, project, wikis_block


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    scope: str
    conversations: int = 0
    knows_memory: bool = True
    tried: datetime | None = None
    why: str = ""
    problem: str = ""


@require_http_methods(["GET", "HEAD", "POST"])
def projects_page(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    return group_page(request, workspace, "projects", _context)


@require_POST
def tidy(request: HttpRequest, name: str) -> HttpResponse:
    workspace = access.workspace(request)
    try:
        pages.open_wiki(workspace.root, name)
    except WorkspaceError as error:
        raise Http404(error.message) from error
    job = gardener.request_tidy(workspace, access.account(request), name)
    if not job.is_new and job.arguments.get("project") != name:
        messages.info(request, "Another project is being tidied. Ask again when it is done.")
    return redirect("job", job.pk)


def _context(workspace: Workspace, found: Config, asked: Asked | None) -> dict[str, Any]:
    return {
        "rows": values.rows(found, values.fields_of("projects"), asked),
        "projects": _projects(workspace),
    }


def _projects(workspace: Workspace) -> list[Row]:
    own = Conversation.objects.filter(workspace=workspace, kind=Conversation.Kind.PROJECT)
    counts = dict(own.values_list("project").annotate(Count("pk")))
    states = {row.name: row for row in ProjectState.objects.filter(workspace=workspace)}
    return [
        _row(workspace, wiki, counts.get(wiki.name, 0), states.get(wiki.name))
        for wiki in wikis_block.listing(workspace.root)
    ]


def _row(
    workspace: Workspace, wiki: wikis_block.Wiki, conversations: int, state: ProjectState | None
) -> Row:
    try:
        knows, problem = project.read_project(workspace.root, wiki.name).knows_memory, wiki.problem
    except WorkspaceError as error:
        knows, problem = True, error.message
    return Row(
        wiki.name,
        wiki.scope,
        conversations,
        knows,
        state.attempted_at if state else None,
        state.why if state else "",
        problem,
    )
