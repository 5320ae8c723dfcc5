"""Writing pages: edit in place, new ones, and a look at the text before it is saved. A form carries
the version it was opened at, and nothing is written over what somebody else wrote meanwhile."""

import contextlib
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access
from jenny.workspace import editing, names, texts
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    NotText,
    PathRefused,
    VersionMismatch,
    WorkspaceError,
)
from wikis import addresses, pages
from wikis import render as rendering
from wikis.forms import NewPageForm
from wikis.links import indexing
from wikis.views import frame
from wikis.views.frame import Desk, Opened, told


@require_http_methods(["GET", "HEAD", "POST"])
@told
def edit(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """The form with the page's text; by POST, the text is saved."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    place = here.wiki.locate(path)
    path = here.wiki.inside(place)
    if not pages.is_page(path) or place.is_folder:
        raise PathRefused(f"{names.shown(path)} is no page of this wiki.")
    if request.method == "POST":
        return _save(request, desk, here, path)
    current = desk.files.read(here.wiki.path(path), limit=pages.PAGE_BYTES)
    kept = access.take_kept_text(request, request.path)
    text = kept or current.text.removeprefix(texts.BOM)
    return _form(
        request, desk, here, path, {"text": text, "version": current.version, "is_kept": kept}
    )


@require_POST
@told
def preview(request: HttpRequest, name: str) -> HttpResponseBase:
    """A text as the page will look; ``path`` says which page."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    path = request.POST.get("path", "") or pages.INDEX
    text = request.POST.get("text", "")[: pages.PAGE_BYTES]
    page = pages.parsed(path, text.replace("\r\n", "\n").encode("utf-8", "replace"))
    html, diagrams = rendering.rendered(desk.index, here.known, page, text=page.body)
    context = {"html": html.html, "title": page.title, "page": page, "diagrams": diagrams}
    return render(request, "wikis/edit.html#preview", context)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def new(request: HttpRequest, name: str) -> HttpResponseBase:
    """A new page; ``?page=`` names it, as a link to a page that is missing does."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    if request.method != "POST":
        wanted = request.GET.get("page", "")[:400]
        kept = access.take_kept_text(request, request.path)
        form = NewPageForm(initial={"page": wanted, "text": kept or _beginning(wanted)})
        return render(request, "wikis/new.html", frame.frame(desk, here) | {"form": form})
    form = NewPageForm(request.POST)
    if form.is_valid():
        path = form.cleaned_data["page"]
        data = texts.normalised(form.cleaned_data["text"], None)
        try:
            _write(desk, here, path, data, with_link=form.cleaned_data["link"])
        except VersionMismatch as error:
            is_there = here.wiki.locate(path).status is not None
            taken = "There is such a page already. Your text is kept below."
            form.add_error("page", taken if is_there else error.sentence)
        except WorkspaceError as error:
            form.add_error("page", error.sentence)
        else:
            messages.success(request, f"{_short(path)} is written.")
            return redirect(addresses.page(name, path))
    return frame.refused(request, "wikis/new.html", frame.frame(desk, here) | {"form": form})


def _write(desk: Desk, here: Opened, path: str, data: bytes, *, with_link: bool) -> None:
    """Write a new page and, if wanted, a link to it from the index: both or neither. An index that
    links to it already, is no text, or is not there stays as it is.

    Raises:
        VersionMismatch: there is such a page, or the index was changed in this moment.
        WorkspaceError: it could not be written.
    """
    here.wiki.locate(path)
    files, expect = {here.wiki.path(path): data}, {here.wiki.path(path): ""}
    if with_link and path != pages.INDEX:
        with contextlib.suppress(FileMissing, FileTooLarge, NotText):
            index = desk.files.read(here.wiki.path(pages.INDEX), limit=pages.PAGE_BYTES)
            text = index.text.replace("\r\n", "\n")
            if not indexing.is_linked(text, here.known.resolver, path):
                linked = indexing.with_page(text, path, pages.parsed(path, data).title)
                files[index.path] = texts.normalised(linked, index.data)
                expect[index.path] = index.version
    # No version: there must be no such page yet.
    desk.files.write_many(files, expect={at: version or None for at, version in expect.items()})


def _beginning(wanted: str) -> str:
    """What a new page begins with: its title."""
    title = pages.without_ending(wanted.strip("/").rpartition("/")[2]).strip()
    return f"# {title}\n\n" if title else ""


def _short(path: str) -> str:
    return pages.without_ending(path.removeprefix(f"{pages.PAGES}/"))


def _save(request: HttpRequest, desk: Desk, here: Opened, path: str) -> HttpResponse:
    """Write what was sent, if the page is still the one it was made from."""
    if not {"text", "version"} <= request.POST.keys():
        raise FileMissing("This is not what the editor sends. Nothing was written.")
    text, version = request.POST["text"], request.POST["version"]
    context: dict[str, Any] = {"text": text, "version": version}
    try:
        done = editing.save(desk.files, here.wiki.path(path), text, version, most=pages.PAGE_BYTES)
    except WorkspaceError as error:
        problem = {"problem": error.sentence, "status": HTTPStatus.UNPROCESSABLE_ENTITY}
        return _form(request, desk, here, path, context | problem)
    if isinstance(done, editing.Conflict):
        theirs = {"conflict": done.kind, "sides": done.sides, "version": done.version}
        return _form(request, desk, here, path, context | theirs | {"status": HTTPStatus.CONFLICT})
    unchanged = "The page is as it was; there was nothing to write."
    messages.success(request, f"{_short(path)} is saved." if done else unchanged)
    return redirect(addresses.page(here.name, path))


def _form(
    request: HttpRequest, desk: Desk, here: Opened, path: str, context: dict[str, Any]
) -> HttpResponse:
    status = context.pop("status", HTTPStatus.OK)
    context |= frame.frame(desk, here, path) | {
        "page_href": addresses.page(here.name, path),
        "preview_href": addresses.act(here.name, "preview"),
        "short": _short(path),
    }
    return render(request, "wikis/edit.html", context, status=status)
