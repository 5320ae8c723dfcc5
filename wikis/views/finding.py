"""Finding: the search while one types, the graphs, a page's diagrams, the choice between pages."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.csp import CSP
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from wikis import addresses, pages, search
from wikis import render as rendering
from wikis.graph import drawing
from wikis.views import frame
from wikis.views.frame import told

DIGITS = 5
# A diagram's frame: our own script draws in it, and it reaches nothing, not even its session.
SHUT_IN: dict[str, Any] = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "img-src": ["data:"],
    "font-src": ["data:"],
    "sandbox": ["allow-scripts"],
    "frame-ancestors": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.NONE],
}


@require_safe
@told
def look(request: HttpRequest) -> HttpResponseBase:
    """Search all wikis, or one (``?wiki=``), for ``?q=``."""
    desk = frame.desk(request)
    query = request.GET.get("q", "")[: search.QUERY_CHARS]
    name = request.GET.get("wiki", "")
    only = [frame.opened(desk, name).name] if name else None
    found = search.search(desk.index, query, only)
    context = {
        "query": query,
        "only": name,
        "found": found,
        "rows": [
            (hit, addresses.page(hit.wiki, hit.entry.path), addresses.wiki(hit.wiki))
            for hit in found.hits
        ],
    }
    part = "#hits" if frame.is_fragment(request) else ""
    return render(request, f"wikis/search.html{part}", context)


@require_safe
@told
def graph_of_all(request: HttpRequest) -> HttpResponseBase:
    """All wikis, each a circle of its pages."""
    desk = frame.desk(request)
    return render(request, "wikis/graph.html", {"picture": drawing.of_all(desk.index)})


@require_safe
@told
def graph(request: HttpRequest, name: str) -> HttpResponseBase:
    """One wiki, or what is around one of its pages (``?page=``)."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    path = request.GET.get("page", "")
    entry = here.known.entries.get(path)
    if path and entry is None:
        return redirect(addresses.act(name, "graph"))
    picture = (
        drawing.near(desk.index, here.known, path)
        if entry
        else drawing.of_wiki(desk.index, here.known)
    )
    context = frame.frame(desk, here) | {"picture": picture, "around": entry}
    return render(request, "wikis/graph.html", context)


@require_safe
@xframe_options_sameorigin
@csp_override(SHUT_IN)
@told
def diagram(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """The frame in which diagram number ``?n=`` of a page is drawn; without script, its source."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    number = request.GET.get("n", "0")
    page = pages.read(here.wiki, path)
    source = None
    if number.isdecimal() and len(number) <= DIGITS:
        source = rendering.diagram(desk.index, here.known, page, int(number))
    if source is None:
        raise Http404
    context = {"source": source, "library": settings.JENNY_MERMAID}
    return render(request, "wikis/diagram.html", context)


@require_safe
@told
def choose(request: HttpRequest, name: str) -> HttpResponseBase:
    """The pages that a link's words (``?page=``) may mean."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    named = request.GET.get("page", "")[:400]
    found = here.known.resolver.named(named)
    if found.path:
        return redirect(addresses.page(name, found.path))
    candidates = [
        {
            "title": here.known.entries[path].title,
            "place": pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
            "href": addresses.page(name, path),
        }
        for path in found.candidates
    ]
    context = frame.frame(desk, here) | {
        "named": named,
        "candidates": candidates,
        "new_href": addresses.act(name, "new", page=named),
    }
    return render(request, "wikis/missing.html", context)
