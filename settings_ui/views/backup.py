"""Settings → Backup: a workspace as a file that can leave the machine, and back."""

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
from jenny.workspace.backup.checking import free_bytes
from jenny.workspace.errors import BackupRefused, WorkspaceError, WriteFailed, reason_of
from settings_ui.browsing import pieces
from settings_ui.errors import WorkspaceRefused
from settings_ui.management import workspaces
from settings_ui.management.backups import looking, making, shelf, taking_in
from settings_ui.management.backups.shelf import Place
from settings_ui.views.files.content import apart, named

MOST_BYTES = 50_000_000_000
CHUNK_BYTES = 256 * 1024
_LISTED = 10
# A disk has this left when a file has arrived.
_SPARE_BYTES = 200_000_000


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What there is, and both forms."""
    return _page(request)


@require_POST
@sensitive_post_parameters("passphrase", "again")
def export(request: HttpRequest) -> HttpResponse:
    """Ask for a backup."""
    person, row = access.account(request), access.workspace(request)
    plain = request.POST.get("plain") == "yes"
    typed, again = request.POST.get("passphrase", ""), request.POST.get("again", "")
    if not plain and typed != again:
        return _page(request, export_problem="The two passphrases differ. No backup was made.")
    try:
        job = making.begin(
            row,
            person,
            passphrase=None if plain else typed,
            with_history=request.POST.get("history") == "yes",
        )
    except WorkspaceError as error:
        return _page(request, export_problem=error.sentence)
    return redirect("job", job.pk)


@require_safe
def download(request: HttpRequest, name: str) -> HttpResponseBase:
    """The file, for whoever had it made."""
    person = access.account(request)
    place = _place(name, person, made=True)
    size = place.file.stat().st_size
    response = StreamingHttpResponse(
        apart(_pieces(place.file, size)), content_type="application/octet-stream"
    )
    response["Content-Length"] = str(size)
    return named(response, str(place.about.get("name") or "backup"), "attachment")


@require_POST
def discard(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a backup, or a file that arrived, before its day is over."""
    person = access.account(request)
    place = shelf.named(name, person)
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
    """Take one piece of a backup: ``id`` (32 hex digits, the sender's choice), ``at`` (where it
    belongs, in bytes), ``size`` (of the whole file). JSON: how much there is."""
    person = access.account(request)
    at, size = pieces.number(request.POST.get("at")), pieces.number(request.POST.get("size"))
    sent = request.FILES.get("piece")
    try:
        if at is None or size is None or sent is None or at + sent.size > size:  # type: ignore[operator]  # an uploaded file has a size
            raise BackupRefused("This is no piece of a backup. Nothing was stored.")
        place = shelf.arriving(request.POST.get("id", ""), person)
        _check_room(place.path, size - at)
        return JsonResponse({"there": pieces.append(place.file, sent.read(), at)})
    except WorkspaceError as error:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return JsonResponse({"sentence": error.sentence}, status=status)
    except OSError as error:
        sentence = f"The backup could not be stored: {reason_of(error)}. Nothing was changed."
        return JsonResponse({"sentence": sentence}, status=HTTPStatus.INSUFFICIENT_STORAGE)


@require_POST
@sensitive_post_parameters("passphrase")
def take_in(request: HttpRequest) -> HttpResponse:
    """Have a backup looked at: one that arrived in pieces (``arrived``), or with the form."""
    person, row = access.account(request), access.workspace(request)
    place: Place | None = None
    try:
        new = _new_name(request, person)
        _check_free(row)
        place = _arrived(request, person)
        key = looking.key_for(place.file, request.POST.get("passphrase", ""))
        place.note(arriving=False, plain=key is None)
        if key is not None:
            place.leave_key(key)
        job = taking_in.begin_check(row, person, place, new)
    except (WorkspaceError, WorkspaceRefused) as error:
        arrived = place.name if place is not None and place.is_whole else ""
        return _page(request, import_problem=error.sentence, arrived=arrived)
    return redirect("job", job.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def preview(request: HttpRequest, name: str) -> HttpResponse:
    """What taking it in would change; by POST, do it."""
    person, row = access.account(request), access.workspace(request)
    place = _place(name, person)
    about = place.about
    if "preview" not in about or about.get("workspace") != str(row.pk):
        raise Http404
    problem = ""
    if request.method == "POST":
        try:
            _check_free(row)
            job = taking_in.begin_entering(row, person, place)
        except WorkspaceError as error:
            problem = error.sentence
        else:
            return redirect("job", job.pk)
    context = {
        "place": place,
        "when": _moment(about["preview"].get("made")),
        "found": about["preview"],
        "new": about.get("new", ""),
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "settings/backup_preview.html", context, status=status)


def _page(
    request: HttpRequest, *, export_problem: str = "", import_problem: str = "", arrived: str = ""
) -> HttpResponse:
    person, row = access.account(request), access.workspace(request)
    context = {
        "row": row,
        "open": list(
            Job.objects.filter(
                workspace=row, kind__in=(making.KIND, taking_in.KIND), state__in=Job.OPEN
            )
        ),
        "ready": list(_ready(person, row)),
        "least": making.LEAST_PASSPHRASE,
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
    rows = Job.objects.filter(workspace=row, kind=making.KIND, account=person)
    for job in rows.filter(state=Job.State.DONE).order_by("-pk")[:_LISTED]:
        place = shelf.named(str(job.result.get("folder", "")), person)
        if place is not None and place.is_whole:
            about = place.about
            yield {
                "name": place.name,
                "file": about.get("name", ""),
                "size": place.file.stat().st_size,
                "when": job.ended_at,
                "plain": about.get("plain", False),
            }


def _place(name: str, person: Account, *, made: bool = False) -> Place:
    """The account's backup of that name. *made*: one that was exported here."""
    place = shelf.named(name, person)
    if place is None or not place.is_whole or (made and "made" not in place.about):
        raise Http404
    return place


def _moment(text: object) -> datetime | None:
    """When a backup says that it was made; ``None``: it says no time."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _is_in_use(place: Place) -> bool:
    rows = Job.objects.filter(kind__in=(making.KIND, taking_in.KIND), state__in=Job.OPEN)
    return any(job.arguments.get("folder") == place.name for job in rows)


def _new_name(request: HttpRequest, person: Account) -> str:
    """The name of the workspace that is to be made; empty: it goes into this one."""
    if request.POST.get("target") != "new":
        return ""
    return workspaces.checked_name(person, request.POST.get("new", ""))


def _check_free(row: Workspace) -> None:
    """Refuse a second import beside one that is under way."""
    if Job.objects.filter(workspace=row, kind=taking_in.KIND, state__in=Job.OPEN).exists():
        raise BackupRefused(
            "An import is under way already; it is linked above. Nothing was changed."
        )


def _arrived(request: HttpRequest, person: Account) -> Place:
    """The file that came: in pieces before, or with this form."""
    sent = request.FILES.get("file")
    name = request.POST.get("arrived", "")
    if sent is None:
        place = shelf.named(name, person) if pieces.is_id(name) else None
        if place is None or not place.is_whole or "arriving" not in place.about:
            raise BackupRefused("No backup came with the form. Choose the file, then send it.")
        return place
    place = shelf.new(person, arriving=True)
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
