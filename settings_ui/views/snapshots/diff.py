from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.workspace.diffs import text_difference
from jenny.workspace.files import is_hidden
from jenny.workspace.snapshots import comparison
from jenny.workspace.snapshots.comparison import Comparison
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import Difference, Snapshot, total
from settings_ui.views.snapshots import base_context
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

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
    ctx = base_context.get_snapshot_context(request)
    path, other = base_context.asked_path(request), request.GET.get("to", "")
    with ctx.opened(snapshot_id) as (repo, shot):
        second = ctx.store.get(repo, ctx.store.resolve(other)) if other else None
        pair = _Pair(shot, second)
        if second is not None and second.number < shot.number:
            pair = _Pair(second, shot)
        compared = _compared(ctx, repo, pair)
        mine = [row for row in compared.rows if _is_in(path, row.path)]
        context = base_context.about(ctx, pair.old, path) | {
            "new": pair.new,
            "new_when": ctx.local(pair.new.when) if pair.new else None,
            "changes": total(mine),
            "rows": [_row(pair, row) for row in mine[:LISTED] if not is_hidden(row.path)],
            "hidden": [_row(pair, row) for row in mine[:LISTED] if is_hidden(row.path)],
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


def _row(pair: _Pair, row: Difference) -> dict[str, Any]:
    to = {"to": pair.new.id} if pair.new else {}
    return {
        "path": row.path,
        "what": MARKS[row.what],
        "href": base_context.address("snapshot_diff", pair.old.id, row.path, **to),
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
