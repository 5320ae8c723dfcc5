"""Versions of a tracked file, and what each changed."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.workspace import paths
from jenny.workspace.diffs import MOST_LINES_ALONE, difference
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import History, open_history
from jenny.workspace.versions.messages import Version
from memory.versions import version_title
from settings_ui.views.files import base_context
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page

LISTED = 50
TEXT_CHARS = 500_000


@require_safe
@workspace_error_page
def history(request: HttpRequest, path: str) -> HttpResponseBase:
    """List the newest versions of the file; with ``?version=`` show its change and the file at
    that time."""
    ctx = base_context.get_workspace_context(request)
    path = paths.locate(ctx.files.root, path).relative
    if not tracked_files.is_tracked(path):
        raise Http404
    context = base_context.base_context(ctx, path, is_folder=False)
    with open_history(ctx.files.root) as past:
        wanted = request.GET.get("version", "")
        if wanted:
            version = past.resolve(wanted)
            return render(request, "files/version.html", context | _shown(past, ctx, path, version))
        before = request.GET.get("before", "")
        start = past.resolve(before).sha if before else None
        found = past.log(limit=LISTED + 1, path=path, before=start)
        context |= {
            "versions": [_row(ctx, path, version) for version in found[:LISTED]],
            "older": found[LISTED - 1].sha if len(found) > LISTED else "",
        }
    return render(request, "files/history.html", context)


def _row(ctx: WorkspaceContext, path: str, version: Version) -> dict[str, object]:
    return {
        "version": version,
        "when": ctx.local(version.when),
        "title": version_title(version),
        "href": f"{base_context.address(path, 'files/history')}?version={version.sha}",
    }


def _shown(past: History, ctx: WorkspaceContext, path: str, version: Version) -> dict[str, object]:
    """Return the change of a version and the file's content in it."""
    new = past.file_as_of(path, version.sha)
    old = past.file_as_of(path, version.parent) if version.parent else None
    changed = difference(old, new, most=MOST_LINES_ALONE)
    return {
        "row": _row(ctx, path, version),
        "difference": changed,
        "text": (new or b"").decode("utf-8", "replace")[:TEXT_CHARS] if changed.is_text else "",
        "is_gone": new is None,
    }
