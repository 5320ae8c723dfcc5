"""The list of versions of the memory files, and the page of one."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jenny.workspace.diffs import difference
from jenny.workspace.errors import UndoRefused, VersionUnknown
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked_files import CURSOR
from jenny.workspace.versions.undo import UndoPlan, plan_undo
from memory.versions import version_title
from settings_ui.views.memory.undo import run_of_version
from settings_ui.views.snapshots import base_context, snapshot_list
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

LISTED = 100
FILES = 50


@require_safe
@workspace_error_page
def version_list(request: HttpRequest) -> HttpResponseBase:
    ctx = base_context.get_snapshot_context(request)
    return render(request, "snapshots/versions.html", snapshot_list.versions(ctx, LISTED))


@require_safe
@workspace_error_page
def version_page(request: HttpRequest, version_id: str) -> HttpResponseBase:
    """Show what a version changed, with the way to its undo."""
    ctx = base_context.get_snapshot_context(request)
    with open_history(ctx.row.root) as past:
        version = past.resolve(version_id)
        changes = [row for row in past.changes(version) if row.path != CURSOR]
    if version_id != version.sha:
        return redirect("snapshot_version", version.sha)
    return _page(request, ctx, version, changes)


def _page(
    request: HttpRequest, ctx: SnapshotContext, version: Version, changes: list[FileChange]
) -> HttpResponse:
    plan, refused = _plan(ctx, version)
    context: dict[str, Any] = {
        "version": version,
        "title": version_title(version),
        "when": ctx.local_seconds(version.when),
        "run": run_of_version(ctx.row, version),
        "files": [_file(change) for change in changes[:FILES]],
        "left_out": max(len(changes) - FILES, 0),
        "plan": plan,
        "refused": refused,
    }
    return render(request, "snapshots/version.html", context)


def _plan(ctx: SnapshotContext, version: Version) -> tuple[UndoPlan | None, str]:
    """Return the plan of the revert, or why it is impossible."""
    try:
        return plan_undo(ctx.row.root, version.sha), ""
    except (UndoRefused, VersionUnknown) as error:
        return None, error.message


def _file(change: FileChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "is_new": change.old is None,
        "is_gone": change.new is None,
        "difference": difference(change.old, change.new),
    }
