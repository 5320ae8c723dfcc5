"""Making, moving, copying and deleting; each has a page of its own, which asks."""

import time
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.workspace import moving, trash
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.subtree import itself, kind_of
from settings_ui.views.files import frame, outcome
from settings_ui.views.files.forms import NewForm, PathForm
from settings_ui.views.files.frame import Desk, told


@require_http_methods(["GET", "HEAD", "POST"])
@told
def new(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """A new text file or folder in the folder *path*."""
    desk = frame.desk(request)
    desk.files.list(path)
    form = NewForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        target = f"{path.strip('/')}/{form.cleaned_data['name']}".lstrip("/")
        try:
            if form.cleaned_data["kind"] == "folder":
                made = moving.make_folder(desk.files, target)
                return redirect(frame.address(made))
            written = desk.files.write(target, b"", expect=None)
            return redirect(frame.address(written.path, "files/edit"))
        except WorkspaceError as error:
            form.add_error("name", error.sentence)
    return _asked(request, desk, path.strip("/"), "new", form)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def move(request: HttpRequest, path: str) -> HttpResponseBase:
    """Rename or move a file, folder or link."""
    desk = frame.desk(request)
    place = itself(desk.files.root, path)
    sent = request.POST if request.method == "POST" else None
    form = PathForm(sent, initial={"to": place.relative})
    if form.is_valid():
        try:
            moved = moving.move(desk.files, place.relative, form.cleaned_data["to"])
        except WorkspaceError as error:
            form.add_error("to", error.sentence)
        else:
            messages.success(request, outcome.moved(desk, place.relative, moved))
            return redirect(frame.address(moved))
    return _asked(request, desk, place.relative, "move", form)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def copy(request: HttpRequest, path: str) -> HttpResponseBase:
    """Copy a file or folder."""
    desk = frame.desk(request)
    place = itself(desk.files.root, path)
    sent = request.POST if request.method == "POST" else None
    free = moving.free_name(desk.files.root, place.relative)
    form = PathForm(sent, initial={"to": free})
    if form.is_valid():
        try:
            copied = moving.copy(desk.files, place.relative, form.cleaned_data["to"])
        except WorkspaceError as error:
            form.add_error("to", error.sentence)
        else:
            messages.success(request, f"{place.relative} is copied to {copied}.")
            return redirect(frame.address(copied))
    return _asked(request, desk, place.relative, "copy", form)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def delete(request: HttpRequest, path: str) -> HttpResponseBase:
    """Move a file, folder or link to the trash, after a yes."""
    desk = frame.desk(request)
    place = itself(desk.files.root, path)
    if request.method == "POST":
        item = trash.throw(desk.files, desk.trash, place.relative, now=int(time.time()))
        messages.success(request, outcome.thrown(desk, item))
        return redirect(frame.address(place.relative.rpartition("/")[0]))
    count = 0
    if place.is_folder:
        count = sum(entry.kind != "folder" for entry in desk.files.walk(place.relative))
    context = frame.frame(desk, place.relative, is_folder=False) | {
        "kind": kind_of(place),
        "count": count,
        "kept_days": trash.KEPT_DAYS,
        "warning": outcome.before_delete(place.relative),
    }
    return render(request, "files/delete.html", context)


def _asked(
    request: HttpRequest, desk: Desk, path: str, what: str, form: NewForm | PathForm
) -> HttpResponse:
    """The page with the form; one that was sent and cannot be taken says why."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    context = frame.frame(desk, path, is_folder=what == "new") | {"form": form, "what": what}
    return render(request, "files/ask.html", context, status=status)
