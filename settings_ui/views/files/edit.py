"""The editor of text files. The form carries the version at which it was opened, so that no other
change is overwritten."""

import json
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
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
from memory import files as memory_files
from settings_ui.browsing import folders, kinds
from settings_ui.views.files import base_context, outcome
from settings_ui.views.files.base_context import WorkspaceContext, workspace_error_page

_MARKDOWN = (".md", ".markdown")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def edit(request: HttpRequest, path: str) -> HttpResponseBase:
    ctx = base_context.get_workspace_context(request)
    place = paths.locate(ctx.files.root, path)
    path = place.relative
    _check_editable(ctx, path)
    if request.method == "POST":
        return _save(request, ctx, path)
    current = ctx.files.read(path, limit=kinds.TEXT_BYTES)
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
    base_context.get_workspace_context(request)
    text = request.POST.get("text", "")[: kinds.TEXT_BYTES]
    return render(request, "files/edit.html#preview", {"html": render_markdown(text)})


def _check_editable(ctx: WorkspaceContext, path: str) -> None:
    """Refuse files that pages only show.

    Raises:
        PathRefused: the file cannot be edited here.
    """
    shown = names.shown(path)
    if folders.is_managed_file(path):
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
            texts.check_text_size(text, kinds.TEXT_BYTES)
            return save(request, ctx, context)
        done = texts.save_edited_text(ctx.files, path, text, version, most=kinds.TEXT_BYTES)
    except WorkspaceError as error:
        problem = {"problem": error.message, "status": HTTPStatus.UNPROCESSABLE_ENTITY}
        return _form(request, ctx, path, context | problem)
    if isinstance(done, texts.EditConflict):
        theirs = {"conflict": done.kind, "difference": done.difference, "version": done.version}
        return _form(request, ctx, path, context | theirs | {"status": HTTPStatus.CONFLICT})
    if not done:
        messages.success(request, f"{path} is as it was; there was nothing to write.")
        return redirect(base_context.address(path))
    messages.success(request, outcome.saved(ctx, path))
    left = outcome.traces(ctx, ctx.run)
    after = f"?after={ctx.run}" if left.archived or left.forgotten else ""
    return redirect(f"{base_context.address(path)}{after}")


def _form(
    request: HttpRequest, ctx: WorkspaceContext, path: str, context: dict[str, Any]
) -> HttpResponse:
    status = context.pop("status", HTTPStatus.OK)
    context |= base_context.base_context(ctx, path, is_folder=False) | {
        "can_preview": path.lower().endswith(_MARKDOWN),
        "file": memory_files.BY_PATH.get(path),
        "most_bytes": kinds.TEXT_BYTES,
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
            return redirect(base_context.address("config.json"))
    context |= base_context.base_context(ctx, "config.json", is_folder=False)
    context |= {"problem": problem, "needs_yes": needs_yes}
    return render(request, "files/edit.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
