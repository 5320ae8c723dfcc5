"""The trash: what was deleted, until it goes for good."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.workspace import moving, trash
from jenny.workspace.errors import PathRefused
from settings_ui.views.files import frame
from settings_ui.views.files.frame import told


@require_safe
@told
def page(request: HttpRequest) -> HttpResponseBase:
    """Everything in the trash, what was thrown last first."""
    desk = frame.desk(request)
    items = [
        {"item": item, "when": desk.local(item.thrown_at), "goes": desk.local(item.goes_at)}
        for item in trash.listing(desk.trash)
    ]
    context = frame.frame(desk, "", is_folder=True) | {
        "items": items,
        "kept_days": trash.KEPT_DAYS,
    }
    return render(request, "files/trash.html", context)


@require_POST
@told
def put_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Bring one back; where its place is taken by now, beside it under a number."""
    desk = frame.desk(request)
    item = trash.get(desk.trash, item_id)
    try:
        where = trash.put_back(desk.files, desk.trash, item_id)
    except PathRefused:
        free = moving.free_name(desk.files.root, item.path)
        where = trash.put_back(desk.files, desk.trash, item_id, free)
    said = "is back" if where == item.path else f"is back as {where}: its place was taken"
    messages.success(request, f"{item.path} {said}.")
    return redirect(frame.address(where))


@require_POST
@told
def delete(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Delete one for good."""
    desk = frame.desk(request)
    item = trash.get(desk.trash, item_id)
    trash.delete(desk.trash, item_id)
    messages.success(request, f"{item.path} is deleted for good.")
    return redirect("files_trash")
