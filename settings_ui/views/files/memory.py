"""What saving a memory file did, taken back: a line brought back, or no longer forgotten."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jenny.workspace.errors import FileMissing
from memory import archive, forgotten
from memory.errors import NotArchived, NotForgotten
from settings_ui.views.files import frame
from settings_ui.views.files.frame import told


@require_POST
@told
def bring_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Write an archived text to its file again; a person's asking also lifts that it was
    forgotten."""
    desk = frame.desk(request)
    try:
        back = archive.bring_back(desk.files.root, item_id, desk.files.actor)
    except NotArchived as error:
        raise FileMissing(error.sentence) from error
    messages.success(request, back.sentence)
    return redirect(frame.address(back.path))


@require_POST
@told
def lift(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Let Jenny learn something again that was forgotten."""
    desk = frame.desk(request)
    try:
        stone = forgotten.lift(desk.files.root, item_id, desk.files.actor)
    except NotForgotten as error:
        raise FileMissing(error.sentence) from error
    messages.success(request, f"Jenny may learn this again: {stone.text}")
    return redirect(frame.address(stone.path))
