"""Editing a text file: the form carries the version it was opened at, and nothing is written over
what somebody else wrote meanwhile."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.markdown.render import render as render_markdown
from jenny.workspace import editing, names, paths, texts
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError
from memory import files as memory_files
from settings_ui.browsing import folders, kinds
from settings_ui.views.files import frame, outcome, settings_file
from settings_ui.views.files.frame import Desk, told

_MARKDOWN = (".md", ".markdown")


@require_http_methods(["GET", "HEAD", "POST"])
@told
def edit(request: HttpRequest, path: str) -> HttpResponseBase:
    """The form with the text; by POST, the text is saved."""
    desk = frame.desk(request)
    place = paths.locate(desk.files.root, path)
    path = place.relative
    _check_editable(desk, path)
    if request.method == "POST":
        return _save(request, desk, path)
    current = desk.files.read(path, limit=kinds.TEXT_BYTES)
    kept = access.take_kept_text(request, request.path)
    text = kept or current.text.removeprefix(texts.BOM)
    return _form(request, desk, path, {"text": text, "version": current.version, "is_kept": kept})


@require_POST
@told
def preview(request: HttpRequest) -> HttpResponseBase:
    """Markdown as it will look."""
    frame.desk(request)
    text = request.POST.get("text", "")[: kinds.TEXT_BYTES]
    return render(request, "files/edit.html#preview", {"html": render_markdown(text)})


def _check_editable(desk: Desk, path: str) -> None:
    """Refuse what pages only show.

    Raises:
        PathRefused: it is not edited here.
    """
    shown = names.shown(path)
    if folders.is_book(path):
        message = f"{shown} is kept by the memory pipeline. It can be read here, not edited."
        raise PathRefused(message)
    if any(names.is_git(part) for part in path.split("/")):
        raise PathRefused(f"{shown} lies in a git folder, which only git writes.")
    if names.is_settings(path) and not (path == "config.json" and desk.account.developer_mode):
        raise PathRefused(f"{shown} is changed in Settings. Nothing was written.")


def _save(request: HttpRequest, desk: Desk, path: str) -> HttpResponse:
    """Write what was sent, if the file is still the one it was made from."""
    if not {"text", "version"} <= request.POST.keys():
        raise FileMissing("This is not what the editor sends. Nothing was written.")
    text, version = request.POST["text"], request.POST["version"]
    context: dict[str, Any] = {"text": text, "version": version}
    try:
        if path == "config.json":
            editing.check_size(text, kinds.TEXT_BYTES)
            return settings_file.save(request, desk, context)
        done = editing.save(desk.files, path, text, version, most=kinds.TEXT_BYTES)
    except WorkspaceError as error:
        problem = {"problem": error.sentence, "status": HTTPStatus.UNPROCESSABLE_ENTITY}
        return _form(request, desk, path, context | problem)
    if isinstance(done, editing.Conflict):
        theirs = {"conflict": done.kind, "sides": done.sides, "version": done.version}
        return _form(request, desk, path, context | theirs | {"status": HTTPStatus.CONFLICT})
    if not done:
        messages.success(request, f"{path} is as it was; there was nothing to write.")
        return redirect(frame.address(path))
    messages.success(request, outcome.saved(desk, path))
    left = outcome.traces(desk, desk.run)
    after = f"?after={desk.run}" if left.archived or left.forgotten else ""
    return redirect(f"{frame.address(path)}{after}")


def _form(request: HttpRequest, desk: Desk, path: str, context: dict[str, Any]) -> HttpResponse:
    status = context.pop("status", HTTPStatus.OK)
    context |= frame.frame(desk, path, is_folder=False) | {
        "can_preview": path.lower().endswith(_MARKDOWN),
        "file": memory_files.BY_PATH.get(path),
        "most_bytes": kinds.TEXT_BYTES,
    }
    return render(request, "files/edit.html", context, status=status)
