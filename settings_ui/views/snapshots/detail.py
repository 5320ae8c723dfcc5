from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace import files
from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import FileRow, Snapshot
from settings_ui.browsing import folders, kinds
from settings_ui.browsing.file_view import shown
from settings_ui.views.files.content import LOCKED_IN, apart, named
from settings_ui.views.snapshots import base_context
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

# Longer texts and folders are cut here.
SHOWN_BYTES = 200_000
SHOWN_ROWS = 1_000


@require_safe
@workspace_error_page
def snapshot_page(request: HttpRequest, snapshot_id: str, path: str = "") -> HttpResponseBase:
    ctx = base_context.get_snapshot_context(request)
    plain = path.strip("/")
    with ctx.opened(snapshot_id) as (repo, shot):
        if snapshot_id != shot.id:
            return redirect(base_context.at_address(shot.id, plain))
        row = _file(repo, shot, plain) if plain else None
        if row is None:
            return _folder(request, ctx, repo, shot, plain)
        head = _head(repo, row)
        return _shown(request, ctx, shot, row, head)


@require_safe
@csp_override(LOCKED_IN)
@workspace_error_page
def raw(request: HttpRequest, snapshot_id: str, path: str) -> HttpResponseBase:
    """Serve a file's bytes at that time: pictures and PDF as such, everything else as plain text;
    ``?download`` saves it."""
    ctx = base_context.get_snapshot_context(request)
    with ctx.opened(snapshot_id) as (repo, shot):
        row = reader.find_file(repo, shot, path)
        head = _head(repo, row)
    name = row.path.rpartition("/")[2]
    kind = kinds.kind_of(name, head[: kinds.HEAD_BYTES])
    keeps = "download" in request.GET or kind.view == "binary"
    media_type = kinds.BYTES if keeps else kind.media_type
    response = StreamingHttpResponse(apart(_pieces(ctx, row)), content_type=media_type)
    response["Content-Length"] = str(row.size)
    return named(response, name, "attachment" if keeps else "inline")


def _pieces(ctx: SnapshotContext, row: FileRow) -> Iterator[bytes]:
    with ctx.store.open() as repo:
        yield from reader.read_content(repo, row)


def _file(repo: Objects, shot: Snapshot, path: str) -> FileRow | None:
    try:
        return reader.find_file(repo, shot, path)
    except SnapshotUnknown:
        return None


def _head(repo: Objects, row: FileRow) -> bytes:
    data = b""
    for piece in reader.read_content(repo, row):
        data += piece
        if len(data) >= SHOWN_BYTES:
            break
    return data[:SHOWN_BYTES]


def _folder(
    request: HttpRequest, ctx: SnapshotContext, repo: Objects, shot: Snapshot, path: str
) -> HttpResponse:
    rows = reader.read_folder(repo, shot, path)
    listed = [row for row in rows if ctx.account.developer_mode or not files.is_hidden(row.path)]
    context = base_context.about(ctx, shot, path) | {
        "rows": [_row(ctx, shot, row) for row in listed[:SHOWN_ROWS]],
        "left_out": max(len(listed) - SHOWN_ROWS, 0),
        "hidden": len(rows) - len(listed),
        "skipped": [] if path else reader.read_skipped(repo, shot),
    }
    return render(request, "snapshots/folder.html", context)


def _row(ctx: SnapshotContext, shot: Snapshot, row: FileRow) -> dict[str, Any]:
    changed = ctx.local_seconds(row.modified / 1e9) if row.modified is not None else None
    return {
        "row": row,
        "name": row.path.rpartition("/")[2],
        "href": base_context.at_address(shot.id, row.path),
        "changed": changed,
        "purpose": folders.PURPOSES.get(row.path, ""),
    }


def _shown(
    request: HttpRequest, ctx: SnapshotContext, shot: Snapshot, row: FileRow, head: bytes
) -> HttpResponse:
    name = row.path.rpartition("/")[2]
    kind = kinds.kind_of(name, head[: kinds.HEAD_BYTES])
    context = base_context.about(ctx, shot, row.path) | {
        "kind": kind,
        "size": row.size,
        "changed": ctx.local_seconds(row.modified / 1e9) if row.modified is not None else None,
        "is_whole": row.size <= len(head),
        "shown_bytes": SHOWN_BYTES,
    }
    raw_at = reverse("snapshot_raw", args=[shot.id, row.path])
    context["links"] |= {"raw": raw_at, "download": f"{raw_at}?download="}
    return render(request, "snapshots/file.html", context | shown(kind, name, head))
