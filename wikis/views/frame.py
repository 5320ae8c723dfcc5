"""What every page of the wikis begins with: whose wikis, and what is said when it fails."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.csp import CSP

from jenny.accounts import access
from jenny.accounts.models import Account
from jenny.accounts.models import Workspace as WorkspaceRow
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    LockTimeout,
    PathRefused,
    WorkspaceError,
    WriteFailed,
)
from jenny.workspace.files import Actor, Workspace, open_workspace
from wikis import addresses, listing, pages, tree
from wikis.errors import PageRefused, WikiMissing
from wikis.index.known import Index, Known, index_of
from wikis.pages import Wiki

_STATUS: tuple[tuple[type[WorkspaceError], HTTPStatus], ...] = (
    (WikiMissing, HTTPStatus.NOT_FOUND),
    (FileMissing, HTTPStatus.NOT_FOUND),
    (PathRefused, HTTPStatus.NOT_FOUND),
    (PageRefused, HTTPStatus.NOT_FOUND),
    (FileTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (LockTimeout, HTTPStatus.SERVICE_UNAVAILABLE),
    (WriteFailed, HTTPStatus.SERVICE_UNAVAILABLE),
)
# A page may hold frames of this site, in which its diagrams are shut in.
WITH_FRAMES: dict[str, Any] = {**settings.SECURE_CSP, "frame-src": [CSP.SELF]}


@dataclass(frozen=True)
class Desk:
    """The wikis of the workspace that the account works in. ``run`` names this one request in the
    log of writes."""

    account: Account
    row: WorkspaceRow
    files: Workspace
    index: Index
    run: str

    @property
    def trash(self) -> Path:
        """Where what is deleted is kept."""
        return settings.JENNY_DATA.trash / str(self.row.pk)

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return self.files.root

    def local(self, seconds: float) -> datetime:
        """A time of the disk, in the account's zone."""
        return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(self.account.time_zone))


@dataclass(frozen=True)
class Opened:
    """One wiki: its folder, and what is known of it."""

    wiki: Wiki
    known: Known

    @property
    def name(self) -> str:
        """Its name."""
        return self.wiki.name


def desk(request: HttpRequest) -> Desk:
    """The wikis that this account may see: those of its current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    run = f"page:{secrets.token_hex(6)}"
    files = open_workspace(row.root, Actor("browser", person.pk, run))
    return Desk(person, row, files, index_for(row), run)


def index_for(row: WorkspaceRow) -> Index:
    """The index of a workspace's wikis, with its cache."""
    return index_of(row.root, settings.JENNY_DATA.cache / "wikis" / f"{row.pk}.sqlite3")


def opened(desk: Desk, name: str) -> Opened:
    """The wiki of that name, as it is now. :raises WikiMissing: there is none."""
    return Opened(pages.open_wiki(desk.root, name), desk.index.known(name))


def told[**P](view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Show the sentence of whatever stands in the way, as a page."""

    @wraps(view)
    def told_view(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(*args, **kwargs)
        except WorkspaceError as error:
            request = args[0]
            assert isinstance(request, HttpRequest)  # noqa: S101  (what every view begins with)
            context = {"sentence": error.sentence}
            return render(request, "wikis/problem.html", context, status=status_of(error))

    return told_view


def status_of(error: WorkspaceError) -> HTTPStatus:
    """The status that fits an error; a refused write answers like a wrong form."""
    return next(
        (status for kind, status in _STATUS if isinstance(error, kind)),
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def frame(desk: Desk, here: Opened, path: str = "") -> dict[str, Any]:
    """What every page about something in a wiki shows around it: the way there, and the tree."""
    name = here.name
    return {
        "wiki": name,
        "scope": scope_of(desk, name),
        "path": path,
        "branches": tree.branches(here.known, path),
        "crumbs": tree.crumbs(name, path),
        "wiki_href": addresses.wiki(name),
        "links": {
            what: addresses.act(name, what, path)
            for what in ("edit", "rename", "delete", "feedback", "comment")
            if path
        }
        | {
            f"wiki_{what}": addresses.act(name, what)
            for what in ("new", "graph", "health", "feedback", "scope", "remove")
        },
    }


def scope_of(desk: Desk, name: str) -> str:
    """A wiki's scope, empty when none is set."""
    return next((wiki.scope for wiki in listing.listing(desk.root) if wiki.name == name), "")


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page."""
    return request.headers.get("HX-Request") == "true"


def refused(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The page again, with what was wrong."""
    return render(request, template, context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
