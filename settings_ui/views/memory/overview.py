"""The overview of the pipeline: what to decide, newest runs, and the buttons for an update now, a
dry run and a requeue of set-aside entries."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.chat.services import consolidation
from jenny.workspace.errors import WorkspaceError
from memory.history import reader
from memory.models import DreamEntry
from memory.services import approvals
from memory.services.dream import run_store, start_run
from settings_ui.dream_pages import labels
from settings_ui.views.memory import dry_run, run_rows
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)
from settings_ui.views.memory.pipeline import picture

NEWEST = 8
# Set-aside entries that are shown, and characters of each.
MOST_ASIDE = 20
# Most entries that one form may name.
_MOST_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class Aside:
    """A set-aside entry. *excerpt* is empty when the history no longer has it."""

    cursor: int
    why: str
    since: datetime
    excerpt: str


@require_safe
@workspace_error_page
def overview_page(request: HttpRequest) -> HttpResponseBase:
    """Render the overview. htmx sends ``seen`` and gets an empty answer when nothing changed."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    seen = picture(mine.row)
    if is_fragment(request):
        if request.GET.get("seen") == seen.stamp:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        return render(request, "memory/overview.html#fragment", _context(mine) | {"picture": seen})
    context = base_context(mine, "overview") | _context(mine) | {"picture": seen}
    return render(request, "memory/overview.html", context)


@require_POST
@workspace_error_page
def dream_now(request: HttpRequest) -> HttpResponseBase:
    """Update the memory: take in what was just said, then run Dream."""
    mine = get_workspace_context(request)
    asked = start_run.start_run(mine.row, "manual")
    if asked.run is not None:
        consolidation.enqueue_update(asked.run.pk)
        return redirect("memory_run", asked.run.pk)
    messages.info(request, asked.message)
    return redirect("memory_run", asked.live.pk) if asked.live else redirect("memory_overview")


@require_POST
@workspace_error_page
def offer_again(request: HttpRequest) -> HttpResponseBase:
    """Requeue set-aside entries for Dream: the named ones, or all."""
    mine = get_workspace_context(request)
    named = {number_in(text) for text in request.POST.getlist("cursor")[:_MOST_NAMED]} - {0}
    if request.POST.get("all") == "yes":
        aside = DreamEntry.objects.filter(workspace=mine.row, place=DreamEntry.Place.SET_ASIDE)
        named = set(aside.values_list("cursor", flat=True))
    count = run_store.requeue_entries(mine.row, named) if named else 0
    if count:
        what = "1 note" if count == 1 else f"{count:,} notes"
        messages.success(request, f"{what} will be tried again with the next update.")
    else:
        messages.info(request, "Nothing was changed: these will be tried again already.")
    return redirect("memory_overview")


def _context(mine: WorkspaceContext) -> dict[str, object]:
    runs, older = run_rows.page_of(mine.row, most=NEWEST)
    aside, more = _set_aside(mine.row)
    return {
        "runs": runs,
        "older": older,
        "aside": aside,
        "more_aside": more,
        "prunes": approvals.large_prunes(mine.row),
        "rehearsed": dry_run.newest(mine.row),
    }


def _set_aside(workspace: Workspace) -> tuple[list[Aside], int]:
    """Return the first set-aside entries and how many more there are."""
    found = DreamEntry.objects.filter(workspace=workspace, place=DreamEntry.Place.SET_ASIDE)
    shown = list(found.order_by("cursor")[:MOST_ASIDE])
    if not shown:
        return [], 0
    try:
        there = reader.find_by_cursor(workspace.root, [row.cursor for row in shown])
    except WorkspaceError:
        there = {}
    aside = []
    for row in shown:
        entry = there.get(row.cursor)
        excerpt = labels.excerpt(entry.content) if entry else ""
        aside.append(Aside(row.cursor, row.why, row.changed_at, excerpt))
    return aside, max(0, found.count() - len(shown))
