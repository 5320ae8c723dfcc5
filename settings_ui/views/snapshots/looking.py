"""Looking into a snapshot: its folders, and files as what they are."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.snapshots import reading
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import FileRow, Snapshot
from memory import files as memory_files
from settings_ui.browsing import folders, kinds
from settings_ui.browsing.shown import shown
from settings_ui.views.files.content import LOCKED_IN, apart, named
from settings_ui.views.snapshots import frame
from settings_ui.views.snapshots.frame import Desk, told

# Of a longer text the beginning is shown; of a longer folder its first entries.
SHOWN_BYTES = 200_000
SHOWN_ROWS = 1_000


@require_safe
@told
def look(request: HttpRequest, snapshot_id: str, path: str = "") -> HttpResponseBase:
    """A folder of a snapshot, or a file."""
    desk = frame.desk(request)
    plain = path.strip("/")
    with desk.opened(snapshot_id) as (repo, shot):
        if snapshot_id != shot.id:
            return redirect(frame.at_address(shot.id, plain))
        row = _file(repo, shot, plain) if plain else None
        if row is None:
            return _folder(request, desk, repo, shot, plain)
        head = _head(repo, row)
        return _shown(request, desk, shot, row, head)


@require_safe
@csp_override(LOCKED_IN)
@told
def raw(request: HttpRequest, snapshot_id: str, path: str) -> HttpResponseBase:
    """A file's exact bytes as they were then: pictures and PDF as such, everything else as plain
    text; with ``?download`` to keep."""
    desk = frame.desk(request)
    with desk.opened(snapshot_id) as (repo, shot):
        row = reading.file(repo, shot, path)
        head = _head(repo, row)
    name = row.path.rpartition("/")[2]
    kind = kinds.kind_of(name, head[: kinds.HEAD_BYTES])
    keeps = "download" in request.GET or kind.view == "binary"
    media_type = kinds.BYTES if keeps else kind.media_type
    response = StreamingHttpResponse(apart(_pieces(desk, row)), content_type=media_type)
    response["Content-Length"] = str(row.size)
    return named(response, name, "attachment" if keeps else "inline")


def _pieces(desk: Desk, row: FileRow) -> Iterator[bytes]:
    with desk.store.open() as repo:
        yield from reading.content(repo, row)


def _file(repo: Objects, shot: Snapshot, path: str) -> FileRow | None:
    try:
        return reading.file(repo, shot, path)
    except SnapshotUnknown:
        return None


def _head(repo: Objects, row: FileRow) -> bytes:
    """A file's first bytes."""
    data = b""
    for piece in reading.content(repo, row):
        data += piece
        if len(data) >= SHOWN_BYTES:
            break
    return data[:SHOWN_BYTES]


def _folder(
    request: HttpRequest, desk: Desk, repo: Objects, shot: Snapshot, path: str
) -> HttpResponse:
    rows = reading.folder(repo, shot, path)
    listed = [row for row in rows if desk.account.developer_mode or not folders.is_hidden(row.path)]
    context = frame.about(desk, shot, path) | {
        "rows": [_row(desk, shot, row) for row in listed[:SHOWN_ROWS]],
        "left_out": max(len(listed) - SHOWN_ROWS, 0),
        "hidden": len(rows) - len(listed),
        "skipped": [] if path else reading.skipped(repo, shot),
    }
    return render(request, "snapshots/folder.html", context)


def _row(desk: Desk, shot: Snapshot, row: FileRow) -> dict[str, Any]:
    changed: datetime | None = desk.local_seconds(row.modified / 1e9) if row.modified else None
    known = memory_files.BY_PATH.get(row.path)
    return {
        "row": row,
        "name": row.path.rpartition("/")[2],
        "href": frame.at_address(shot.id, row.path),
        "changed": changed,
        "purpose": known.purpose if known else "",
    }


def _shown(
    request: HttpRequest, desk: Desk, shot: Snapshot, row: FileRow, head: bytes
) -> HttpResponse:
    name = row.path.rpartition("/")[2]
    kind = kinds.kind_of(name, head[: kinds.HEAD_BYTES])
    context = frame.about(desk, shot, row.path) | {
        "kind": kind,
        "size": row.size,
        "changed": desk.local_seconds(row.modified / 1e9) if row.modified else None,
        "is_whole": row.size <= len(head),
        "shown_bytes": SHOWN_BYTES,
    }
    raw_at = reverse("snapshot_raw", args=[shot.id, row.path])
    context["links"] |= {"raw": raw_at, "download": f"{raw_at}?download="}
    return render(request, "snapshots/file.html", context | shown(kind, name, head))
