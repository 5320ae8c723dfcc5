"""Looking: all wikis, a wiki, its folders and pages."""

from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace.errors import FileMissing, WorkspaceError
from wikis import addresses, feedback, lint, listing, pages, tree
from wikis import render as rendering
from wikis.graph import drawing
from wikis.index.relations import OTHERS_SECONDS, backlinks
from wikis.links.finding import parse
from wikis.views import frame
from wikis.views.frame import Desk, Opened, told

LISTED = 100
FOLDER_ROWS = 200
MOST_BACKLINKS = 100
DIGITS = 6


@require_safe
@told
def every(request: HttpRequest) -> HttpResponseBase:
    """All wikis, with their scopes."""
    desk = frame.desk(request)
    found = listing.listing(desk.root)
    number, count = _page_of(request, len(found), LISTED)
    shown = found[(number - 1) * LISTED : number * LISTED]
    context = {
        "rows": [_row(desk, wiki) for wiki in shown],
        "total": len(found),
        "number": number,
        "count": count,
        "problems": [wiki.problem for wiki in found if wiki.problem],
    }
    return render(request, "wikis/every.html", context)


def _row(desk: Desk, wiki: listing.Wiki) -> dict[str, Any]:
    try:
        known = desk.index.known(wiki.name, within=OTHERS_SECONDS)
    except WorkspaceError as error:
        return {"wiki": wiki, "href": addresses.wiki(wiki.name), "problem": error.sentence}
    changed = max((entry.modified for entry in known.entries.values()), default=0.0)
    return {
        "wiki": wiki,
        "href": addresses.wiki(wiki.name),
        "pages": len(known.pages),
        "changed": desk.local(changed) if changed else None,
    }


@require_safe
@csp_override(frame.WITH_FRAMES)
@told
def front(request: HttpRequest, name: str) -> HttpResponseBase:
    """A wiki: its index page, with what there is to know of the whole."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    if pages.INDEX in here.known.entries:
        return _page(request, desk, here, pages.INDEX)
    return _folder(request, desk, here, pages.PAGES)


@require_safe
@csp_override(frame.WITH_FRAMES)
@told
def browse(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """A page or a folder of a wiki. Every form that a link may have leads to the page's own
    address."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    if path == pages.GUIDE and desk.files.exists(here.wiki.path(path)):
        return redirect(addresses.file(name, path))
    for inside in addresses.to_path(path):
        place = here.wiki.locate(inside)
        if place.is_folder:
            return _at_folder(request, desk, here, inside)
        if place.status is not None:
            return _at_file(request, desk, here, here.wiki.inside(place))
    return _named(request, desk, here, path)


def _at_folder(request: HttpRequest, desk: Desk, here: Opened, folder: str) -> HttpResponseBase:
    """A folder: its index page, when the address does not end in a slash."""
    if folder == pages.PAGES:
        return redirect(addresses.wiki(here.name))
    index = pages.index_of(here.wiki, folder)
    if index and not request.path.endswith("/"):
        return redirect(addresses.page(here.name, index))
    return _folder(request, desk, here, folder)


def _at_file(request: HttpRequest, desk: Desk, here: Opened, path: str) -> HttpResponseBase:
    """A page at its own address; other files are the file browser's."""
    if not pages.is_page(path):
        return redirect(addresses.file(here.name, path))
    if request.path != unquote(addresses.page(here.name, path)):
        return redirect(addresses.page(here.name, path))
    return _page(request, desk, here, path)


def _named(request: HttpRequest, desk: Desk, here: Opened, path: str) -> HttpResponseBase:
    """What is there under no such path: the page that a link of these words would mean."""
    found = here.known.resolver.named(parse(path.replace("|", " ")).target)
    if found.path:
        if not pages.is_page(found.path):
            return redirect(addresses.file(here.name, found.path))
        return redirect(addresses.page(here.name, found.path))
    context = frame.frame(desk, here) | {
        "named": path,
        "candidates": [_shown(here, one) for one in found.candidates],
        "new_href": addresses.act(here.name, "new", page=path.strip("/")),
    }
    return render(request, "wikis/missing.html", context, status=HTTPStatus.NOT_FOUND)


def _page(request: HttpRequest, desk: Desk, here: Opened, path: str) -> HttpResponse:
    page = pages.read(here.wiki, path)
    html, diagrams = rendering.rendered(desk.index, here.known, page)
    kept = feedback.kept(desk.files, here.wiki, page.path)
    plain = feedback.words_of(html.html)
    links = backlinks(desk.index, here.known, page.path)
    context = frame.frame(desk, here, page.path) | {
        "page": page,
        "title": page.title,
        "html": html.html,
        "headings": _contents(html.headings),
        "diagrams": diagrams,
        "changed": desk.local(page.modified),
        "can_edit": not page.is_cut and not page.problem,
        "backlinks": [_linking(desk, here, *link) for link in links[:MOST_BACKLINKS]],
        "more_backlinks": max(0, len(links) - MOST_BACKLINKS),
        "picture": drawing.near(desk.index, here.known, page.path),
        "graph_href": addresses.act(here.name, "graph", page=page.path),
        "feedback": [(one, feedback.stands(plain, one.anchor)) for one in kept.open],
        "resolved": len(kept.resolved),
        "severities": feedback.SEVERITIES,
        "file_href": addresses.file(here.name, page.path),
        "is_front": page.path == pages.INDEX,
    }
    if page.path == pages.INDEX:
        context["report"] = lint.lint(desk.index, here.known)
        context["open_feedback"] = len(feedback.kept(desk.files, here.wiki).open)
    return render(request, "wikis/page.html", context)


def _contents(headings: Any) -> list[Any]:
    """The table of contents, when there is something to find in it; levels from 0."""
    if len(headings) < 3:  # noqa: PLR2004  (two headings are seen at a glance)
        return []
    top = min(heading.level for heading in headings)
    return [(heading, min(3, heading.level - top)) for heading in headings]


def _linking(desk: Desk, here: Opened, name: str, path: str) -> dict[str, str]:
    known = here.known if name == here.name else desk.index.known(name, within=OTHERS_SECONDS)
    entry = known.entries.get(path)
    return {
        "title": entry.title if entry else path,
        "href": addresses.page(name, path),
        "wiki": "" if name == here.name else name,
    }


def _shown(here: Opened, path: str) -> dict[str, str]:
    entry = here.known.entries.get(path)
    return {
        "title": entry.title if entry else path,
        "place": pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
        "href": addresses.page(here.name, path),
    }


def _folder(request: HttpRequest, desk: Desk, here: Opened, folder: str) -> HttpResponse:
    if not here.wiki.locate(folder).is_folder and folder != pages.PAGES:
        raise FileMissing("There is no such folder in this wiki.")
    if folder.partition("/")[0] not in tree.LABELS:
        if folder.partition("/")[0] == pages.AUDIT:
            return redirect(addresses.act(here.name, "feedback"))
        raise Http404
    rows = tree.children(here.known, folder)
    number, count = _page_of(request, len(rows), FOLDER_ROWS)
    context = frame.frame(desk, here, folder) | {
        "folder": folder,
        "is_top": folder == pages.PAGES,
        "title": here.name if folder == pages.PAGES else folder.rpartition("/")[2],
        "rows": [
            (row, desk.local(row.modified) if row.modified else None)
            for row in rows[(number - 1) * FOLDER_ROWS : number * FOLDER_ROWS]
        ],
        "total": len(rows),
        "number": number,
        "count": count,
        "new_href": addresses.act(here.name, "new", page=_below(folder)),
        "report": lint.lint(desk.index, here.known) if folder == pages.PAGES else None,
        "open_feedback": len(feedback.kept(desk.files, here.wiki).open),
    }
    return render(request, "wikis/folder.html", context)


def _below(folder: str) -> str:
    """The beginning of the path of a new page in the folder."""
    inside = folder.removeprefix(pages.PAGES).strip("/")
    return f"{inside}/" if inside and folder.startswith(pages.PAGES) else ""


def _page_of(request: HttpRequest, total: int, size: int) -> tuple[int, int]:
    """Which part of a long list is asked for, of how many."""
    count = max(1, -(-total // size))
    wanted = request.GET.get("page", "1")
    number = int(wanted) if wanted.isdecimal() and len(wanted) <= DIGITS else 1
    return min(max(1, number), count), count
