"""Rename and delete pages, create and delete wikis; each has a page that asks first."""

import time
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jenny.workspace import names as file_names
from jenny.workspace import retention, trash
from jenny.workspace.errors import FileMissing, PathRefused, VersionMismatch, WorkspaceError
from wikis import names, page_rename, pages, scaffold, signals
from wikis import scaffold as scopes
from wikis.errors import NameRefused, PlanChanged
from wikis.forms import RenameForm, ScopeForm, WikiForm
from wikis.page_index import backlinks
from wikis.views import base_context
from wikis.views.base_context import Opened, WikiContext, workspace_error_page

SHOWN_FILES = 100


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def rename(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Rename a page: the changes are shown first, then all of them are made."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    path = _page_at(here, path)
    context = base_context.base_context(ctx, here, path) | {"page_href": names.page_url(name, path)}
    if request.method != "POST":
        form = RenameForm(initial={"to": pages.without_ending(_below(path))})
        return render(request, "wikis/rename.html", context | {"form": form})
    form = RenameForm(request.POST)
    context["form"] = form
    status = HTTPStatus.OK
    if form.is_valid():
        twin = here.known.resolver.twin(form.cleaned_data["to"])
        if twin and twin != path:
            form.add_error("to", base_context.taken(name, twin, "Nothing was renamed."))
    if form.is_valid():
        try:
            made = page_rename.plan(ctx.index, ctx.files, here.wiki, path, form.cleaned_data["to"])
            context |= {"plan": made, "shown": made.files[:SHOWN_FILES]}
            context["more"] = max(0, len(made.files) - SHOWN_FILES)
            if "digest" not in request.POST:
                return render(request, "wikis/rename.html", context)
            count = page_rename.apply_rename(ctx.files, here.wiki, made, request.POST["digest"])
        except (PlanChanged, VersionMismatch) as error:
            context["problem"] = error.message
            status = HTTPStatus.CONFLICT
        except WorkspaceError as error:
            form.add_error("to", error.message)
        else:
            links = f" {count} link{'' if count == 1 else 's'} changed with it." if count else ""
            messages.success(request, f"The page is {_short(made.new)} now.{links}")
            return redirect(names.page_url(name, made.new))
    if form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "wikis/rename.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def delete(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Move a page to the trash, after a confirmation."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    path = _page_at(here, path)
    if request.method == "POST":
        item = trash.move_to_trash(ctx.files, ctx.trash, here.wiki.path(path), now=int(time.time()))
        goes = ctx.local(item.purge_at)
        message = f"{_short(path)} is in the trash, and stays there until {goes:%-d %B %Y}."
        messages.success(request, message)
        return redirect(names.wiki_url(name))
    links = backlinks(ctx.index, here.known, path)
    context = base_context.base_context(ctx, here, path) | {
        "short": _short(path),
        "links_here": len(links),
        "kept_days": retention.TRASH.days,
        "page_href": names.page_url(name, path),
    }
    return render(request, "wikis/delete.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def create(request: HttpRequest) -> HttpResponseBase:
    ctx = base_context.get_wiki_context(request)
    form = WikiForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = scaffold.create_wiki(
                ctx.files, form.cleaned_data["name"], form.cleaned_data["scope"]
            )
        except NameRefused as error:
            form.add_error(error.field, error.message)
        except WorkspaceError as error:
            form.add_error(None, error.message)
        else:
            signals.wiki_created.send(sender=None, workspace=ctx.row, name=made)
            messages.success(
                request, f"The wiki is there, in the folder wikis/{made}. This is its first page."
            )
            return redirect(names.wiki_url(made))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "wikis/create.html", {"form": form}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def scope(request: HttpRequest, name: str) -> HttpResponseBase:
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    context = base_context.base_context(ctx, here) | {
        "guide_href": names.file_url(name, pages.GUIDE),
        "has_guide": ctx.files.exists(here.wiki.path(pages.GUIDE)),
    }
    if request.method != "POST":
        form = ScopeForm(initial={"scope": context["scope"]})
        return render(request, "wikis/scope.html", context | {"form": form})
    form = ScopeForm(request.POST)
    if form.is_valid():
        try:
            scopes.change_summary(ctx.files, here.wiki, form.cleaned_data["scope"])
        except WorkspaceError as error:
            form.add_error("scope", error.message)
        else:
            messages.success(
                request, "The scope is saved. Jenny knows it from the next message on."
            )
            return redirect(names.wiki_url(name))
    return base_context.refused(request, "wikis/scope.html", context | {"form": form})


@require_POST
@workspace_error_page
def example(request: HttpRequest) -> HttpResponseBase:
    ctx = base_context.get_wiki_context(request)
    made = scaffold.create_example(ctx.files)
    messages.success(request, f"The example is yours, as {made}. Change it as you like.")
    return redirect(names.wiki_url(made))


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def remove(request: HttpRequest, name: str) -> HttpResponseBase:
    """Move a wiki to the trash, after a confirmation and a snapshot."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    context: dict[str, Any] = base_context.base_context(ctx, here) | {
        "count": len(here.known.entries) + len(here.known.files),
        "kept_days": retention.TRASH.days,
        "talks": signals.count_conversations(ctx.row, here.name),
    }
    if request.method != "POST":
        return render(request, "wikis/remove.html", context)
    try:
        said = _removed(ctx, here, with_talks=request.POST.get("talks") == "delete")
    except WorkspaceError as error:
        return base_context.refused(
            request, "wikis/remove.html", context | {"problem": error.message}
        )
    messages.success(request, said)
    return redirect("wikis")


def _removed(ctx: WikiContext, here: Opened, *, with_talks: bool) -> str:
    """Delete the wiki and, if chosen, the conversations inside it; return a sentence about it."""
    kept = signals.copy_before_delete(ctx.row, here.name)
    path = f"{pages.WIKIS}/{here.name}"
    item = trash.move_to_trash(ctx.files, ctx.trash, path, now=int(time.time()))
    if with_talks:
        # The folder first, which is put back when a conversation refuses.
        try:
            kept = f"{kept} {signals.delete_conversations(ctx.row, here.name)}"
        except BaseException:
            trash.put_back(ctx.files, ctx.trash, item.id)
            raise
    goes = ctx.local(item.purge_at)
    return (
        f"The wiki {here.name} is in the trash, and stays there until {goes:%-d %B %Y}. {kept}"
    ).strip()


def _page_at(here: Opened, path: str) -> str:
    """Return the path of an existing page.

    Raises:
        FileMissing: there is none.
        PathRefused: it is not a page.
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
