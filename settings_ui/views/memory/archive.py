"""The archive: what left the memory files, found again and brought back; and what was forgotten."""

import re
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from memory import archive, forgotten
from memory.archive import Archived, Event, Standing
from memory.errors import NotArchived, NotForgotten
from memory.forgotten import stones
from memory.management.why import WHO
from memory.recall import is_id
from settings_ui.pipeline.runs import run_number
from settings_ui.views.memory.frame import Desk, address, desk, frame, told

A_PAGE = 25
# So many are found by words; more words find fewer.
MOST_FOUND = 500
_WORDS_CHARS = 200
_WHOLE_ID = re.compile(r"[0-9a-f]{12,64}")


@require_safe
@told
def listing(request: HttpRequest) -> HttpResponseBase:
    """What left last, or what holds the words asked for (``q``). Forgotten texts are left out."""
    mine = desk(request)
    root = mine.files.root
    words = request.GET.get("q", "").strip()[:_WORDS_CHARS]
    if not words:
        found = archive.listing(root)
    elif is_id(words) and (by_id := archive.find(root, words)):
        found = by_id
    else:
        found = archive.search(root, words, most=MOST_FOUND)
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    state = stones.state(root)
    shown = [row for row in page.object_list if state.match(row.text) is None]
    standing = archive.standing(root, shown)
    context = frame(mine, "archive") | {
        "words": words,
        "page": page,
        "rows": [{"item": row, "there": _there(standing.get(row.id))} for row in shown],
        "hidden": len(page.object_list) - len(shown),
        "is_cut": len(found) == MOST_FOUND and bool(words),
    }
    return render(request, "memory/archive.html", context)


@require_safe
@told
def item(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """One archived text: where it stood, and each time that it left."""
    mine = desk(request)
    found = _item(mine, item_id)
    stone = forgotten.match(mine.files.root, found.text)
    context = frame(mine, "archive") | {
        "item": found,
        "events": [_event(event) for event in reversed(found.events)],
        "stone": stone,
        "there": _there(archive.standing(mine.files.root, [found]).get(found.id)),
    }
    return render(request, "memory/archived.html", context)


@require_POST
@told
def back(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Write it to its file again; a person's asking also lifts that it was forgotten."""
    mine = desk(request)
    found = _item(mine, item_id)
    try:
        done = archive.bring_back(mine.files.root, found.id, mine.files.actor)
    except NotArchived as error:
        raise Http404 from error
    (messages.success if done.landed else messages.info)(request, done.sentence)
    return redirect(address(done.path, done.line))


@require_safe
@told
def forgotten_page(request: HttpRequest) -> HttpResponseBase:
    """What Jenny was told to forget, the newest first."""
    mine = desk(request)
    state = stones.state(mine.files.root)
    page = Paginator(state.active[::-1], A_PAGE).get_page(request.GET.get("page"))
    rows = [{"stone": row, "who": WHO.get(row.actor, row.actor)} for row in page.object_list]
    context = frame(mine, "forgotten") | {"page": page, "rows": rows, "problem": state.problem}
    return render(request, "memory/forgotten.html", context)


@require_POST
@told
def lift(request: HttpRequest, item_id: str) -> HttpResponseBase:
    """Let Jenny know something again."""
    mine = desk(request)
    root = mine.files.root
    if item_id not in {row.id for row in forgotten.tombstones(root)}:
        raise Http404
    try:
        stone = forgotten.lift(root, item_id, mine.files.actor)
    except NotForgotten as error:
        raise Http404 from error
    kept = next(iter(archive.find(root, stone.id)), None)
    more = " It is still in the archive, and can be brought back from there." if kept else ""
    messages.success(request, f"Jenny may know this again: “{_short(stone.text)}”.{more}")
    if kept is not None:
        return redirect("memory_archived", kept.id)
    return redirect("memory_forgotten")


def _item(mine: Desk, item_id: str) -> Archived:
    """The archived text of just that id.

    :raises Http404: there is none.
    """
    if _WHOLE_ID.fullmatch(item_id):
        for row in archive.find(mine.files.root, item_id):
            if row.id == item_id:
                return row
    raise Http404


def _there(standing: Standing | None) -> dict[str, Any] | None:
    """Where a text stands again, with its address."""
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
        "run": run_number(event.run),
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:80]}…"  # noqa: PLR2004 - characters of a line
