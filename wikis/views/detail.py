"""Show all wikis, a wiki, its folders and pages, and the content of sandboxed frames."""

from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.csp import CSP
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.workspace.errors import FileMissing, WorkspaceError
from wikis import feedback, graph, lint, names, pages, tree, wikis_block
from wikis import render as rendering
from wikis.links import parse_target
from wikis.page_index import OTHERS_SECONDS, backlinks
from wikis.preview import safe_preview
from wikis.views import base_context
from wikis.views.base_context import Opened, WikiContext, workspace_error_page

LISTED = 100
FOLDER_ROWS = 200
MOST_BACKLINKS = 100
DIGITS = 6


@require_safe
@workspace_error_page
def wiki_list(request: HttpRequest) -> HttpResponseBase:
    ctx = base_context.get_wiki_context(request)
    found = wikis_block.listing(ctx.root)
    number, count = _page_of(request, len(found), LISTED)
    shown = found[(number - 1) * LISTED : number * LISTED]
    context = {
        "rows": [_row(ctx, wiki) for wiki in shown],
        "total": len(found),
        "number": number,
        "count": count,
        "problems": [wiki.problem for wiki in found if wiki.problem],
    }
    return render(request, "wikis/list.html", context)


def _row(ctx: WikiContext, wiki: wikis_block.Wiki) -> dict[str, Any]:
    try:
        known = ctx.index.known(wiki.name, within=OTHERS_SECONDS)
    except WorkspaceError as error:
        return {"wiki": wiki, "href": names.wiki_url(wiki.name), "problem": error.message}
    changed = max((entry.modified for entry in known.entries.values()), default=0.0)
    return {
        "wiki": wiki,
        "title": known.title,
        "href": names.wiki_url(wiki.name),
        "pages": len(known.pages),
        "changed": ctx.local(changed) if changed else None,
    }


@require_safe
@csp_override(base_context.WITH_FRAMES)
@workspace_error_page
def wiki_front_page(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show a wiki: its index page, with figures of the whole wiki."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    if pages.INDEX in here.known.entries:
        return _page(request, ctx, here, pages.INDEX)
    return _folder(request, ctx, here, pages.PAGES)


@require_safe
@csp_override(base_context.WITH_FRAMES)
@workspace_error_page
def browse(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Show a page or a folder of a wiki.

    Every form of a link redirects to the page's own address.
    """
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    if path == pages.GUIDE and ctx.files.exists(here.wiki.path(path)):
        return redirect(names.file_url(name, path))
    for inside in names.to_path(path):
        place = here.wiki.locate(inside)
        if place.is_folder:
            return _at_folder(request, ctx, here, inside)
        if place.status is not None:
            return _at_file(request, ctx, here, here.wiki.inside(place))
    return _named(request, ctx, here, path)


def _at_folder(
    request: HttpRequest, ctx: WikiContext, here: Opened, folder: str
) -> HttpResponseBase:
    """Redirect to a folder's index page, unless the address ends in a slash."""
    if folder == pages.PAGES:
        return redirect(names.wiki_url(here.name))
    index = pages.index_of(here.wiki, folder)
    if index and not request.path.endswith("/"):
        return redirect(names.page_url(here.name, index))
    return _folder(request, ctx, here, folder)


def _at_file(request: HttpRequest, ctx: WikiContext, here: Opened, path: str) -> HttpResponseBase:
    """Show a page at its own address; other files are shown by the file browser."""
    if not pages.is_page(path):
        return redirect(names.file_url(here.name, path))
    if request.path != unquote(names.page_url(here.name, path)):
        return redirect(names.page_url(here.name, path))
    return _page(request, ctx, here, path)


def _named(request: HttpRequest, ctx: WikiContext, here: Opened, path: str) -> HttpResponseBase:
    """Resolve a missing path as a link with these words."""
    found = here.known.resolver.named(parse_target(path.replace("|", " ")).target)
    if found.path:
        if not pages.is_page(found.path):
            return redirect(names.file_url(here.name, found.path))
        return redirect(names.page_url(here.name, found.path))
    context = base_context.base_context(ctx, here) | {
        "named": path,
        "candidates": [_shown(here, one) for one in found.candidates],
        "new_href": names.action_url(here.name, "new", page=path.strip("/")),
    }
    return render(request, "wikis/missing.html", context, status=HTTPStatus.NOT_FOUND)


def _page(request: HttpRequest, ctx: WikiContext, here: Opened, path: str) -> HttpResponse:
    page = pages.read_page(here.wiki, path)
    html, diagrams = rendering.rendered(ctx.index, here.known, page)
    kept = feedback.kept(ctx.files, here.wiki, page.path)
    plain = feedback.words_of(html.html)
    links = backlinks(ctx.index, here.known, page.path)
    context = base_context.base_context(ctx, here, page.path) | {
        "page": page,
        "title": page.title,
        "html": html.html,
        "headings": _contents(html.headings),
        "title_id": html.title.id if html.title else "",
        "diagrams": diagrams,
        "changed": ctx.local(page.modified),
        "can_edit": not page.is_cut and not page.problem,
        "backlinks": [_linking(ctx, here, *link) for link in links[:MOST_BACKLINKS]],
        "more_backlinks": max(0, len(links) - MOST_BACKLINKS),
        "namesakes": [_shown(here, one) for one in here.known.resolver.namesakes(page.path)],
        "picture": graph.near(ctx.index, here.known, page.path),
        "graph_href": names.action_url(here.name, "graph", page=page.path),
        "feedback": [(one, feedback.stands(plain, one.anchor)) for one in kept.open],
        "resolved": len(kept.resolved),
        "severities": feedback.SEVERITIES,
        "file_href": names.file_url(here.name, page.path),
        "is_front": page.path == pages.INDEX,
    }
    if page.path == pages.INDEX:
        context["report"] = lint.lint(ctx.index, here.known)
        context["open_feedback"] = len(feedback.kept(ctx.files, here.wiki).open)
    return render(request, "wikis/page.html", context)


def _contents(headings: Any) -> list[Any]:
    """Return the table of contents if it has enough entries; levels from 0."""
    if len(headings) < 3:  # noqa: PLR2004  (two headings are seen at a glance)
        return []
    top = min(heading.level for heading in headings)
    return [(heading, min(3, heading.level - top)) for heading in headings]


def _linking(ctx: WikiContext, here: Opened, name: str, path: str) -> dict[str, str]:
    known = here.known if name == here.name else ctx.index.known(name, within=OTHERS_SECONDS)
    entry = known.entries.get(path)
    return {
        "title": entry.title if entry else path,
        "href": names.page_url(name, path),
        "wiki": "" if name == here.name else name,
    }


def _shown(here: Opened, path: str) -> dict[str, str]:
    entry = here.known.entries.get(path)
    return {
        "title": entry.title if entry else path,
        "place": pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
        "href": names.page_url(here.name, path),
    }


def _folder(request: HttpRequest, ctx: WikiContext, here: Opened, folder: str) -> HttpResponse:
    if not here.wiki.locate(folder).is_folder and folder != pages.PAGES:
        raise FileMissing("There is no such folder in this wiki.")
    if folder.partition("/")[0] not in tree.LABELS:
        if folder.partition("/")[0] == pages.AUDIT:
            return redirect(names.action_url(here.name, "feedback"))
        raise Http404
    rows = tree.children(here.known, folder)
    number, count = _page_of(request, len(rows), FOLDER_ROWS)
    context = base_context.base_context(ctx, here, folder) | {
        "folder": folder,
        "is_top": folder == pages.PAGES,
        "title": here.name if folder == pages.PAGES else folder.rpartition("/")[2],
        "rows": [
            (row, ctx.local(row.modified) if row.modified else None)
            for row in rows[(number - 1) * FOLDER_ROWS : number * FOLDER_ROWS]
        ],
        "total": len(rows),
        "number": number,
        "count": count,
        "new_href": names.action_url(here.name, "new", page=_below(folder)),
        "report": lint.lint(ctx.index, here.known) if folder == pages.PAGES else None,
        "open_feedback": len(feedback.kept(ctx.files, here.wiki).open),
    }
    return render(request, "wikis/folder.html", context)


def _below(folder: str) -> str:
    """Return the prefix of the path of a new page in the folder."""
    inside = folder.removeprefix(pages.PAGES).strip("/")
    return f"{inside}/" if inside and folder.startswith(pages.PAGES) else ""


def _page_of(request: HttpRequest, total: int, size: int) -> tuple[int, int]:
    """Return the requested page of a long list, and the number of pages."""
    count = max(1, -(-total // size))
    wanted = request.GET.get("page", "1")
    number = int(wanted) if wanted.isdecimal() and len(wanted) <= DIGITS else 1
    return min(max(1, number), count), count


_ISOLATED: dict[str, Any] = {
    "default-src": [CSP.NONE],
    "style-src": [CSP.UNSAFE_INLINE],
    "img-src": ["data:"],
    "font-src": ["data:"],
    "frame-ancestors": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.NONE],
}
# A preview runs no script, loads nothing, sends nothing and opens nothing.
PREVIEW: dict[str, Any] = {**_ISOLATED, "sandbox": True}
# In a diagram's frame our own script draws, without access to anything, even its session.
DIAGRAM: dict[str, Any] = {
    **_ISOLATED,
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "sandbox": ["allow-scripts"],
}


def frame_page(request: HttpRequest, language: str, source: str) -> HttpResponseBase:
    """Return the page in a frame; the caller has checked access."""
    return _diagram(request, source) if language == "mermaid" else _preview(request, source)


@xframe_options_sameorigin
@csp_override(DIAGRAM)
def _diagram(request: HttpRequest, source: str) -> HttpResponse:
    """Return the page that draws a diagram; without script, it shows the source."""
    context = {"source": source, "library": settings.JENNY_MERMAID}
    return render(request, "wikis/diagram.html", context)


@xframe_options_sameorigin
@csp_override(PREVIEW)
def _preview(_request: HttpRequest, source: str) -> HttpResponse:
    response = HttpResponse(safe_preview(source), content_type="text/html; charset=utf-8")
    # A name that a page mentions is not looked up.
    response["X-DNS-Prefetch-Control"] = "off"
    return response
