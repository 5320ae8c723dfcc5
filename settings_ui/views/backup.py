"""Settings → Backup: a workspace as a file that can leave the machine, and back."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts import access
from jenny.accounts.models import Account, Job, Workspace
from jenny.workspace import uploads
from jenny.workspace.backup.validation import free_bytes
from jenny.workspace.errors import BackupRefused, WorkspaceError, WriteFailed, reason_of
from settings_ui.errors import FolderFound, WorkspaceRefused
from settings_ui.services import workspaces
from settings_ui.services.backups import exporter, import_job, previews, storage
from settings_ui.services.backups.storage import Place
from settings_ui.views.files import apart, named

MOST_BYTES = 50_000_000_000
_UNDER_WAY = "An import is under way already; it is linked above. Nothing was changed."
CHUNK_BYTES = 256 * 1024
_LISTED = 10
_RESTORED = "Restored workspace"
# Free space that must remain on the disk once a file has arrived.
_SPARE_BYTES = 200_000_000


@require_safe
def backup_page(request: HttpRequest) -> HttpResponse:
    return _page(request)


@require_POST
@sensitive_post_parameters("passphrase", "again")
def export(request: HttpRequest) -> HttpResponse:
    person, row = access.account(request), access.workspace(request)
    plain = request.POST.get("plain") == "yes"
    typed, again = request.POST.get("passphrase", ""), request.POST.get("again", "")
    if not plain and typed != again:
        return _page(request, export_problem="The two passphrases differ. No backup was made.")
    try:
        job = exporter.begin_export(
            row,
            person,
            passphrase=None if plain else typed,
            with_history=request.POST.get("history") == "yes",
        )
    except WorkspaceError as error:
        return _page(request, export_problem=error.message)
    return redirect("job", job.pk)


@require_safe
def download(request: HttpRequest, name: str) -> HttpResponseBase:
    person = access.account(request)
    place = _stored_backup(name, person, made=True)
    size = place.file.stat().st_size
    response = StreamingHttpResponse(
        apart(_pieces(place.file, size)), content_type="application/octet-stream"
    )
    response["Content-Length"] = str(size)
    return named(response, str(place.about.get("name") or "backup"), "attachment")


@require_POST
def discard(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a backup or an uploaded file before it expires."""
    person = access.account(request)
    place = storage.named(name, person)
    if place is None:
        raise Http404
    if _is_in_use(place):
        messages.error(request, "It is in use just now. It stays until that has ended.")
    else:
        place.drop()
        messages.success(request, "It is removed from this machine.")
    return redirect("settings_backup")


@require_POST
def piece(request: HttpRequest) -> HttpResponse:
    """Take one part of an upload: ``id`` (32 hex digits, chosen by the sender), ``at`` (offset in
    bytes), ``size`` (of the whole file). Returns JSON with the size received."""
    person = access.account(request)
    at, size = (
        uploads.number(request.POST.get("at")),
        uploads.number(request.POST.get("size")),
    )
    sent = request.FILES.get("piece")
    try:
        if at is None or size is None or sent is None or at + sent.size > size:  # type: ignore[operator]  # an uploaded file has a size
            raise BackupRefused("This is no piece of a backup. Nothing was stored.")
        place = storage.arriving(request.POST.get("id", ""), person)
        _check_room(place.path, size - at)
        return JsonResponse({"there": uploads.append_part(place.file, sent.read(), at)})
    except WorkspaceError as error:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return JsonResponse({"message": error.message}, status=status)
    except OSError as error:
        message = f"The backup could not be stored: {reason_of(error)}. Nothing was changed."
        return JsonResponse({"message": message}, status=HTTPStatus.INSUFFICIENT_STORAGE)


@require_POST
@sensitive_post_parameters("passphrase")
def import_backup(request: HttpRequest) -> HttpResponse:
    """Enqueue the check of a backup: one uploaded in parts (``arrived``), or with the form."""
    person, row = access.account(request), access.workspace(request)
    place: Place | None = None
    try:
        _check_free(row)
        place = _arrived(request, person)
        new = _new_name(request, person)
        passphrase = request.POST.get("passphrase", "")[: exporter.MOST_PASSPHRASE]
        plain = previews.header_for(place.file, passphrase) is None
        place.note(arriving=False, refused=False, plain=plain)
        if not plain:
            place.leave_passphrase(passphrase)
        job = import_job.begin_check(row, person, place, new)
        if not job.is_new:
            place.drop()
            raise BackupRefused(_UNDER_WAY)
    except (WorkspaceError, WorkspaceRefused) as error:
        arrived = place.name if place is not None and place.is_whole else ""
        return _page(request, import_problem=error.message, arrived=arrived)
    return redirect("job", job.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def preview(request: HttpRequest, name: str) -> HttpResponse:
    """Show what the import would change; a POST runs it."""
    person, row = access.account(request), access.workspace(request)
    place = _stored_backup(name, person)
    about = place.about
    if "preview" not in about or about.get("workspace") != str(row.pk):
        raise Http404
    problem = folder = ""
    if request.method == "POST":
        try:
            _check_free(row)
            if about.get("new"):
                name = workspaces.checked_name(person, request.POST.get("new", about["new"]))
                if workspaces.wants_attached(person, name, request.POST.get("folder", "")):
                    return _attach(request, name, place)
                place.note(new=name)
            job = import_job.begin_entering(row, person, place)
        except FolderFound as error:
            folder = error.message
        except (WorkspaceError, WorkspaceRefused) as error:
            problem = error.message
        else:
            return redirect("job", job.pk)
    context = {
        "place": place,
        "when": _moment(about["preview"].get("made")),
        "found": about["preview"],
        "new": request.POST.get("new", about.get("new", "")),
        "problem": problem,
        "folder": folder,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem or folder else HTTPStatus.OK
    return render(request, "settings/backup_preview.html", context, status=status)


def _attach(request: HttpRequest, name: str, place: Place) -> HttpResponse:
    """Make a found folder a workspace, and check the backup again to show what would change."""
    person = access.account(request)
    row = workspaces.create(person, name, attach=True)
    access.choose_workspace(request, row)
    messages.success(request, f"The folder is the workspace “{row.name}”, and you work in it now.")
    return redirect("job", import_job.begin_check(row, person, place, "").pk)


def _page(
    request: HttpRequest, *, export_problem: str = "", import_problem: str = "", arrived: str = ""
) -> HttpResponse:
    person, row = access.account(request), access.workspace(request)
    if not arrived and (refused := storage.refused(person)) is not None:
        arrived = refused.name
    context = {
        "row": row,
        "open": list(
            Job.objects.filter(
                workspace=row, kind__in=(exporter.KIND, import_job.KIND), state__in=Job.OPEN
            )
        ),
        "ready": list(_ready(person, row)),
        "checked": [
            {
                "name": place.name,
                "of": place.about["preview"].get("name", ""),
                "made": _moment(place.about["preview"].get("made")),
            }
            for place in storage.checked(person, str(row.pk))
            if not _is_in_use(place)
        ],
        "least": exporter.LEAST_PASSPHRASE,
        "export_problem": export_problem,
        "import_problem": import_problem,
        "arrived": arrived,
        "typed": {
            "new": request.POST.get("new", ""),
            "target": request.POST.get("target", "this"),
            "plain": request.POST.get("plain", ""),
        },
        "form_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    }
    is_wrong = export_problem or import_problem
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "settings/backup.html", context, status=status)


def _ready(person: Account, row: Workspace) -> Iterator[dict[str, Any]]:
    """Backups of this workspace that can be downloaded."""
    rows = Job.objects.filter(workspace=row, kind=exporter.KIND, account=person)
    for job in rows.filter(state=Job.State.DONE).order_by("-pk")[:_LISTED]:
        place = storage.named(str(job.result.get("folder", "")), person)
        if place is not None and place.is_whole:
            about = place.about
            yield {
                "name": place.name,
                "file": about.get("name", ""),
                "size": place.file.stat().st_size,
                "when": job.ended_at,
                "plain": about.get("plain", False),
            }


def _stored_backup(name: str, person: Account, *, made: bool = False) -> Place:
    """Return the account's backup of that name. *made* limits it to exported ones."""
    place = storage.named(name, person)
    if place is None or not place.is_whole or (made and "made" not in place.about):
        raise Http404
    return place


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _is_in_use(place: Place) -> bool:
    rows = Job.objects.filter(kind__in=(exporter.KIND, import_job.KIND), state__in=Job.OPEN)
    return any(job.arguments.get("folder") == place.name for job in rows)


def _new_name(request: HttpRequest, person: Account) -> str:
    """Return the name of the workspace to create; empty for an import into this one. Without one,
    a free name, which can be changed on the preview."""
    if request.POST.get("target") != "new":
        return ""
    if given := request.POST.get("new", "").strip():
        return workspaces.checked_name(person, given)
    taken = {name.casefold() for name in workspaces.live(person).values_list("name", flat=True)}
    names = itertools.chain([_RESTORED], (f"{_RESTORED} {number}" for number in itertools.count(2)))
    return next(name for name in names if name.casefold() not in taken)


def _check_free(row: Workspace) -> None:
    """Refuse an import while another one is under way."""
    if Job.objects.filter(workspace=row, kind=import_job.KIND, state__in=Job.OPEN).exists():
        raise BackupRefused(_UNDER_WAY)


def _arrived(request: HttpRequest, person: Account) -> Place:
    """Return the uploaded file: sent in parts before, or with this form."""
    sent = request.FILES.get("file")
    name = request.POST.get("arrived", "")
    if sent is None:
        place = storage.named(name, person) if uploads.is_upload_id(name) else None
        if place is None or not place.is_whole or "arriving" not in place.about:
            raise BackupRefused("No backup came with the form. Choose the file, then send it.")
        return place
    place = storage.new(person, arriving=True)
    try:
        _check_room(place.path, sent.size or 0)
        with place.file.open("xb") as file:
            for chunk in sent.chunks():
                file.write(chunk)
    except OSError as error:
        place.drop()
        message = f"The backup could not be stored: {reason_of(error)}. Nothing was changed."
        raise WriteFailed(message) from error
    except WorkspaceError:
        place.drop()
        raise
    return place


def _check_room(folder: Path, more: int) -> None:
    if more > MOST_BYTES or free_bytes(folder) < more + _SPARE_BYTES:
        raise BackupRefused(
            "There is not enough room on the disk for this backup. Nothing was changed. Make "
            "room, then try again."
        )


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
            size -= len(chunk)
            yield chunk
