"""Build the context that all pages of the wikis share: access, breadcrumbs, and the tree."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jenny.accounts.models import Workspace as WorkspaceRow
from jenny.accounts.services import workspace_context
from jenny.accounts.services.workspace_context import WorkspaceErrorPage
from wikis import names, pages, tree, wikis_block
from wikis.errors import PageRefused, WikiMissing
from wikis.page_index import Index, WikiIndex, index_of
from wikis.pages import Wiki

workspace_error_page = WorkspaceErrorPage(
    "Wikis",
    "wikis",
    {WikiMissing: HTTPStatus.NOT_FOUND, PageRefused: HTTPStatus.NOT_FOUND},
)
# A page may contain frames of this site with its diagrams.
WITH_FRAMES: dict[str, Any] = {**settings.SECURE_CSP, "frame-src": [CSP.SELF]}


@dataclass(frozen=True)
class WikiContext(workspace_context.WorkspaceContext):
    """The wikis of the account's current workspace."""

    index: Index


@dataclass(frozen=True)
class Opened:
    """One wiki: its folder and its index."""

    wiki: Wiki
    known: WikiIndex

    @property
    def name(self) -> str:
        return self.wiki.name


def get_wiki_context(request: HttpRequest) -> WikiContext:
    """Return the wikis that this account may see: those of its current workspace."""
    mine = workspace_context.get_workspace_context(request)
    return WikiContext(mine.account, mine.row, mine.files, mine.run, index_for(mine.row))


def index_for(row: WorkspaceRow) -> Index:
    """Return the index of a workspace's wikis, with its cache."""
    return index_of(row.root, settings.JENNY_DATA.cache / "wikis" / f"{row.pk}.sqlite3")


def open_wiki_page(ctx: WikiContext, name: str) -> Opened:
    """Open the wiki of that name. :raises WikiMissing: there is none."""
    return Opened(pages.open_wiki(ctx.root, name), ctx.index.known(name))


def base_context(ctx: WikiContext, here: Opened, path: str = "") -> dict[str, Any]:
    """Return the context around anything in a wiki: breadcrumbs and the tree."""
    name = here.name
    return {
        "wiki": name,
        "wiki_title": here.known.title,
        "scope": scope_of(ctx, name),
        "path": path,
        "branches": tree.branches(here.known, path),
        "crumbs": tree.crumbs(here.known, path),
        "wiki_href": names.wiki_url(name),
        "links": {
            what: names.action_url(name, what, path)
            for what in ("edit", "rename", "delete", "feedback", "comment")
            if path
        }
        | {
            f"wiki_{what}": names.action_url(name, what)
            for what in ("new", "graph", "health", "feedback", "scope", "remove")
        },
    }


def scope_of(ctx: WikiContext, name: str) -> str:
    """Return a wiki's scope, empty when none is set."""
    return next((wiki.scope for wiki in wikis_block.listing(ctx.root) if wiki.name == name), "")


def is_fragment(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def taken(wiki: str, path: str, what: str) -> SafeString:
    """Return a message that links to a page of the same name; *what* happened to the form."""
    return format_html(
        'There is such a page already: <a href="{}">{}</a>. Case, spaces, dashes and accents make '
        "no other name. {}",
        names.page_url(wiki, path),
        pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
        what,
    )


def refused(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
