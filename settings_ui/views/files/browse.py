"""Looking: folders, and files as what they are."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jenny.markdown.highlight import highlight
from jenny.markdown.render import render as render_markdown
from jenny.workspace import content, names, paths
from jenny.workspace.errors import FileMissing
from jenny.workspace.paths import Place
from jenny.workspace.versions import tracked
from memory import files as memory_files
from settings_ui.browsing import folders, kinds, tables
from settings_ui.browsing.kinds import Kind
from settings_ui.views.files import frame, outcome
from settings_ui.views.files.frame import Desk, told

# Of a longer text the beginning is shown.
SHOWN_BYTES = 200_000
PAGE_DIGITS = 6
# What an author wrote for other authors; the raw file and the editor show it.
_COMMENT = re.compile(r"^<!--.*?-->[ \t]*$\n?", re.DOTALL | re.MULTILINE)


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
    return render(request, "files/file.html", context | _shown(kind, place, head))


def _shown(kind: Kind, place: Place, head: bytes) -> dict[str, Any]:
    """What the page shows of the file, by its kind."""
    if not kind.is_text:
        return {}
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if kind.view == "markdown":
        return {"html": render_markdown(_COMMENT.sub("", text))}
    if kind.view == "table":
        tabs = place.parts[-1].lower().endswith(".tsv")
        return {"table": tables.csv_table(text, tabs=tabs)}
    if kind.view == "lines":
        lines, left_out = tables.json_lines(text)
        return {"json_lines": lines, "left_out": left_out}
    language = kinds.LANGUAGES.get(kinds.ending(place.parts[-1]), "")
    return {"code": highlight(text, language) if language else None, "text": text}


def can_edit(desk: Desk, path: str, kind: Kind, size: int) -> bool:
    """Whether the page offers to edit the file."""
    if names.is_settings(path):
        return desk.account.developer_mode and path == "config.json"
    return kind.is_text and size <= kinds.TEXT_BYTES and not folders.is_book(path)
