"""Edit and create pages, and preview a text before it is saved.

A form carries the version it was opened at, so that no other change is overwritten.
"""

import contextlib
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.workspace import names, texts
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    NotText,
    PathRefused,
    VersionMismatch,
    WorkspaceError,
)
from wikis import pages, scaffold
from wikis import render as rendering
from wikis.forms import NewPageForm
from wikis.names import action_url, page_url
from wikis.views import base_context
from wikis.views.base_context import Opened, WikiContext, workspace_error_page


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def edit(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Show the form with the page's text; by POST, save the text."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    place = here.wiki.locate(path)
    path = here.wiki.inside(place)
    if not pages.is_page(path) or place.is_folder:
        raise PathRefused(f"{names.shown(path)} is no page of this wiki.")
    if request.method == "POST":
        return _save(request, ctx, here, path)
    current = ctx.files.read(here.wiki.path(path), limit=pages.PAGE_BYTES)
    kept = access.take_kept_text(request, request.path)
    text = kept or current.text.removeprefix(texts.BOM)
    return _form(
        request, ctx, here, path, {"text": text, "version": current.version, "is_kept": kept}
    )


@require_POST
@workspace_error_page
def preview(request: HttpRequest, name: str) -> HttpResponseBase:
    """Preview a text as the page at ``path``."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    path = request.POST.get("path", "") or pages.INDEX
    text = request.POST.get("text", "")[: pages.PAGE_BYTES]
    page = pages.parsed(path, text.replace("\r\n", "\n").encode("utf-8", "replace"))
    html, diagrams = rendering.rendered(ctx.index, here.known, page, text=page.body)
    context = {"html": html.html, "title": page.title, "page": page, "diagrams": diagrams}
    return render(request, "wikis/edit.html#preview", context)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def new(request: HttpRequest, name: str) -> HttpResponseBase:
    """Create a page; ``?page=`` names it, as links to missing pages do."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    if request.method != "POST":
        wanted = request.GET.get("page", "")[:400]
        kept = access.take_kept_text(request, request.path)
        form = NewPageForm(initial={"page": wanted, "text": kept or _beginning(wanted)})
        return render(
            request, "wikis/new.html", base_context.base_context(ctx, here) | {"form": form}
        )
    form = NewPageForm(request.POST)
    if form.is_valid():
        path = form.cleaned_data["page"]
        if twin := here.known.resolver.twin(path):
            form.add_error("page", base_context.taken(name, twin, "Your text is kept below."))
            return base_context.refused(
                request, "wikis/new.html", base_context.base_context(ctx, here) | {"form": form}
            )
        data = texts.normalised(form.cleaned_data["text"], None)
        try:
            _write(ctx, here, path, data, with_link=form.cleaned_data["link"])
        except VersionMismatch as error:
            is_there = here.wiki.locate(path).status is not None
            taken = "There is such a page already. Your text is kept below."
            form.add_error("page", taken if is_there else error.message)
        except WorkspaceError as error:
            form.add_error("page", error.message)
        else:
            messages.success(request, f"{_short(path)} is written.")
            return redirect(page_url(name, path))
    return base_context.refused(
        request, "wikis/new.html", base_context.base_context(ctx, here) | {"form": form}
    )


def _write(ctx: WikiContext, here: Opened, path: str, data: bytes, *, with_link: bool) -> None:
    """Write a new page and, if wanted, a link to it from the index: both or neither.

    An index that links to it already, is not text, or does not exist stays as it is.

    Raises:
        VersionMismatch: the page exists, or the index was changed meanwhile.
        WorkspaceError: it could not be written.
    """
    here.wiki.locate(path)
    files, expect = {here.wiki.path(path): data}, {here.wiki.path(path): ""}
    if with_link and path != pages.INDEX:
        with contextlib.suppress(FileMissing, FileTooLarge, NotText):
            index = ctx.files.read(here.wiki.path(pages.INDEX), limit=pages.PAGE_BYTES)
            text = index.text.replace("\r\n", "\n")
            if not scaffold.is_linked_in_index(text, here.known.resolver, path):
                linked = scaffold.add_page_to_index(text, path, pages.parsed(path, data).title)
                files[index.path] = texts.normalised(linked, index.data)
                expect[index.path] = index.version
    # No version: there must be no such page yet.
    ctx.files.write_many(files, expect={at: version or None for at, version in expect.items()})


def _beginning(wanted: str) -> str:
    title = pages.without_ending(wanted.strip("/").rpartition("/")[2]).strip()
    return f"# {title}\n\n" if title else ""


def _short(path: str) -> str:
    return pages.without_ending(path.removeprefix(f"{pages.PAGES}/"))


def _save(request: HttpRequest, ctx: WikiContext, here: Opened, path: str) -> HttpResponse:
    """Save the submitted text if the page still has the form's version."""
    if not {"text", "version"} <= request.POST.keys():
        raise FileMissing("This is not what the editor sends. Nothing was written.")
    text, version = request.POST["text"], request.POST["version"]
    context: dict[str, Any] = {"text": text, "version": version}
    try:
        done = texts.save_edited_text(
            ctx.files, here.wiki.path(path), text, version, most=pages.PAGE_BYTES
        )
    except WorkspaceError as error:
        problem = {"problem": error.message, "status": HTTPStatus.UNPROCESSABLE_ENTITY}
        return _form(request, ctx, here, path, context | problem)
    if isinstance(done, texts.EditConflict):
        theirs = {"conflict": done.kind, "difference": done.difference, "version": done.version}
        return _form(request, ctx, here, path, context | theirs | {"status": HTTPStatus.CONFLICT})
    unchanged = "The page is as it was; there was nothing to write."
    messages.success(request, f"{_short(path)} is saved." if done else unchanged)
    return redirect(page_url(here.name, path))


def _form(
    request: HttpRequest, ctx: WikiContext, here: Opened, path: str, context: dict[str, Any]
) -> HttpResponse:
    status = context.pop("status", HTTPStatus.OK)
    context |= base_context.base_context(ctx, here, path) | {
        "page_href": page_url(here.name, path),
        "preview_href": action_url(here.name, "preview"),
        "short": _short(path),
    }
    return render(request, "wikis/edit.html", context, status=status)
