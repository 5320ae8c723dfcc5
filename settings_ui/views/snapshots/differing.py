"""What differs: between a snapshot and now, or between two; file by file, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.workspace import texts
from jenny.workspace.snapshots import comparing
from jenny.workspace.snapshots.comparing import Comparison
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.values import Difference, Snapshot, total
from settings_ui.views.snapshots import frame
from settings_ui.views.snapshots.frame import Desk, told

LISTED = 500
MARKS = {"added": "new", "changed": "changed", "removed": "gone"}


@dataclass(frozen=True)
class _Pair:
    """An older snapshot and a newer one, ``None`` for now."""

    old: Snapshot
    new: Snapshot | None


@require_safe
@told
def page(request: HttpRequest, snapshot_id: str) -> HttpResponseBase:
    """What differs from a snapshot to now, or to another one (``?to=``); of one file
    (``?path=``) what its lines are on either side."""
    desk = frame.desk(request)
    path, other = frame.asked_path(request), request.GET.get("to", "")
    with desk.opened(snapshot_id) as (repo, shot):
        second = desk.store.get(repo, desk.store.resolve(other)) if other else None
        pair = _Pair(shot, second)
        if second is not None and second.number < shot.number:
            pair = _Pair(second, shot)
        compared = _compared(desk, repo, pair)
        mine = [row for row in compared.rows if _is_in(path, row.path)]
        context = frame.about(desk, pair.old, path) | {
            "new": pair.new,
            "new_when": desk.local(pair.new.when) if pair.new else None,
            "changes": total(mine),
            "rows": [_row(pair, row) for row in mine[:LISTED]],
            "left_out": max(len(mine) - LISTED, 0),
            "others": _others(desk, pair),
            "skipped": compared.skipped if not path else (),
        }
        if len(mine) == 1 and mine[0].path == path:
            context |= _sides(desk, repo, compared, mine[0])
            return render(request, "snapshots/diff_file.html", context)
    return render(request, "snapshots/diff.html", context)


def _compared(desk: Desk, repo: Objects, pair: _Pair) -> Comparison:
    if pair.new is None:
        return comparing.with_now(desk.store, repo, pair.old, desk.row.root)
    return comparing.with_another(repo, pair.old, pair.new)


def _is_in(path: str, at: str) -> bool:
    return not path or at == path or at.startswith(f"{path}/")


def _row(pair: _Pair, row: Difference) -> dict[str, Any]:
    to = {"to": pair.new.id} if pair.new else {}
    return {
        "path": row.path,
        "what": MARKS[row.what],
        "href": frame.address("snapshot_diff", pair.old.id, row.path, **to),
    }


def _others(desk: Desk, pair: _Pair) -> list[dict[str, Any]]:
    """With what the older one can be compared."""
    now = {"label": "Now", "value": "", "is_chosen": pair.new is None}
    return [
        now,
        *(
            {
                "label": f"{desk.local(shot.when):%-d %B %Y, %H:%M} · {shot.why}",
                "value": shot.id,
                "is_chosen": pair.new is not None and pair.new.id == shot.id,
            }
            for shot in _near(desk.every(), pair)
        ),
    ]


def _near(every: Sequence[Snapshot], pair: _Pair) -> list[Snapshot]:
    """The newest snapshots, and those that are compared now."""
    chosen = {shot.id for shot in every[:100]} | ({pair.new.id} if pair.new else set())
    return [shot for shot in every if shot.id in chosen and shot.id != pair.old.id]


def _sides(desk: Desk, repo: Objects, compared: Comparison, row: Difference) -> dict[str, Any]:
    """One file on both sides; a sentence where there are no lines to show."""
    found = comparing.sides(repo, compared, row, desk.row.root)
    if isinstance(found, str):
        return {"sentence": found}
    before, after = found
    return {"sides": texts.side_by_side(before, after)}
