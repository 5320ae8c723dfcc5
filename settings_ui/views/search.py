"""The search over everything that was said or written, and the palette that leads everywhere."""

import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jenny.accounts.services.workspace_context import WorkspaceContext
from settings_ui.services import palette, search
from settings_ui.services.search import Days
from settings_ui.views.memory.base_context import (
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)

A_PAGE = 20
# Of old versions, which are shown on one page.
MOST_OLD = 20


@require_safe
@workspace_error_page
def search_page(request: HttpRequest) -> HttpResponseBase:
    """Search the workspace for ``q``, in one kind of thing (``kind``) and time (``when``)."""
    ctx = get_workspace_context(request)
    asked = _asked(request)
    context: dict[str, Any] = asked | {
        "query": asked["q"],
        "kinds": _choices(asked, "kind", {name: row[0] for name, row in search.KINDS.items()}),
        "times": _choices(asked, "when", {name: row[0] for name, row in search.TIMES.items()}),
        "old_href": _href(asked, old="" if asked["old"] else "1"),
        "all_href": _href({"q": asked["q"]}),
    }
    if asked["q"]:
        context |= _found(ctx, asked, number_in(request.GET.get("page", ""), default=1))
    part = "#found" if is_fragment(request) else ""
    return render(request, f"search/search.html{part}", context)


@require_safe
@workspace_error_page
def palette_choices(request: HttpRequest) -> HttpResponseBase:
    """Render the entries of the palette for ``q``; without words, what was used last."""
    ctx = get_workspace_context(request)
    context = {"choices": palette.choices(ctx, request.GET.get("q", ""))}
    return render(request, "search/choices.html", context)


def _asked(request: HttpRequest) -> dict[str, str]:
    """Return what is asked for; values that the page does not know are left out."""
    given = request.GET
    asked = {
        "q": given.get("q", "").replace("\0", " ").strip()[: search.QUERY_CHARS],
        "kind": given.get("kind", ""),
        "when": given.get("when", ""),
        "since": _day(given.get("since", "")),
        "until": _day(given.get("until", "")),
        "old": "1" if given.get("old") == "1" else "",
    }
    # The last letter of a word may be the last of a beginning, unless a space follows.
    if given.get("q", "").endswith(" ") and asked["q"]:
        asked["q"] += " "
    known = {"kind": search.KINDS, "when": search.TIMES}
    return asked | {name: "" for name, table in known.items() if asked[name] not in table}


def _day(text: str) -> str:
    try:
        return dt.date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return ""


def _days(asked: dict[str, str]) -> Days:
    """Return the days that are asked for; chosen days count before a named time."""
    if asked["since"] or asked["until"]:
        first, last = asked["since"], asked["until"]
        return Days(*sorted((first, last))) if first and last else Days(first, last)
    if not asked["when"]:
        return Days()
    days = search.TIMES[asked["when"]][1]
    return Days((timezone.localdate() - dt.timedelta(days=days)).isoformat())


def _found(ctx: WorkspaceContext, asked: dict[str, str], number: int) -> dict[str, Any]:
    days = _days(asked)
    found, hits = search.find(ctx, asked["q"], asked["kind"], days)
    page = Paginator(hits, A_PAGE).get_page(max(number, 1))
    context = {
        "results": found,
        "page": page,
        "rows": search.rows(ctx, found, list(page.object_list)),
        "is_cut": len(found.hits) == search.CANDIDATES,
        "newer_href": _href(asked, page=str(page.number - 1)),
        "older_href": _href(asked, page=str(page.number + 1)),
        "missing": found.missing,
        "here": _href(asked, page=str(page.number)),
    }
    if asked["old"]:
        old = search.find_versions(ctx, asked["q"], days)
        context |= {
            "old_rows": search.rows(ctx, old, old.hits[:MOST_OLD]),
            "missing": found.missing + old.missing,
        }
    return context


def _choices(
    asked: dict[str, str], name: str, labels: dict[str, str]
) -> list[tuple[str, str, bool]]:
    """Return label and address of each choice, and whether it holds now."""
    # A named time takes the place of chosen days.
    rest = asked | {"since": "", "until": ""} if name == "when" else asked
    is_free = not (name == "when" and (asked["since"] or asked["until"]))
    rows = {"": "Everything" if name == "kind" else "Any time", **labels}
    return [
        (label, _href(rest, **{name: value}), is_free and asked[name] == value)
        for value, label in rows.items()
    ]


def _href(asked: dict[str, str], **changed: str) -> str:
    return "?" + urlencode({name: text for name, text in (asked | changed).items() if text})
