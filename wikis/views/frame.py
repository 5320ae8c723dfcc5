"""What every page of the wikis begins with: whose wikis, the way there, and the tree."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP

from jenny.accounts.management import desks
from jenny.accounts.management.desks import Told
from jenny.accounts.models import Workspace as WorkspaceRow
from wikis import addresses, listing, pages, tree
from wikis.errors import PageRefused, WikiMissing
from wikis.index.known import Index, Known, index_of
from wikis.pages import Wiki

told = Told(
    "wikis/problem.html",
    {WikiMissing: HTTPStatus.NOT_FOUND, PageRefused: HTTPStatus.NOT_FOUND},
)
# A page may hold frames of this site, in which its diagrams are shut in.
WITH_FRAMES: dict[str, Any] = {**settings.SECURE_CSP, "frame-src": [CSP.SELF]}


@dataclass(frozen=True)
class Desk(desks.Desk):
    """The wikis of the workspace that the account works in."""

    index: Index


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
    mine = desks.desk(request)
    return Desk(mine.account, mine.row, mine.files, mine.run, index_for(mine.row))


def index_for(row: WorkspaceRow) -> Index:
    """The index of a workspace's wikis, with its cache."""
    return index_of(row.root, settings.JENNY_DATA.cache / "wikis" / f"{row.pk}.sqlite3")


def opened(desk: Desk, name: str) -> Opened:
    """The wiki of that name, as it is now. :raises WikiMissing: there is none."""
    return Opened(pages.open_wiki(desk.root, name), desk.index.known(name))


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
