"""The archive pages: texts that left the memory files, and forgotten texts."""

import re
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from memory import archive, suppression
from memory.archive import Archived, Event, Standing
from memory.errors import NotArchived, NotForgotten
from memory.recall import is_id
from memory.services import lifted_facts
from memory.services.why import WHO
from memory.suppression import tombstones
from settings_ui.dream_pages.runs import run_number
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    address,
    base_context,
    get_workspace_context,
    workspace_error_page,
)

A_PAGE = 25
# Results of a search; more words find fewer.
MOST_FOUND = 500
_WORDS_CHARS = 200
_WHOLE_ID = re.compile(r"[0-9a-f]{12,64}")


@require_safe
@workspace_error_page
def listing(request: HttpRequest) -> HttpResponseBase:
    """List the last removed texts, or those with the words of ``q``. Forgotten texts are left
    out."""
    mine = get_workspace_context(request)
    root = mine.files.root
    words = request.GET.get("q", "").strip()[:_WORDS_CHARS]
    if not words:
        found = archive.removed(root)
    elif is_id(words) and (by_id := archive.find(root, words)):
        found = by_id
    else:
        found = archive.search(root, words, most=MOST_FOUND)
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    state = tombstones.state(root)
    shown = [row for row in page.object_list if state.match(row.as_fact) is None]
    standing = archive.standing(root, shown)
    context = base_context(mine, "archive") | {
        "words": words,
        "page": page,
        "rows": [{"item": row, "there": _there(standing.get(row.id))} for row in shown],
        "hidden": len(page.object_list) - len(shown),
        "is_cut": len(found) == MOST_FOUND and bool(words),
    }
    return render(request, "memory/archive.html", context)


@require_safe
@workspace_error_page
def item(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Show an archived text with its place and all its removals."""
    mine = get_workspace_context(request)
    found = _item(mine, item_id)
    stone = suppression.match(mine.files.root, found.as_fact)
    context = base_context(mine, "archive") | {
        "item": found,
        "events": [_event(event) for event in reversed(found.events)],
        "stone": stone,
        "there": _there(archive.standing(mine.files.root, [found]).get(found.id)),
    }
    return render(request, "memory/archived.html", context)


@require_POST
@workspace_error_page
def back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Write the text back to its file; a text that was forgotten is unsuppressed."""
    mine = get_workspace_context(request)
    found = _item(mine, item_id)
    try:
        done = archive.bring_back(mine.files.root, found.id, mine.files.actor)
    except NotArchived as error:
        raise Http404 from error
    (messages.success if done.landed else messages.info)(request, done.message)
    return redirect(address(done.path, done.line))


@require_safe
@workspace_error_page
def forgotten_page(request: HttpRequest) -> HttpResponseBase:
    """List what was forgotten, newest first: a ``page``, or that with the text of ``id``."""
    mine = get_workspace_context(request)
    state = tombstones.state(mine.files.root)
    wanted, number = request.GET.get("id", ""), request.GET.get("page")
    if wanted:
        before = (at for at, row in enumerate(state.active[::-1]) if row.id == wanted)
        number = str(next(before, 0) // A_PAGE + 1)
    page = Paginator(state.active[::-1], A_PAGE).get_page(number)
    rows = [{"stone": row, "who": WHO.get(row.actor, row.actor)} for row in page.object_list]
    context = base_context(mine, "forgotten") | {
        "page": page,
        "rows": rows,
        "problem": state.problem,
    }
    return render(request, "memory/forgotten.html", context)


@require_POST
@workspace_error_page
def lift(request: HttpRequest, item_id: str) -> HttpResponseBase:
    mine = get_workspace_context(request)
    root = mine.files.root
    if item_id not in {row.id for row in suppression.list_tombstones(root)}:
        raise Http404
    try:
        lifted = lifted_facts.lift(mine.row, item_id, mine.files.actor)
    except NotForgotten as error:
        raise Http404 from error
    kept = next(iter(archive.find(root, lifted.stone.id)), None)
    more = " It is still in the archive, and can be brought back from there." if kept else ""
    what = f"Jenny may know this again: “{_short(lifted.stone.text)}”."
    messages.success(request, f"{what}{more}{lifted.more}")
    if kept is not None:
        return redirect("memory_archived", kept.id)
    return redirect("memory_forgotten")


def _item(mine: WorkspaceContext, item_id: str) -> Archived:
    """Return the archived text of exactly that id.

    Raises:
        Http404: there is none.
    """
    if _WHOLE_ID.fullmatch(item_id):
        for row in archive.find(mine.files.root, item_id):
            if row.id == item_id:
                return row
    raise Http404


def _there(standing: Standing | None) -> dict[str, Any] | None:
    if standing is None:
        return None
    return {
        "path": standing.path,
        "line": standing.line,
        "href": address(standing.path, standing.line),
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "date": event.date,
        "who": WHO.get(event.actor, event.actor),
        "reason": event.reason,
        "now": event.now,
        "run": run_number(event.run),
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:80]}…"  # noqa: PLR2004 - characters of a line
