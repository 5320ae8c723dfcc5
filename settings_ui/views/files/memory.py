"""Actions that reverse effects of saving a memory file: bring a line back, or stop forgetting
it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jenny.workspace.errors import FileMissing
from memory import archive
from memory.errors import NotArchived, NotForgotten
from memory.services import lifted_facts
from settings_ui.views.files import base_context
from settings_ui.views.files.base_context import workspace_error_page


@require_POST
@workspace_error_page
def bring_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Write an archived text back to its file; a text that was forgotten is unsuppressed."""
    ctx = base_context.get_workspace_context(request)
    try:
        back = archive.bring_back(ctx.files.root, item_id, ctx.files.actor)
    except NotArchived as error:
        raise FileMissing(error.message) from error
    messages.success(request, back.message)
    return redirect(base_context.address(back.path))


@require_POST
@workspace_error_page
def lift(request: HttpRequest, item_id: str) -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    try:
        lifted = lifted_facts.lift(ctx.row, item_id, ctx.files.actor)
    except NotForgotten as error:
        raise FileMissing(error.message) from error
    messages.success(request, f"Jenny may learn this again: “{lifted.stone.text}”.{lifted.more}")
    return redirect(base_context.address(lifted.stone.path))
