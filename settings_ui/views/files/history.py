"""The versions of a tracked file, and what each changed."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.workspace import paths, texts
from jenny.workspace.versions import tracked
from jenny.workspace.versions.history import History, open_history
from jenny.workspace.versions.messages import Version
from memory.versions import kind_label
from settings_ui.views.files import frame
from settings_ui.views.files.frame import Desk, told

LISTED = 50
TEXT_CHARS = 500_000


@require_safe
@told
def history(request: HttpRequest, path: str) -> HttpResponseBase:
    """The newest versions of the file; with ``?version=`` what that one changed, and the file as
    it was then."""
    desk = frame.desk(request)
    path = paths.locate(desk.files.root, path).relative
    if not tracked.is_tracked(path):
        raise Http404
    context = frame.frame(desk, path, is_folder=False)
    with open_history(desk.files.root) as past:
        wanted = request.GET.get("version", "")
        if wanted:
            version = past.resolve(wanted)
            return render(
                request, "files/version.html", context | _shown(past, desk, path, version)
            )
        before = request.GET.get("before", "")
        start = past.resolve(before).sha if before else None
        found = past.log(limit=LISTED + 1, path=path, before=start)
        context |= {
            "versions": [_row(desk, path, version) for version in found[:LISTED]],
            "older": found[LISTED - 1].sha if len(found) > LISTED else "",
        }
    return render(request, "files/history.html", context)


def _row(desk: Desk, path: str, version: Version) -> dict[str, object]:
    return {
        "version": version,
        "when": desk.local(version.when),
        "by": kind_label(version),
        "href": f"{frame.address(path, 'files/history')}?version={version.sha}",
    }


def _shown(past: History, desk: Desk, path: str, version: Version) -> dict[str, object]:
    """What the version changed in the file, and what it held then."""
    new = past.file_as_of(path, version.sha)
    old = past.file_as_of(path, version.parent) if version.parent else None
    before, after = _text(old), _text(new)
    return {
        "row": _row(desk, path, version),
        "is_text": before is not None and after is not None,
        "sides": texts.side_by_side(before or "", after or ""),
        "text": after or "",
        "is_gone": new is None,
    }


def _text(data: bytes | None) -> str | None:
    """The text; empty when there is no file, ``None`` when it is no text."""
    if data is None:
        return ""
    try:
        return data.decode("utf-8")[:TEXT_CHARS]
    except UnicodeDecodeError:
        return None
