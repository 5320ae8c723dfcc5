"""One snapshot: its files, its differences from another one, and restoring it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_http_methods, require_safe

from jenny.accounts.models import Job
from jenny.workspace import files, names
from jenny.workspace.diffs import text_difference
from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.files import is_hidden
from jenny.workspace.snapshots import comparison, reader
from jenny.workspace.snapshots.comparison import Comparison
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import Difference, FileRow, Snapshot, total
from memory.models import DreamRun
from memory.restore.plan import (
    Prepared,
    entries_sentence,
    ledger_sentence,
    left_out,
    voided_sentence,
)
from memory.services import restores
from settings_ui import file_browser
from settings_ui.file_browser import shown
from settings_ui.views import snapshots
from settings_ui.views.files import CONVERTED_BYTES, LOCKED_IN, apart, converted, named
from settings_ui.views.snapshots import SnapshotContext, workspace_error_page

# Longer texts and folders are cut here.
SHOWN_BYTES = 200_000
SHOWN_ROWS = 1_000


@require_safe
@workspace_error_page
def snapshot_page(request: HttpRequest, snapshot_id: str, path: str = "") -> HttpResponseBase:
    ctx = snapshots.get_snapshot_context(request)
    plain = path.strip("/")
    with ctx.opened(snapshot_id) as (repo, shot):
        if snapshot_id != shot.id:
            return redirect(snapshots.at_address(shot.id, plain))
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
    ctx = snapshots.get_snapshot_context(request)
    with ctx.opened(snapshot_id) as (repo, shot):
        row = reader.find_file(repo, shot, path)
        head = _head(repo, row)
    name = row.path.rpartition("/")[2]
    kind = file_browser.kind_of(name, head[: file_browser.HEAD_BYTES])
    keeps = "download" in request.GET or kind.view == "binary"
    if kind.is_converted and not keeps and row.size <= CONVERTED_BYTES:
        return converted(b"".join(_pieces(ctx, row)), name)
    media_type = file_browser.BYTES if keeps else kind.media_type
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
    context = snapshots.about(ctx, shot, path) | {
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
        "href": snapshots.at_address(shot.id, row.path),
        "changed": changed,
        "purpose": file_browser.PURPOSES.get(row.path, ""),
    }


def _shown(
    request: HttpRequest, ctx: SnapshotContext, shot: Snapshot, row: FileRow, head: bytes
) -> HttpResponse:
    name = row.path.rpartition("/")[2]
    kind = file_browser.kind_of(name, head[: file_browser.HEAD_BYTES])
    context = snapshots.about(ctx, shot, row.path) | {
        "kind": kind,
        "size": row.size,
        "changed": ctx.local_seconds(row.modified / 1e9) if row.modified is not None else None,
        "is_whole": row.size <= len(head),
        "shown_bytes": SHOWN_BYTES,
    }
    raw_at = reverse("snapshot_raw", args=[shot.id, row.path])
    context["links"] |= {"raw": raw_at, "download": f"{raw_at}?download="}
    return render(request, "snapshots/file.html", context | shown(kind, name, head))


LISTED = 500
MARKS = {"added": "new", "changed": "changed", "removed": "gone"}


@dataclass(frozen=True)
class _Pair:
    """An older snapshot and a newer one; ``None`` is the present state."""

    old: Snapshot
    new: Snapshot | None


@require_safe
@workspace_error_page
def diff_page(request: HttpRequest, snapshot_id: str) -> HttpResponseBase:
    """Show the differences to the present or to another snapshot (``?to=``), or of one file
    (``?path=``)."""
    ctx = snapshots.get_snapshot_context(request)
    path, other = snapshots.asked_path(request), request.GET.get("to", "")
    with ctx.opened(snapshot_id) as (repo, shot):
        second = ctx.store.get(repo, ctx.store.resolve(other)) if other else None
        pair = _Pair(shot, second)
        if second is not None and second.number < shot.number:
            pair = _Pair(second, shot)
        compared = _compared(ctx, repo, pair)
        mine = [row for row in compared.rows if _is_in(path, row.path)]
        context = snapshots.about(ctx, pair.old, path) | {
            "new": pair.new,
            "new_when": ctx.local(pair.new.when) if pair.new else None,
            "changes": total(mine),
            "rows": [_diff_row(pair, row) for row in mine[:LISTED] if not is_hidden(row.path)],
            "hidden": [_diff_row(pair, row) for row in mine[:LISTED] if is_hidden(row.path)],
            "left_out": max(len(mine) - LISTED, 0),
            "others": _others(ctx, pair),
            "skipped": compared.skipped if not path else (),
        }
        if len(mine) == 1 and mine[0].path == path:
            context |= _file_difference(ctx, repo, compared, mine[0])
            return render(request, "snapshots/diff_file.html", context)
    return render(request, "snapshots/diff.html", context)


def _compared(ctx: SnapshotContext, repo: Objects, pair: _Pair) -> Comparison:
    if pair.new is None:
        return comparison.with_now(ctx.store, repo, pair.old, ctx.row.root)
    return comparison.with_another(repo, pair.old, pair.new)


def _is_in(path: str, at: str) -> bool:
    return not path or at == path or at.startswith(f"{path}/")


def _diff_row(pair: _Pair, row: Difference) -> dict[str, Any]:
    to = {"to": pair.new.id} if pair.new else {}
    return {
        "path": row.path,
        "what": MARKS[row.what],
        "href": snapshots.address("snapshot_diff", pair.old.id, row.path, **to),
    }


def _others(ctx: SnapshotContext, pair: _Pair) -> list[dict[str, Any]]:
    """List the snapshots that the older one can be compared with."""
    now = {"label": "Now", "value": "", "is_chosen": pair.new is None}
    return [
        now,
        *(
            {
                "label": f"{ctx.local(shot.when):%-d %B %Y, %H:%M} · {shot.why}",
                "value": shot.id,
                "is_chosen": pair.new is not None and pair.new.id == shot.id,
            }
            for shot in _near(ctx.every(), pair)
        ),
    ]


def _near(every: Sequence[Snapshot], pair: _Pair) -> list[Snapshot]:
    """Return the newest snapshots and the two that are compared."""
    chosen = {shot.id for shot in every[:100]} | ({pair.new.id} if pair.new else set())
    return [shot for shot in every if shot.id in chosen and shot.id != pair.old.id]


def _file_difference(
    ctx: SnapshotContext, repo: Objects, compared: Comparison, row: Difference
) -> dict[str, Any]:
    """Return one file on both sides, or a sentence when there are no lines to show."""
    found = comparison.sides(repo, compared, row, ctx.row.root)
    if isinstance(found, str):
        return {"message": found}
    before, after = found
    return {"difference": text_difference(before, after)}


CHANGES_LISTED = 200
# Files of a group that its heading names.
_NAMED = 3
_CHANGED = "Something changed since you were shown this. Look once more, then confirm."


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def restore_page(request: HttpRequest, snapshot_id: str) -> HttpResponseBase:
    """Preview the restore of everything, a folder or a file (``?path=``); a confirmed POST starts
    it."""
    ctx = snapshots.get_snapshot_context(request)
    path = snapshots.asked_path(request)
    if request.method == "POST":
        restores.note_edits(ctx.row)
    shot, found = restores.preview(ctx.row, snapshot_id, path)
    if request.method != "POST":
        return _page(request, ctx, shot, path, found)
    if (under_way := _under_way(ctx)) is not None:
        messages.warning(request, "A restore is under way already. This is it.")
        return redirect("job", under_way.pk)
    if request.POST.get("token") != found.plan.token:
        return _page(request, ctx, shot, path, found, problem=_CHANGED)
    job = restores.start_restore(ctx.row, ctx.account, shot.id, path, token=found.plan.token)
    return redirect("job", job.pk)


def _under_way(ctx: SnapshotContext) -> Job | None:
    rows = Job.objects.filter(workspace=ctx.row, kind=restores.KIND, state__in=Job.OPEN)
    return rows.first()


def _page(
    request: HttpRequest,
    ctx: SnapshotContext,
    shot: Snapshot,
    path: str,
    found: Prepared,
    *,
    problem: str = "",
) -> HttpResponse:
    plan = found.plan
    context: dict[str, Any] = snapshots.about(ctx, shot, path) | {
        "problem": problem,
        "plan": plan,
        "found": found,
        "groups": [
            ("Gets its old content back", "changed", _rows(shot, plan.changed)),
            ("Comes back", "added", _rows(shot, plan.added)),
            ("Is deleted, since it was made later", "removed", _rows(shot, plan.removed)),
        ],
        "left": plan.left[:CHANGES_LISTED],
        "forgotten": left_out(found)[:CHANGES_LISTED],
        "sentences": [
            message
            for message in (
                ledger_sentence(found),
                entries_sentence(found.reoffer, done=False),
                _voided(ctx, found),
                _settings(found),
                *found.merged.notes,
            )
            if message
        ],
        "dreaming": DreamRun.objects.filter(
            workspace=ctx.row, state=DreamRun.State.RUNNING
        ).exists(),
        "under_way": _under_way(ctx),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "snapshots/restore.html", context, status=status)


def _voided(ctx: SnapshotContext, found: Prepared) -> str:
    if not found.touches_memory:
        return ""
    return voided_sentence(restores.waiting_hunks(ctx.row))


def _settings(found: Prepared) -> str:
    """Warn that the settings are restored, too: some of them limit what leaves this machine."""
    plan = found.plan
    paths = {row.path for row in (*plan.changed, *plan.added)}
    if "config.json" not in paths | {row.path for row in plan.removed}:
        return ""
    return (
        "The settings are as they were then, too: which models are asked, and whether all calls to "
        "them are paused. Settings → Privacy shows it."
    )


def _rows(shot: Snapshot, rows: Any) -> dict[str, Any]:
    """List the files of one kind, each with the address of its comparison, and apart from them
    those that Jenny keeps for herself."""
    rows = sorted(rows, key=lambda row: is_hidden(row.path))
    more = len(rows) - _NAMED
    named = ", ".join(names.shown(row.path)[1:-1] for row in rows[:_NAMED])
    return {
        "count": len(rows),
        "named": f"{named} and {more:,} more" if more > 0 else named,
        "left_out": max(len(rows) - CHANGES_LISTED, 0),
        "lists": [
            [
                {"path": row.path, "href": snapshots.address("snapshot_diff", shot.id, row.path)}
                for row in rows[:CHANGES_LISTED]
                if is_hidden(row.path) == is_internal
            ]
            for is_internal in (False, True)
        ],
    }
