"""Renaming and deleting pages, making and deleting wikis: each has a page that asks first."""

import time
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.workspace import names as file_names
from jenny.workspace import trash
from jenny.workspace.errors import FileMissing, PathRefused, VersionMismatch, WorkspaceError
from wikis import addresses, before, making, pages
from wikis import scope as scopes
from wikis.errors import NameRefused, PlanChanged
from wikis.forms import RenameForm, ScopeForm, WikiForm
from wikis.index.relations import backlinks
from wikis.links import moving
from wikis.views import frame
from wikis.views.frame import Desk, Opened, told

SHOWN_FILES = 100


@require_http_methods(["GET", "HEAD", "POST"])
@told
def rename(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Another name for a page: first what would change is shown, then all of it is done."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    path = _page_at(here, path)
    context = frame.frame(desk, here, path) | {"page_href": addresses.page(name, path)}
    if request.method != "POST":
        form = RenameForm(initial={"to": pages.without_ending(_below(path))})
        return render(request, "wikis/rename.html", context | {"form": form})
    form = RenameForm(request.POST)
    context["form"] = form
    status = HTTPStatus.OK
    if form.is_valid():
        try:
            made = moving.plan(desk.index, desk.files, here.wiki, path, form.cleaned_data["to"])
            context |= {"plan": made, "shown": made.files[:SHOWN_FILES]}
            context["more"] = max(0, len(made.files) - SHOWN_FILES)
            if "digest" not in request.POST:
                return render(request, "wikis/rename.html", context)
            count = moving.carry_out(desk.files, here.wiki, made, request.POST["digest"])
        except (PlanChanged, VersionMismatch) as error:
            context["problem"] = error.sentence
            status = HTTPStatus.CONFLICT
        except WorkspaceError as error:
            form.add_error("to", error.sentence)
        else:
            links = f" {count} link{'' if count == 1 else 's'} changed with it." if count else ""
            messages.success(request, f"The page is {_short(made.new)} now.{links}")
            return redirect(addresses.page(name, made.new))
    if form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "wikis/rename.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def delete(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Move a page to the trash, after a yes."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    path = _page_at(here, path)
    if request.method == "POST":
        item = trash.throw(desk.files, desk.trash, here.wiki.path(path), now=int(time.time()))
        goes = desk.local(item.goes_at)
        sentence = f"{_short(path)} is in the trash, and stays there until {goes:%-d %B %Y}."
        messages.success(request, sentence)
        return redirect(addresses.wiki(name))
    links = backlinks(desk.index, here.known, path)
    context = frame.frame(desk, here, path) | {
        "short": _short(path),
        "links_here": len(links),
        "kept_days": trash.KEPT_DAYS,
        "page_href": addresses.page(name, path),
    }
    return render(request, "wikis/delete.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def create(request: HttpRequest) -> HttpResponseBase:
    """A new wiki."""
    desk = frame.desk(request)
    form = WikiForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = making.make(desk.files, form.cleaned_data["name"], form.cleaned_data["scope"])
        except NameRefused as error:
            form.add_error(error.field, error.sentence)
        except WorkspaceError as error:
            form.add_error(None, error.sentence)
        else:
            before.made(desk.row, made)
            messages.success(request, f"The wiki {made} is made. This is its first page.")
            return redirect(addresses.wiki(made))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "wikis/create.html", {"form": form}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@told
def scope(request: HttpRequest, name: str) -> HttpResponseBase:
    """Say what a wiki is about."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    context = frame.frame(desk, here) | {
        "guide_href": addresses.file(name, pages.GUIDE),
        "has_guide": desk.files.exists(here.wiki.path(pages.GUIDE)),
    }
    if request.method != "POST":
        form = ScopeForm(initial={"scope": context["scope"]})
        return render(request, "wikis/scope.html", context | {"form": form})
    form = ScopeForm(request.POST)
    if form.is_valid():
        try:
            scopes.change(desk.files, here.wiki, form.cleaned_data["scope"])
        except WorkspaceError as error:
            form.add_error("scope", error.sentence)
        else:
            messages.success(
                request, "The scope is saved. Jenny knows it from the next message on."
            )
            return redirect(addresses.wiki(name))
    return frame.refused(request, "wikis/scope.html", context | {"form": form})


@require_POST
@told
def example(request: HttpRequest) -> HttpResponseBase:
    """Add the example wiki."""
    desk = frame.desk(request)
    made = making.example(desk.files)
    messages.success(request, f"The example is yours, as {made}. Change it as you like.")
    return redirect(addresses.wiki(made))


@require_http_methods(["GET", "HEAD", "POST"])
@told
def remove(request: HttpRequest, name: str) -> HttpResponseBase:
    """Delete a wiki, after a yes: a snapshot is taken first, then it goes to the trash."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    context: dict[str, Any] = frame.frame(desk, here) | {
        "count": len(here.known.entries) + len(here.known.files),
        "kept_days": trash.KEPT_DAYS,
        "talks": before.talks(desk.row, here.name),
    }
    if request.method != "POST":
        return render(request, "wikis/remove.html", context)
    try:
        said = _removed(desk, here, with_talks=request.POST.get("talks") == "delete")
    except WorkspaceError as error:
        return frame.refused(request, "wikis/remove.html", context | {"problem": error.sentence})
    messages.success(request, said)
    return redirect("wikis")


def _removed(desk: Desk, here: Opened, *, with_talks: bool) -> str:
    """Delete the wiki, and the conversations inside it if they are to go; what was done, in
    words."""
    kept = before.keep(desk.row)
    path = f"{pages.WIKIS}/{here.name}"
    item = trash.throw(desk.files, desk.trash, path, now=int(time.time()))
    if with_talks:
        # The folder first: it can be put back, what was said cannot.
        try:
            kept = f"{kept} {before.take_talks(desk.row, here.name)}"
        except BaseException:
            trash.put_back(desk.files, desk.trash, item.id)
            raise
    goes = desk.local(item.goes_at)
    return (
        f"The wiki {here.name} is in the trash, and stays there until {goes:%-d %B %Y}. {kept}"
    ).strip()


def _page_at(here: Opened, path: str) -> str:
    """The path of a page that is there.

    Raises:
        FileMissing: there is none.
        PathRefused: it is no page.
    """
    place = here.wiki.locate(path)
    inside = here.wiki.inside(place)
    if place.status is None or place.is_folder:
        raise FileMissing(f"There is no page {file_names.shown(path)} in this wiki.")
    if not pages.is_page(inside):
        raise PathRefused(f"{file_names.shown(path)} is no page of this wiki.")
    return inside


def _below(path: str) -> str:
    return path.removeprefix(f"{pages.PAGES}/")


def _short(path: str) -> str:
    return pages.without_ending(_below(path))
