"""The history by day: each note with what became of it."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.chat.entry_views import EntryView, view
from jenny.workspace.errors import WorkspaceError
from memory import archive, suppression
from memory.archive import Archived, Event, Standing
from memory.errors import CursorBroken, NotArchived, NotForgotten
from memory.history import cursors, reader
from memory.history.entries import HistoryEntry
from memory.message_sources import edited_cursors
from memory.models import DreamEntry, DreamRun
from memory.recall import is_id
from memory.services import forgotten_facts
from memory.services.why import WHO
from memory.suppression import hide, tombstones
from settings_ui import dream_pages
from settings_ui.dream_pages import Word, run_number
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    address,
    base_context,
    get_workspace_context,
    workspace_error_page,
)

A_PAGE = 50
# Newest runs whose outcomes are looked up.
RUNS = 2_000
type Kind = Literal["waiting", "saved", "not_kept", ""]
FILTERS: dict[str, str] = {"waiting": "Waiting", "saved": "Saved", "not_kept": "Not kept"}
_WAITS = Word("Waits for the next update", "alive")
_AGAIN = Word("Will be tried again", "alive")
_STUCK = Word("Could not be processed", "warn")
_EDITED = Word("Not kept: you changed or deleted the message")
_KINDS: dict[str, Kind] = {
    "saved": "saved",
    "already_known": "saved",
    "not_kept": "not_kept",
    "passed_over": "not_kept",
    "waiting": "waiting",
    "unaccounted": "waiting",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the history. *run* is the update that decided on it."""

    view: EntryView
    kind: Kind
    word: Word
    reason: str = ""
    run: int | None = None

    @property
    def day(self) -> dt.date | None:
        """The day of the note in the zone that was set then; none in a damaged line."""
        try:
            return dt.date.fromisoformat(self.view.timestamp[:10])
        except ValueError:
            return None

    @property
    def time(self) -> str:
        return self.view.timestamp[11:]


@require_safe
@workspace_error_page
def history_page(request: HttpRequest) -> HttpResponseBase:
    """List the notes newest first, all or those that ``show`` names."""
    mine = get_workspace_context(request)
    wanted = request.GET.get("show", "")
    wanted = wanted if wanted in FILTERS else ""
    problem = ""
    try:
        read_to = cursors.dream_cursor(mine.files.root)
    except CursorBroken as error:
        read_to, problem = 0, error.message
    entries = reader.newest(mine.files.root, 1_000_000)[::-1]
    notes = list(list_notes(mine.row, entries, read_to))
    counts = {name: sum(note.kind == name for note in notes) for name in FILTERS}
    found = [note for note in notes if note.kind == wanted or not wanted]
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    context = base_context(mine, "history") | {
        "days": [(day, list(rows)) for day, rows in groupby(page.object_list, lambda row: row.day)],
        "page": page,
        "filters": [(name, title, counts[name]) for name, title in FILTERS.items()],
        "wanted": wanted,
        "count": len(notes),
        "problem": problem,
    }
    return render(request, "memory/history.html", context)


def waiting_notes(workspace: Workspace, most: int) -> list[Note]:
    """Return what the next update reads of the newest *most* notes, newest first, without what is
    forgotten; nothing when it is not known what was read."""
    root = workspace.root
    try:
        read_to = cursors.dream_cursor(root)
        entries = hide.without_forgotten(root, reader.newest(root, most))
    except WorkspaceError:
        return []
    return [row for row in list_notes(workspace, entries[::-1], read_to) if row.kind == "waiting"]


def list_notes(
    workspace: Workspace, entries: Iterable[HistoryEntry], read_to: int
) -> Iterator[Note]:
    places = dict(DreamEntry.objects.filter(workspace=workspace).values_list("cursor", "place"))
    outcomes = _outcomes(workspace)
    entries = list(entries)
    edited = edited_cursors(workspace.root, [e for e in entries if e.cursor > read_to])
    for entry in entries:
        run, row = outcomes.get(entry.cursor, (None, {}))
        name, reason = str(row.get("verdict", "")), str(row.get("reason", ""))
        place = places.get(entry.cursor, "")
        kind: Kind
        if place == DreamEntry.Place.SET_ASIDE:
            kind, word = "not_kept", _STUCK
        elif place == DreamEntry.Place.REOFFERED:
            kind, word, run = "waiting", _AGAIN, None
        elif entry.cursor > read_to:
            is_edited = entry.cursor in edited
            kind, word = (
                ("not_kept", _EDITED) if is_edited else ("waiting", _AGAIN if run else _WAITS)
            )
        elif name:
            kind, word = _KINDS.get(name, ""), dream_pages.verdict(name)
        else:
            kind, word = "", Word("Read")
        yield Note(view(entry), kind, word, reason, run)


def _outcomes(workspace: Workspace) -> dict[int, tuple[int, dict[str, object]]]:
    """Return what the newest update that had it made of each note."""
    rows = DreamRun.objects.filter(workspace=workspace).exclude(entries=[]).order_by("-pk")
    found: dict[int, tuple[int, dict[str, object]]] = {}
    for pk, entries in rows.values_list("pk", "entries")[:RUNS]:
        for row in entries:
            found.setdefault(row["cursor"], (pk, row))
    return found


# The archive pages: texts that left the memory files, and forgotten texts.


ARCHIVE_PAGE = 25
# Results of a search; more words find fewer.
MOST_FOUND = 500
_WORDS_CHARS = 200
_WHOLE_ID = re.compile(r"[0-9a-f]{12,64}")


@require_safe
@workspace_error_page
def archive_page(request: HttpRequest) -> HttpResponseBase:
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
    page = Paginator(found, ARCHIVE_PAGE).get_page(request.GET.get("page"))
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
    tombstone = suppression.match(mine.files.root, found.as_fact)
    context = base_context(mine, "archive") | {
        "item": found,
        "events": [_event(event) for event in reversed(found.events)],
        "tombstone": tombstone,
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
        number = str(next(before, 0) // ARCHIVE_PAGE + 1)
    page = Paginator(state.active[::-1], ARCHIVE_PAGE).get_page(number)
    rows = [{"tombstone": row, "who": WHO.get(row.actor, row.actor)} for row in page.object_list]
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
        lifted = forgotten_facts.lift(mine.row, item_id, mine.files.actor)
    except NotForgotten as error:
        raise Http404 from error
    kept = next(iter(archive.find(root, lifted.tombstone.id)), None)
    more = " It is still in the archive, and can be brought back from there." if kept else ""
    what = f"Jenny may know this again: “{_short(lifted.tombstone.text)}”."
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
