"""Pages that create, move, copy and delete files and folders, each with a form of its own."""

import contextlib
import time
from http import HTTPStatus
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts.services.workspace_context import WorkspaceContext, get_workspace_context
from jenny.markdown.highlight import file_ending
from jenny.workspace import move_copy, names, retention, trash, uploads
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteFailed, reason_of
from jenny.workspace.move_copy import kind_of, locate_itself
from settings_ui.views import files
from settings_ui.views.files import workspace_error_page
from wikis import page_rename, pages, signals
from wikis.views.base_context import index_for

# Uploads with a plain form, or in parts with progress for files of any size.


# Largest file that is accepted in parts; the plain form accepts what one request may hold
# (``jenny.runtime.asgi_middleware``).
MOST_BYTES = 4_000_000_000
NAMED = 5
CODE_FOLDER = "output"


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def upload(request: HttpRequest, path: str = "") -> HttpResponseBase:
    ctx = get_workspace_context(request)
    path = path.strip("/")
    ctx.files.list(path)
    context = files.base_context(ctx, path, is_folder=True) | {
        "most_bytes": MOST_BYTES,
        "form_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    }
    if request.method != "POST":
        return render(request, "files/upload.html", context)
    stored, problems = [], []
    for file in request.FILES.getlist("files"):
        try:
            target = _target(ctx, path, file.name or "file")
            stored.append(uploads.upload(ctx.files, target, file, limit=MOST_BYTES))
        except WorkspaceError as error:
            problems.append(error.message)
    if stored:
        messages.success(request, _said(stored))
    if not stored and not problems:
        problems = ["No file came with the form. Choose one or more, then send it again."]
    if problems:
        context |= {"problems": problems}
        return render(request, "files/upload.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return redirect(files.address(path))


@require_POST
def piece(request: HttpRequest, path: str = "") -> HttpResponse:
    """Take one part of a file: ``id`` (32 hex digits, chosen by the sender), ``name``, ``at``
    (offset in bytes), ``size`` (of the whole file).

    Returns JSON with the size received; with the last part, the path at which the file was
    stored.
    """
    ctx = get_workspace_context(request)
    try:
        ctx.files.list(path)
        return JsonResponse(_take(request, ctx, path.strip("/")))
    except WorkspaceError as error:
        return JsonResponse(
            {"message": error.message}, status=files.workspace_error_page.status_of(error)
        )


def _take(request: HttpRequest, ctx: WorkspaceContext, folder: str) -> dict[str, object]:
    """Append the part; with the last one, store the file.

    Raises:
        WorkspaceError: the part is invalid, or the file cannot be stored; received parts are
            deleted.
    """
    sent = request.FILES.get("piece")
    part = uploads.read_part(request.POST, has_data=sent is not None, limit=MOST_BYTES)
    waiting = settings.JENNY_DATA.uploads / f"{ctx.account.pk}" / f"{part.id}.part"
    try:
        there = uploads.append_part(waiting, sent.read() if sent is not None else b"", part.at)
        if there != part.size:
            return {"there": there}
        with waiting.open("rb") as stream:
            target = _target(ctx, folder, part.name)
            stored = uploads.upload(ctx.files, target, stream, limit=MOST_BYTES)
    except OSError as error:
        _discard(waiting)
        message = f"{part.name} could not be stored: {reason_of(error)}. Nothing of it was kept."
        raise WriteFailed(message) from error
    except WorkspaceError:
        _discard(waiting)
        raise
    _discard(waiting)
    return {"there": part.size, "path": stored, "href": files.address(stored)}


@require_POST
def save_code(request: HttpRequest) -> HttpResponse:
    """Save a block of code (``text``, ``language`` as its fence names it) as a new file below
    ``output/``, or that folder of the ``project``. Returns JSON with the path."""
    ctx = get_workspace_context(request)
    text, project = request.POST.get("text", ""), request.POST.get("project", "")
    try:
        base = f"{pages.open_wiki(ctx.root, project).path(CODE_FOLDER)}" if project else CODE_FOLDER
        name = f"code.{file_ending(request.POST.get('language', ''))}"
        target = move_copy.free_name(ctx.files.root, f"{base}/{name}")
        # No version: a file that came there meanwhile is not overwritten.
        path = ctx.files.write(target, text.replace("\r\n", "\n").encode(), expect=None).path
    except WorkspaceError as error:
        return JsonResponse(
            {"message": error.message}, status=files.workspace_error_page.status_of(error)
        )
    return JsonResponse({"path": path, "href": files.address(path)})


def _target(ctx: WorkspaceContext, folder: str, name: str) -> str:
    """Return a free path for the file: a number is added when the name is taken."""
    plain = name.replace("\\", "/").rpartition("/")[2]
    return move_copy.free_name(ctx.files.root, f"{folder}/{plain}".lstrip("/"))


def _discard(waiting: Path) -> None:
    with contextlib.suppress(OSError):
        waiting.unlink()


def _said(stored: list[str]) -> str:
    if len(stored) == 1:
        return f"{stored[0]} is stored."
    more = " …" if len(stored) > NAMED else ""
    return f"{len(stored)} files are stored: {', '.join(stored[:NAMED])}{more}."


# The trash page: deleted files until they are purged.


@require_safe
@workspace_error_page
def trash_page(request: HttpRequest) -> HttpResponseBase:
    ctx = get_workspace_context(request)
    items = [
        {"item": item, "when": ctx.local(item.deleted_at), "goes": ctx.local(item.purge_at)}
        for item in trash.listing(ctx.trash)
    ]
    context = files.base_context(ctx, "", is_folder=True) | {
        "items": items,
        "kept_days": retention.TRASH.days,
    }
    return render(request, "files/trash.html", context)


@require_POST
@workspace_error_page
def put_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Restore an item; a number is added to its name when the path is taken."""
    ctx = get_workspace_context(request)
    item = trash.get(ctx.trash, item_id)
    try:
        where = trash.put_back(ctx.files, ctx.trash, item_id)
    except PathRefused:
        free = move_copy.free_name(ctx.files.root, item.path)
        where = trash.put_back(ctx.files, ctx.trash, item_id, free)
    said = "is back" if where == item.path else f"is back as {where}: its place was taken"
    messages.success(request, f"{item.path} {said}.")
    return redirect(files.address(where))


@require_POST
@workspace_error_page
def delete_for_good(request: HttpRequest, item_id: str) -> HttpResponseBase:
    ctx = get_workspace_context(request)
    item = trash.get(ctx.trash, item_id)
    trash.delete(ctx.trash, item_id)
    messages.success(request, f"{item.path} is deleted for good.")
    return redirect("files_trash")


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
    ctx = get_workspace_context(request)
    ctx.files.list(path)
    form = NewForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        target = f"{path.strip('/')}/{form.cleaned_data['name']}".lstrip("/")
        try:
            if form.cleaned_data["kind"] == "folder":
                made = move_copy.make_folder(ctx.files, target)
                return redirect(files.address(made))
            written = ctx.files.write(target, b"", expect=None)
            return redirect(files.address(written.path, "files/edit"))
        except WorkspaceError as error:
            form.add_error("name", error.message)
    return _asked(request, ctx, path.strip("/"), "new", form)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def move(request: HttpRequest, path: str) -> HttpResponseBase:
    """Rename or move a file, folder or link."""
    ctx = get_workspace_context(request)
    place = locate_itself(ctx.files.root, path)
    sent = request.POST if request.method == "POST" else None
    form = PathForm(sent, initial={"to": place.relative})
    if form.is_valid():
        try:
            moved = _moved(ctx, place.relative, form.cleaned_data["to"])
        except WorkspaceError as error:
            form.add_error("to", error.message)
        else:
            messages.success(request, files.moved(place.relative, moved))
            return redirect(files.address(moved.path))
    return _asked(request, ctx, place.relative, "move", form)


def _moved(ctx: WorkspaceContext, old: str, to: str) -> page_rename.Moved:
    """Move it; the conversations of a wiki that is renamed follow in the same act."""
    with transaction.atomic():
        moved = page_rename.move(index_for(ctx.row), ctx.files, old, to)
        folders = [path.split("/") for path in (old, moved.path)]
        if all(len(parts) == 2 and parts[0] == pages.WIKIS for parts in folders):  # noqa: PLR2004 - wikis/<name>
            old, new = folders[0][1], folders[1][1]
            signals.wiki_renamed.send(sender=None, workspace=ctx.row, old=old, name=new)
    return moved


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def copy(request: HttpRequest, path: str) -> HttpResponseBase:
    ctx = get_workspace_context(request)
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
            return redirect(files.address(copied))
    return _asked(request, ctx, place.relative, "copy", form)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def delete(request: HttpRequest, path: str) -> HttpResponseBase:
    """Move a file, folder or link to the trash after a confirmation."""
    ctx = get_workspace_context(request)
    place = locate_itself(ctx.files.root, path)
    if request.method == "POST":
        item = trash.move_to_trash(ctx.files, ctx.trash, place.relative, now=int(time.time()))
        messages.success(request, files.thrown(ctx, item))
        return redirect(files.address(place.relative.rpartition("/")[0]))
    count = 0
    if place.is_folder:
        count = sum(entry.kind != "folder" for entry in ctx.files.walk(place.relative))
    context = files.base_context(ctx, place.relative, is_folder=False) | {
        "kind": kind_of(place),
        "count": count,
        "kept_days": retention.TRASH.days,
        "warning": files.before_delete(place.relative),
    }
    return render(request, "files/delete.html", context)


def _asked(
    request: HttpRequest, ctx: WorkspaceContext, path: str, what: str, form: NewForm | PathForm
) -> HttpResponse:
    """Render the page with the form; a form that cannot be accepted says why."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    context = files.base_context(ctx, path, is_folder=what == "new") | {
        "form": form,
        "what": what,
    }
    return render(request, "files/path_form.html", context, status=status)
