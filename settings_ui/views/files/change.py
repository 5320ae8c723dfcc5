"""Pages that create, move, copy and delete files and folders, each with a form of its own."""

import time
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.workspace import move_copy, names, retention, trash
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.move_copy import kind_of, locate_itself
from settings_ui.views.files import base_context, outcome
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page
from wikis import page_rename, pages, signals
from wikis.views.base_context import index_for


class PathForm(forms.Form):
    """A target path. Slashes separate folders; missing folders are created."""

    to = forms.CharField(
        label="Path",
        max_length=names.PATH_CHARS,
        strip=True,
        help_text="Folders are parted by /. A folder that is not there yet is made.",
    )

    def clean_to(self) -> str:
        return str(self.cleaned_data["to"]).strip().strip("/")


class NewForm(forms.Form):
    """A new file or folder in a folder."""

    name = forms.CharField(
        label="Name", max_length=names.PATH_CHARS, help_text="Such as notes.md, or ideas/2026.md."
    )
    kind = forms.ChoiceField(
        label="What", choices=[("file", "A text file"), ("folder", "A folder")], initial="file"
    )

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).strip().strip("/")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def new(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """A new text file or folder in the folder *path*."""
    ctx = base_context.get_workspace_context(request)
    ctx.files.list(path)
    form = NewForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        target = f"{path.strip('/')}/{form.cleaned_data['name']}".lstrip("/")
        try:
            if form.cleaned_data["kind"] == "folder":
                made = move_copy.make_folder(ctx.files, target)
                return redirect(base_context.address(made))
            written = ctx.files.write(target, b"", expect=None)
            return redirect(base_context.address(written.path, "files/edit"))
        except WorkspaceError as error:
            form.add_error("name", error.message)
    return _asked(request, ctx, path.strip("/"), "new", form)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def move(request: HttpRequest, path: str) -> HttpResponseBase:
    """Rename or move a file, folder or link."""
    ctx = base_context.get_workspace_context(request)
    place = locate_itself(ctx.files.root, path)
    sent = request.POST if request.method == "POST" else None
    form = PathForm(sent, initial={"to": place.relative})
    if form.is_valid():
        try:
            moved = _moved(ctx, place.relative, form.cleaned_data["to"])
        except WorkspaceError as error:
            form.add_error("to", error.message)
        else:
            messages.success(request, outcome.moved(place.relative, moved))
            return redirect(base_context.address(moved.path))
    return _asked(request, ctx, place.relative, "move", form)


def _moved(ctx: WorkspaceContext, old: str, to: str) -> page_rename.Moved:
    """Move it; the conversations of a wiki that is renamed follow in the same act."""
    with transaction.atomic():
        moved = page_rename.move(index_for(ctx.row), ctx.files, old, to)
        folders = [path.split("/") for path in (old, moved.path)]
        if all(len(parts) == 2 and parts[0] == pages.WIKIS for parts in folders):  # noqa: PLR2004 - wikis/<name>
            signals.notify_renamed(ctx.row, folders[0][1], folders[1][1])
    return moved


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def copy(request: HttpRequest, path: str) -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    place = locate_itself(ctx.files.root, path)
    sent = request.POST if request.method == "POST" else None
    free = move_copy.free_name(ctx.files.root, place.relative)
    form = PathForm(sent, initial={"to": free})
    if form.is_valid():
        try:
            copied = move_copy.copy(ctx.files, place.relative, form.cleaned_data["to"])
        except WorkspaceError as error:
            form.add_error("to", error.message)
        else:
            messages.success(request, f"{place.relative} is copied to {copied}.")
            return redirect(base_context.address(copied))
    return _asked(request, ctx, place.relative, "copy", form)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def delete(request: HttpRequest, path: str) -> HttpResponseBase:
    """Move a file, folder or link to the trash after a confirmation."""
    ctx = base_context.get_workspace_context(request)
    place = locate_itself(ctx.files.root, path)
    if request.method == "POST":
        item = trash.move_to_trash(ctx.files, ctx.trash, place.relative, now=int(time.time()))
        messages.success(request, outcome.thrown(ctx, item))
        return redirect(base_context.address(place.relative.rpartition("/")[0]))
    count = 0
    if place.is_folder:
        count = sum(entry.kind != "folder" for entry in ctx.files.walk(place.relative))
    context = base_context.base_context(ctx, place.relative, is_folder=False) | {
        "kind": kind_of(place),
        "count": count,
        "kept_days": retention.TRASH.days,
        "warning": outcome.before_delete(place.relative),
    }
    return render(request, "files/delete.html", context)


def _asked(
    request: HttpRequest, ctx: WorkspaceContext, path: str, what: str, form: NewForm | PathForm
) -> HttpResponse:
    """Render the page with the form; a form that cannot be accepted says why."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    context = base_context.base_context(ctx, path, is_folder=what == "new") | {
        "form": form,
        "what": what,
    }
    return render(request, "files/path_form.html", context, status=status)
