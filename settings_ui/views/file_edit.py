"""The editor of text files. The form carries the version at which it was opened, so that no other
change is overwritten."""

import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.accounts.services.workspace_context import WorkspaceContext, get_workspace_context
from jenny.markdown.render import render as render_markdown
from jenny.workspace import config, names, paths, texts
from jenny.workspace.errors import (
    ConfigRefused,
    ConfirmationNeeded,
    FileMissing,
    NotText,
    PathRefused,
    WorkspaceError,
)
from jenny.workspace.versions import commits, tracked_files
from jenny.workspace.versions.history import open_history
from memory import archive
from memory import files as memory_files
from memory.errors import NotArchived, NotForgotten
from memory.services import forgotten_facts
from memory.suppression.write_rule import filter_forgotten
from settings_ui import file_browser
from settings_ui.views import files
from settings_ui.views.files import workspace_error_page

# Actions that reverse effects of saving a memory file: bring a line back, or stop forgetting
# it.


@require_POST
@workspace_error_page
def bring_back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Write an archived text back to its file; a text that was forgotten is unsuppressed."""
    ctx = get_workspace_context(request)
    try:
        back = archive.bring_back(ctx.files.root, item_id, ctx.files.actor)
    except NotArchived as error:
        raise FileMissing(error.message) from error
    messages.success(request, back.message)
    return redirect(files.address(back.path))


@require_POST
@workspace_error_page
def lift(request: HttpRequest, item_id: str) -> HttpResponseBase:
    ctx = get_workspace_context(request)
    try:
        lifted = forgotten_facts.lift(ctx.row, item_id, ctx.files.actor)
    except NotForgotten as error:
        raise FileMissing(error.message) from error
    row = lifted.tombstone
    messages.success(request, f"Jenny may learn this again: “{row.text}”.{lifted.more}")
    return redirect(files.address(row.path))


_MARKDOWN = (".md", ".markdown")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def edit(request: HttpRequest, path: str) -> HttpResponseBase:
    ctx = get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    path = place.relative
    _check_editable(ctx, path)
    if request.method == "POST":
        return _save(request, ctx, path)
    current = ctx.files.read(path, limit=file_browser.TEXT_BYTES)
    if "\0" in current.text:
        message = (
            f"{names.shown(path)} has NUL characters, which a form would replace. It can be "
            "downloaded and edited with another program. Nothing was written."
        )
        raise NotText(message)
    kept = access.take_kept_text(request, request.path)
    text = kept or current.text.removeprefix(texts.BOM)
    return _form(request, ctx, path, {"text": text, "version": current.version, "is_kept": kept})


@require_POST
@workspace_error_page
def preview(request: HttpRequest) -> HttpResponseBase:
    get_workspace_context(request)
    text = request.POST.get("text", "")[: file_browser.TEXT_BYTES]
    return render(request, "files/edit.html#preview", {"html": render_markdown(text)})


def _check_editable(ctx: WorkspaceContext, path: str) -> None:
    """Refuse files that pages only show.

    Raises:
        PathRefused: the file cannot be edited here.
    """
    shown = names.shown(path)
    if file_browser.is_managed_file(path):
        message = f"{shown} is kept by Jenny herself. It can be read here, not edited."
        raise PathRefused(message)
    if any(names.is_git(part) for part in path.split("/")):
        raise PathRefused(f"{shown} lies in a git folder, which only git writes.")
    if names.is_settings(path) and not (path == "config.json" and ctx.account.developer_mode):
        raise PathRefused(f"{shown} is changed in Settings. Nothing was written.")


def _save(request: HttpRequest, ctx: WorkspaceContext, path: str) -> HttpResponse:
    if not {"text", "version"} <= request.POST.keys():
        raise FileMissing("This is not what the editor sends. Nothing was written.")
    text, version = request.POST["text"], request.POST["version"]
    context: dict[str, Any] = {"text": text, "version": version}
    try:
        if path == "config.json":
            texts.check_text_size(text, file_browser.TEXT_BYTES)
            return save(request, ctx, context)
        done = texts.save_edited_text(ctx.files, path, text, version, most=file_browser.TEXT_BYTES)
    except WorkspaceError as error:
        problem = {"problem": error.message, "status": HTTPStatus.UNPROCESSABLE_ENTITY}
        return _form(request, ctx, path, context | problem)
    if isinstance(done, texts.EditConflict):
        theirs = {"conflict": done.kind, "difference": done.difference, "version": done.version}
        return _form(request, ctx, path, context | theirs | {"status": HTTPStatus.CONFLICT})
    if not done:
        messages.success(request, f"{path} is as it was; there was nothing to write.")
        return redirect(files.address(path))
    messages.success(request, files.saved(ctx, path))
    left = files.traces(ctx, ctx.run)
    after = f"?after={ctx.run}" if left.archived or left.forgotten else ""
    return redirect(f"{files.address(path)}{after}")


@require_POST
@workspace_error_page
def restore(request: HttpRequest, path: str) -> HttpResponseBase:
    """Write a memory file as it was in a version of its history; Undo brings back what stands
    there now."""
    ctx = get_workspace_context(request)
    path = paths.locate(ctx.files.root, path).relative
    if not tracked_files.is_tracked(path):
        raise Http404
    _check_editable(ctx, path)
    with open_history(ctx.files.root) as past:
        version = past.resolve(request.POST.get("version", ""))
        old = past.file_as_of(path, version.sha)
    if old is None:
        raise FileMissing(f"{names.shown(path)} was not there then. Nothing was written.")
    # What a person writes is no longer forgotten, but here they did not write those lines.
    kept = filter_forgotten(ctx.files.root, path, old)
    then = f"{ctx.local(version.when):%-d %B %Y, %H:%M}"
    # A version of what stands there now, so that it is found again.
    commits.commit_pending(ctx.files.root)
    now = ctx.files.read(path) if ctx.files.exists(path) else None
    said = f"{path} is as it was on {then}"
    if count := len(kept.left_out):
        said += f", but for {count:,} line{'' if count == 1 else 's'} that you had forgotten"
    if now and now.data == kept.data:
        messages.info(request, f"{said}; there was nothing to write.")
        return redirect(files.address(path))
    ctx.files.write(path, kept.data, expect=now.version if now else None)
    with suppress(WorkspaceError):
        commits.commit_pending(ctx.files.root)
    undo = reverse("memory_change", args=[ctx.run.removeprefix("page:")])
    messages.success(request, f"{said}.", extra_tags=undo)
    return redirect(files.address(path))


def _form(
    request: HttpRequest, ctx: WorkspaceContext, path: str, context: dict[str, Any]
) -> HttpResponse:
    status = context.pop("status", HTTPStatus.OK)
    context |= files.base_context(ctx, path, is_folder=False) | {
        "can_preview": path.lower().endswith(_MARKDOWN),
        "file": memory_files.BY_PATH.get(path),
        "most_bytes": file_browser.TEXT_BYTES,
    }
    return render(request, "files/edit.html", context, status=status)


_CONFIRMABLE = [key for key, row in config.BY_KEY.items() if row.confirm_below is not None]


def save(request: HttpRequest, ctx: WorkspaceContext, context: dict[str, Any]) -> HttpResponse:
    """Replace the settings when the text is JSON and every value is allowed.

    The form carries the version, so that no other change is overwritten.
    """
    current = ctx.files.read("config.json")
    problem = ""
    needs_yes = False
    if context["version"] != current.version:
        problem = (
            "The settings have changed since this page was opened. Nothing was written; your text "
            "is below. Save again to put it in their place."
        )
        context["version"] = current.version
    else:
        try:
            wanted = json.loads(context["text"])
            if not isinstance(wanted, dict):
                raise ConfigRefused("The settings are one JSON object in braces.")  # noqa: TRY301 - told with the others

            def mutate(data: config.Raw) -> None:
                data.clear()
                data.update(wanted)

            confirmed = _CONFIRMABLE if request.POST.get("confirm") == "yes" else ()
            changed = config.change_config(ctx.files.root, mutate, confirmed=confirmed)
        except ConfirmationNeeded as error:
            problem, needs_yes = " ".join((error.message, *error.problems.values())), True
        except ConfigRefused as error:
            problem = " ".join((error.message, *error.problems.values()))
        except (ValueError, RecursionError) as error:
            problem = f"This is not JSON: {error}. Nothing was written; your text is below."
        else:
            said = "The settings are saved." if changed else "The settings were like this already."
            messages.success(request, said)
            return redirect(files.address("config.json"))
    context |= files.base_context(ctx, "config.json", is_folder=False)
    context |= {"problem": problem, "needs_yes": needs_yes}
    return render(request, "files/edit.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
