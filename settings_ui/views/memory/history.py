"""The history by day: each note with what became of it."""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.accounts.models import Workspace
from jenny.chat.entry_views import EntryView, view
from jenny.workspace.errors import WorkspaceError
from memory.errors import CursorBroken
from memory.history import cursors, edited_entries, reader
from memory.history.entries import HistoryEntry
from memory.models import DreamEntry, DreamRun
from memory.suppression import hide
from settings_ui.dream_pages import labels
from settings_ui.dream_pages.labels import Word
from settings_ui.views.memory.base_context import (
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
    edited = edited_entries.cursors(workspace.root, [e for e in entries if e.cursor > read_to])
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
            kind, word = _KINDS.get(name, ""), labels.verdict(name)
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
