"""The trash page: deleted files until they are purged."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.workspace import move_copy, retention, trash
from jenny.workspace.errors import PathRefused
from settings_ui.views.files import base_context
from settings_ui.views.files.base_context import workspace_error_page


@require_safe
@workspace_error_page
def trash_page(request: HttpRequest) -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    items = [
        {"item": item, "when": ctx.local(item.deleted_at), "goes": ctx.local(item.purge_at)}
        for item in trash.listing(ctx.trash)
    ]
    context = base_context.base_context(ctx, "", is_folder=True) | {
        "items": items,
        "kept_days": retention.TRASH.days,
    }
    return render(request, "files/trash.html", context)


@require_POST
@workspace_error_page
def put_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Restore an item; a number is added to its name when the path is taken."""
    ctx = base_context.get_workspace_context(request)
    item = trash.get(ctx.trash, item_id)
    try:
        where = trash.put_back(ctx.files, ctx.trash, item_id)
    except PathRefused:
        free = move_copy.free_name(ctx.files.root, item.path)
        where = trash.put_back(ctx.files, ctx.trash, item_id, free)
    said = "is back" if where == item.path else f"is back as {where}: its place was taken"
    messages.success(request, f"{item.path} {said}.")
    return redirect(base_context.address(where))


@require_POST
@workspace_error_page
def delete(request: HttpRequest, item_id: str) -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    item = trash.get(ctx.trash, item_id)
    trash.delete(ctx.trash, item_id)
    messages.success(request, f"{item.path} is deleted for good.")
    return redirect("files_trash")
