"""Looking: folders, and files as what they are."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jenny.workspace import content as contents
from jenny.workspace import names, paths
from jenny.workspace.content import read_text
from jenny.workspace.errors import FileMissing
from jenny.workspace.paths import Place
from jenny.workspace.versions import tracked_files
from memory import files as memory_files
from settings_ui.browsing import folders, kinds
from settings_ui.browsing.file_view import shown
from settings_ui.browsing.kinds import Kind
from settings_ui.views.files import base_context, outcome
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page
from settings_ui.views.memory.base_context import number_in

# A longer text is cut here.
SHOWN_BYTES = 200_000
PAGE_DIGITS = 6
# Lines above and below the one that a link names.
AROUND = 200


@require_safe
@workspace_error_page
def browse(request: HttpRequest, path: str = "") -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    if place.status is None:
        raise FileMissing(contents.missing(place))
    if place.relative != path.rstrip("/") or (path.endswith("/") and not place.is_folder):
        return redirect(base_context.address(place.relative))
    if place.is_folder:
        return _folder(request, ctx, place)
    return _file(request, ctx, place)


def _folder(request: HttpRequest, ctx: WorkspaceContext, place: Place) -> HttpResponse:
    order = request.GET.get("order", "name")
    number = request.GET.get("page", "1")
    words = request.GET.get("filter", "")[:200]
    page = folders.page_of(
        ctx.files.list(place.relative),
        words=words,
        order=order if order in folders.ORDERS else "name",
        number=int(number) if number.isdecimal() and len(number) <= PAGE_DIGITS else 1,
        shows_hidden=ctx.account.developer_mode,
    )
    context = base_context.base_context(ctx, place.relative, is_folder=True) | {
        "page": page,
        "rows": base_context.rows(ctx, page.entries),
        "filter": words,
        "order": order,
        "orders": folders.ORDERS,
    }
    part = "#listing" if request.headers.get("HX-Request") == "true" else ""
    return render(request, f"files/folder.html{part}", context)


def _file(request: HttpRequest, ctx: WorkspaceContext, place: Place) -> HttpResponse:
    with open(paths.open_file(place), "rb") as file:  # noqa: PTH123  (a descriptor, no path)
        head = file.read(SHOWN_BYTES)
    size = place.status.st_size if place.status else 0
    kind = kinds.kind_of(place.parts[-1], head[: kinds.HEAD_BYTES])
    is_whole = size <= len(head)
    line = number_in(request.GET.get("line", ""))
    around = lines_around(ctx, place.relative, line) if line and kind.is_text else None
    content = {"around": around} if around else shown(kind, place.parts[-1], head)
    context = base_context.base_context(ctx, place.relative, is_folder=False) | {
        "kind": kind,
        "size": size,
        "changed": ctx.local(place.status.st_mtime) if place.status else None,
        "is_whole": is_whole or bool(around),
        "shown_bytes": SHOWN_BYTES,
        "can_edit": can_edit(ctx, place.relative, kind, size),
        "is_tracked": tracked_files.is_tracked(place.relative),
        "file": memory_files.BY_PATH.get(place.relative),
        "is_kept": folders.is_managed_file(place.relative),
        "traces": outcome.traces(ctx, request.GET.get("after", "")),
    }
    return render(request, "files/file.html", context | content)


def lines_around(ctx: WorkspaceContext, path: str, wanted: int) -> dict[str, Any] | None:
    """Return the lines of a file around a line, as they are written; ``None``: it has no such
    line."""
    lines = read_text(ctx.root, path).text.split("\n")
    if wanted > len(lines):
        return None
    first = max(wanted - 1 - AROUND, 0)
    rows = list(enumerate(lines[first : wanted + AROUND], first + 1))
    return {"rows": rows, "wanted": wanted, "last": rows[-1][0], "count": len(lines)}


def can_edit(ctx: WorkspaceContext, path: str, kind: Kind, size: int) -> bool:
    if names.is_settings(path):
        return ctx.account.developer_mode and path == "config.json"
    return kind.is_text and size <= kinds.TEXT_BYTES and not folders.is_managed_file(path)
