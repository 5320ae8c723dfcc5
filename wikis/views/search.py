"""Show search results, the graphs, a page's frames, and the choice between pages."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from wikis import graph as wiki_graph
from wikis import names, pages, search
from wikis import render as rendering
from wikis.views import base_context, detail
from wikis.views.base_context import workspace_error_page


@require_safe
@workspace_error_page
def search_results(request: HttpRequest) -> HttpResponseBase:
    """Search all wikis, or one (``?wiki=``), for ``?q=``."""
    ctx = base_context.get_wiki_context(request)
    query = request.GET.get("q", "")[: search.QUERY_CHARS]
    name = request.GET.get("wiki", "")
    only = [base_context.open_wiki_page(ctx, name).name] if name else None
    found = search.search(ctx.index, query, only)
    context = {
        "query": query,
        "only": name,
        "found": found,
        "rows": [
            (hit, names.page_url(hit.wiki, hit.entry.path), names.wiki_url(hit.wiki))
            for hit in found.hits
        ],
    }
    part = "#hits" if base_context.is_fragment(request) else ""
    return render(request, f"wikis/search.html{part}", context)


@require_safe
@workspace_error_page
def graph_of_all(request: HttpRequest) -> HttpResponseBase:
    """Show all wikis, each as a circle of its pages."""
    ctx = base_context.get_wiki_context(request)
    return render(request, "wikis/graph.html", {"picture": wiki_graph.of_all(ctx.index)})


@require_safe
@workspace_error_page
def graph(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show the graph of one wiki, or around one of its pages (``?page=``)."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    path = request.GET.get("page", "")
    entry = here.known.entries.get(path)
    if path and entry is None:
        return redirect(names.action_url(name, "graph"))
    picture = (
        wiki_graph.near(ctx.index, here.known, path)
        if entry
        else wiki_graph.of_wiki(ctx.index, here.known)
    )
    context = base_context.base_context(ctx, here) | {"picture": picture, "around": entry}
    return render(request, "wikis/graph.html", context)


@require_safe
@workspace_error_page
def frame(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Show the frame ``?n=`` of a page: a diagram, or the preview of a page or picture."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    page = pages.read_page(here.wiki, path)
    found = rendering.frame_content(page, request.GET.get("n", ""))
    if found is None:
        raise Http404
    return detail.frame_page(request, *found)


@require_safe
@workspace_error_page
def choose(request: HttpRequest, name: str) -> HttpResponseBase:
    """List the pages that a link's words (``?page=``) may mean."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    named = request.GET.get("page", "")[:400]
    found = here.known.resolver.named(named)
    if found.path:
        return redirect(names.page_url(name, found.path))
    candidates = [
        {
            "title": here.known.entries[path].title,
            "place": pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
            "href": names.page_url(name, path),
        }
        for path in found.candidates
    ]
    context = base_context.base_context(ctx, here) | {
        "named": named,
        "candidates": candidates,
        "new_href": names.action_url(name, "new", page=named),
    }
    return render(request, "wikis/missing.html", context)
