"""Uploads: by a plain form, or piece by piece with progress, for files of any size."""

import contextlib
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.workspace import moving, uploading
from jenny.workspace.errors import FileTooLarge, WorkspaceError, WriteFailed, reason_of
from settings_ui.browsing import pieces
from settings_ui.views.files import frame
from settings_ui.views.files.frame import Desk, told

# The largest file that is taken in pieces; the form without script takes what one request may
# hold (``jenny.bodylimit``).
MOST_BYTES = 4_000_000_000
NAMED = 5


@require_http_methods(["GET", "HEAD", "POST"])
@told
def upload(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """The page with the form; by POST, store the files that came with it."""
    desk = frame.desk(request)
    path = path.strip("/")
    desk.files.list(path)
    context = frame.frame(desk, path, is_folder=True) | {
        "most_bytes": MOST_BYTES,
        "form_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    }
    if request.method != "POST":
        return render(request, "files/upload.html", context)
    stored, problems = [], []
    for file in request.FILES.getlist("files"):
        try:
            target = _target(desk, path, file.name or "file")
            stored.append(uploading.upload(desk.files, target, file, limit=MOST_BYTES))
        except WorkspaceError as error:
            problems.append(error.sentence)
    if stored:
        messages.success(request, _said(stored))
    if not stored and not problems:
        problems = ["No file came with the form. Choose one or more, then send it again."]
    if problems:
        context |= {"problems": problems}
        return render(request, "files/upload.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return redirect(frame.address(path))


@require_POST
def piece(request: HttpRequest, path: str = "") -> HttpResponse:
    """Take one piece of a file: ``id`` (32 hex digits, the sender's choice), ``name``, ``at``
    (where the piece belongs, in bytes), ``size`` (of the whole file). JSON: how much there is;
    with the last piece, where the file was stored."""
    desk = frame.desk(request)
    try:
        desk.files.list(path)
        return JsonResponse(_take(request, desk, path.strip("/")))
    except WorkspaceError as error:
        return JsonResponse({"sentence": error.sentence}, status=frame.told.status_of(error))


def _take(request: HttpRequest, desk: Desk, folder: str) -> dict[str, object]:
    """Add the piece to what is there; with the last one, store the file.

    Raises:
        WorkspaceError: it is no piece, or the file cannot be stored; what had come of it is gone.
    """
    name, number = request.POST.get("name", ""), request.POST.get("id", "")
    at, size = pieces.number(request.POST.get("at")), pieces.number(request.POST.get("size"))
    sent = request.FILES.get("piece")
    if not (pieces.is_id(number) and name and at is not None and size is not None):
        raise WorkspaceError("This is no piece of a file. Nothing was stored.")
    if size > MOST_BYTES:
        raise FileTooLarge(f"{name} is larger than {MOST_BYTES:,} bytes. Nothing was stored.")
    if sent is None and size > 0:
        raise WorkspaceError("This piece is empty. Nothing was stored.")
    waiting = settings.JENNY_DATA.uploads / f"{desk.account.pk}" / f"{number}.part"
    try:
        there = pieces.append(waiting, sent.read() if sent is not None else b"", at)
        if there != size:
            return {"there": there}
        with waiting.open("rb") as stream:
            target = _target(desk, folder, name)
            stored = uploading.upload(desk.files, target, stream, limit=MOST_BYTES)
    except OSError as error:
        _discard(waiting)
        message = f"{name} could not be stored: {reason_of(error)}. Nothing of it was kept."
        raise WriteFailed(message) from error
    except WorkspaceError:
        _discard(waiting)
        raise
    _discard(waiting)
    return {"there": size, "path": stored, "href": frame.address(stored)}


def _target(desk: Desk, folder: str, name: str) -> str:
    """Where a file of that name goes: one that is there is kept, the new one gets a number."""
    plain = name.replace("\\", "/").rpartition("/")[2]
    return moving.free_name(desk.files.root, f"{folder}/{plain}".lstrip("/"))


def _discard(waiting: Path) -> None:
    with contextlib.suppress(OSError):
        waiting.unlink()


def _said(stored: list[str]) -> str:
    if len(stored) == 1:
        return f"{stored[0]} is stored."
    more = " …" if len(stored) > NAMED else ""
    return f"{len(stored)} files are stored: {', '.join(stored[:NAMED])}{more}."
