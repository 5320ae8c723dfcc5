"""Looking: folders, and files as what they are."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jenny.workspace import content, names, paths
from jenny.workspace.errors import FileMissing
from jenny.workspace.paths import Place
from jenny.workspace.versions import tracked
from memory import files as memory_files
from settings_ui.browsing import folders, kinds
from settings_ui.browsing.kinds import Kind
from settings_ui.browsing.shown import shown
from settings_ui.views.files import frame, outcome
from settings_ui.views.files.frame import Desk, told

# Of a longer text the beginning is shown.
SHOWN_BYTES = 200_000
PAGE_DIGITS = 6


@require_safe
@told
def browse(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """A folder's list, or a file."""
    desk = frame.desk(request)
    place = paths.locate(desk.files.root, path)
    if place.status is None:
        raise FileMissing(content.missing(place))
    if place.relative != path.rstrip("/") or (path.endswith("/") and not place.is_folder):
        return redirect(frame.address(place.relative))
    if place.is_folder:
        return _folder(request, desk, place)
    return _file(request, desk, place)


def _folder(request: HttpRequest, desk: Desk, place: Place) -> HttpResponse:
    order = request.GET.get("order", "name")
    number = request.GET.get("page", "1")
    words = request.GET.get("filter", "")[:200]
    page = folders.page_of(
        desk.files.list(place.relative),
        words=words,
        order=order if order in folders.ORDERS else "name",
        number=int(number) if number.isdecimal() and len(number) <= PAGE_DIGITS else 1,
        shows_hidden=desk.account.developer_mode,
    )
    context = frame.frame(desk, place.relative, is_folder=True) | {
        "page": page,
        "rows": frame.rows(desk, page.entries),
        "filter": words,
        "order": order,
        "orders": folders.ORDERS,
    }
    part = "#listing" if request.headers.get("HX-Request") == "true" else ""
    return render(request, f"files/folder.html{part}", context)


def _file(request: HttpRequest, desk: Desk, place: Place) -> HttpResponse:
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        head = file.read(SHOWN_BYTES)
    size = place.status.st_size if place.status else 0
    kind = kinds.kind_of(place.parts[-1], head[: kinds.HEAD_BYTES])
    is_whole = size <= len(head)
    context = frame.frame(desk, place.relative, is_folder=False) | {
        "kind": kind,
        "size": size,
        "changed": desk.local(place.status.st_mtime) if place.status else None,
        "is_whole": is_whole,
        "shown_bytes": SHOWN_BYTES,
        "can_edit": can_edit(desk, place.relative, kind, size),
        "is_tracked": tracked.is_tracked(place.relative),
        "file": memory_files.BY_PATH.get(place.relative),
        "is_kept": folders.is_book(place.relative),
        "traces": outcome.traces(desk, request.GET.get("after", "")),
    }
    return render(request, "files/file.html", context | shown(kind, place.parts[-1], head))


def can_edit(desk: Desk, path: str, kind: Kind, size: int) -> bool:
    """Whether the page offers to edit the file."""
    if names.is_settings(path):
        return desk.account.developer_mode and path == "config.json"
    return kind.is_text and size <= kinds.TEXT_BYTES and not folders.is_book(path)
