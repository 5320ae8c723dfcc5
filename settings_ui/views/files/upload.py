"""Uploads with a plain form, or in parts with progress for files of any size."""

import contextlib
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.workspace import move_copy, upload_parts, uploads
from jenny.workspace.errors import WorkspaceError, WriteFailed, reason_of
from settings_ui.views.files import base_context
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page

# Largest file that is accepted in parts; the plain form accepts what one request may hold
# (``jenny.runtime.asgi_middleware``).
MOST_BYTES = 4_000_000_000
NAMED = 5


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def upload(request: HttpRequest, path: str = "") -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    path = path.strip("/")
    ctx.files.list(path)
    context = base_context.base_context(ctx, path, is_folder=True) | {
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
    return redirect(base_context.address(path))


@require_POST
def piece(request: HttpRequest, path: str = "") -> HttpResponse:
    """Take one part of a file: ``id`` (32 hex digits, chosen by the sender), ``name``, ``at``
    (offset in bytes), ``size`` (of the whole file).

    Returns JSON with the size received; with the last part, the path at which the file was
    stored.
    """
    ctx = base_context.get_workspace_context(request)
    try:
        ctx.files.list(path)
        return JsonResponse(_take(request, ctx, path.strip("/")))
    except WorkspaceError as error:
        return JsonResponse(
            {"message": error.message}, status=base_context.workspace_error_page.status_of(error)
        )


def _take(request: HttpRequest, ctx: WorkspaceContext, folder: str) -> dict[str, object]:
    """Append the part; with the last one, store the file.

    Raises:
        WorkspaceError: the part is invalid, or the file cannot be stored; received parts are
            deleted.
    """
    sent = request.FILES.get("piece")
    part = upload_parts.read_part(request.POST, has_data=sent is not None, limit=MOST_BYTES)
    waiting = settings.JENNY_DATA.uploads / f"{ctx.account.pk}" / f"{part.id}.part"
    try:
        there = upload_parts.append(waiting, sent.read() if sent is not None else b"", part.at)
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
    return {"there": part.size, "path": stored, "href": base_context.address(stored)}


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
