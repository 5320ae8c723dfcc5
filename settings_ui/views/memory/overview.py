"""The pipeline as one picture, what waits for a person, and the newest runs; Dream now, the dry
run, and offering again what was set aside."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.workspace.errors import WorkspaceError
from memory.history import lookup
from memory.management import approving
from memory.management.dreaming import asking, book
from memory.models import DreamEntry
from memory.tasks import start
from settings_ui.views.memory import rehearsal, rows
from settings_ui.views.memory.frame import (
    Desk,
    answered_anew,
    desk,
    frame,
    is_fragment,
    number_in,
    told,
)
from settings_ui.views.memory.picture import picture

NEWEST = 8
# Set-aside entries that are shown, and characters of each.
MOST_ASIDE = 20
EXCERPT = 200
# A form names so many entries at most; nobody presses on more.
_MOST_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class Aside:
    """An entry that was given up. *excerpt*: empty when the history has it no more."""

    cursor: int
    why: str
    since: datetime
    excerpt: str


@require_safe
@told
def page(request: HttpRequest) -> HttpResponseBase:
    """The picture. Asked by htmx for what ``seen`` names, it answers that there is nothing new."""
    mine = desk(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    seen = picture(mine.row)
    if is_fragment(request):
        if request.GET.get("seen") == seen.stamp:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        return render(request, "memory/overview.html#fragment", _context(mine) | {"picture": seen})
    context = frame(mine, "overview") | _context(mine) | {"picture": seen}
    return render(request, "memory/overview.html", context)


@require_POST
@told
def dream_now(request: HttpRequest) -> HttpResponseBase:
    """Begin a run, and lead to it; the one that is under way, when there is one."""
    mine = desk(request)
    asked = asking.ask(mine.row, "manual")
    if asked.run is not None:
        start(asked.run.pk)
        return redirect("memory_run", asked.run.pk)
    messages.info(request, asked.sentence)
    return redirect("memory_run", asked.live.pk) if asked.live else redirect("memory")


@require_POST
@told
def offer_again(request: HttpRequest) -> HttpResponseBase:
    """Let Dream be shown again what it had given up: the entries named, or all of them."""
    mine = desk(request)
    named = {number_in(text) for text in request.POST.getlist("cursor")[:_MOST_NAMED]} - {0}
    if request.POST.get("all") == "yes":
        aside = DreamEntry.objects.filter(workspace=mine.row, place=DreamEntry.Place.SET_ASIDE)
        named = set(aside.values_list("cursor", flat=True))
    count = book.offer_again(mine.row, named) if named else 0
    if count:
        what = "1 entry is" if count == 1 else f"{count:,} entries are"
        messages.success(request, f"{what} offered to Dream again, with its next run.")
    else:
        messages.info(request, "Nothing was changed: none of these is set aside any more.")
    return redirect("memory")


def _context(mine: Desk) -> dict[str, object]:
    runs, older = rows.page_of(mine.row, most=NEWEST)
    aside, more = _set_aside(mine.row)
    return {
        "runs": runs,
        "older": older,
        "aside": aside,
        "more_aside": more,
        "prunes": approving.large_prunes(mine.row),
        "rehearsed": rehearsal.newest(mine.row),
    }


def _set_aside(workspace: Workspace) -> tuple[list[Aside], int]:
    """The first of what was given up, and how many more there are."""
    found = DreamEntry.objects.filter(workspace=workspace, place=DreamEntry.Place.SET_ASIDE)
    shown = list(found.order_by("cursor")[:MOST_ASIDE])
    if not shown:
        return [], 0
    try:
        there = lookup.by_cursor(workspace.root, [row.cursor for row in shown])
    except WorkspaceError:
        there = {}
    aside = []
    for row in shown:
        entry = there.get(row.cursor)
        text = " ".join(entry.content.split()) if entry else ""
        excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
        aside.append(Aside(row.cursor, row.why, row.changed_at, excerpt))
    return aside, max(0, found.count() - len(shown))
