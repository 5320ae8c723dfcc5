"""Lines of memory files with pins and origins, and the page of one file line by line."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.chat.entry_views import view
from jenny.workspace import transactions
from memory import budgets, line_edits, pins
from memory import files as memory_files
from memory.errors import NoSuchLine, NotPinned
from memory.facts import Fact, digests
from memory.line_edits import LineRef, line_ref, parse_line_ref
from memory.models import LineOrigin
from memory.services import origins
from memory.services.why import HOW, WHO, why
from settings_ui.browsing import folders
from settings_ui.dream_pages.runs import run_number
from settings_ui.views.files.base_context import address as file_address
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    address,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)

SHOWN_FACTS = 100
_ASKED_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Origin:
    """The newest write of a line. *run* is the number of the Dream run that made it."""

    who: str
    how: str
    at: datetime
    run: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line on a page, with its place in a form (``ref``)."""

    path: str
    fact: Fact
    is_pinned: bool
    origin: Origin | None

    @property
    def ref(self) -> LineRef:
        return line_ref(self.path, self.fact)

    @property
    def title(self) -> str:
        return self.fact.text.strip().strip("#").strip()


@require_safe
@workspace_error_page
def lines_page(request: HttpRequest, path: str) -> HttpResponseBase:
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    file = _file(path)
    named = request.GET.get("why", "")
    asked = _line_named(mine, path, named) if named else number_in(request.GET.get("line", ""))
    context = {"path": path, "asked": asked, "why": _why(mine, path, asked) if asked else None}
    if is_fragment(request) and (named or asked):
        return render(request, "memory/why.html", context)
    if named and not asked:
        messages.info(request, "That line was changed meanwhile. This is how the file is now.")
    every, is_there = _facts(mine, path)
    start = _start(every, asked or number_in(request.GET.get("from", "")))
    found = every[start : start + SHOWN_FACTS]
    context |= base_context(mine, f"file:{path}") | {
        "file": file,
        "purpose": folders.PURPOSES.get(path, ""),
        "gauge": next((row for row in budgets.gauge(mine.files.root) if row.file == file), None),
        "lines": lines_of(mine, {path: found}),
        "is_whole_pinned": any(row.is_whole for row in pins.pins(mine.files.root, path)),
        "parts": _parts(every, start),
        "is_there": is_there,
        "has_content": any(fact.has_content for fact in every),
        "links": {name: file_address(path, page) for name, page in _PAGES.items()},
        "back": f"{path}?from={every[start].first}" if start else path,
    }
    return render(request, "memory/file.html", context)


@require_POST
@workspace_error_page
def pin_file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Pin or unpin a whole file."""
    mine = get_workspace_context(request)
    _file(path)
    root, is_on = mine.files.root, request.POST.get("pin") == "on"
    try:
        with transactions.lock_workspace(root):
            (pins.pin if is_on else pins.unpin)(root, path, 0, mine.files.actor)
    except NotPinned as error:
        messages.info(request, f"Nothing was changed. {error.message}")
        return redirect(address(path))
    if is_on:
        told_ = "The whole file is pinned: Dream leaves it word for word as it is."
    else:
        told_ = "The whole file is pinned no more: Dream may change it."
    messages.success(request, told_)
    return redirect(address(path))


def _line_named(mine: WorkspaceContext, path: str, named: str) -> int:
    """Return the number of the line that a page named; 0 when it is gone, or of another file."""
    try:
        ref = parse_line_ref(named)
        return line_edits.find_line(mine.files, ref).first if ref.path == path else 0
    except NoSuchLine:
        return 0


_PAGES = {"open": "workspace", "edit": "files/edit", "history": "files/history"}


def _file(path: str) -> memory_files.MemoryFile | None:
    """Return the memory file of that path; ``None`` for a skill's.

    Raises:
        Http404: it is neither.
    """
    if path in memory_files.BY_PATH:
        return memory_files.BY_PATH[path]
    if memory_files.skill_of(path) is not None:
        return None
    raise Http404


@dataclass(frozen=True, slots=True)
class Part:
    """A range of lines of a long file, and whether it is shown."""

    first: int
    last: int
    is_shown: bool


def _start(found: list[Fact], line: int | None) -> int:
    before = sum(fact.first < line for fact in found) if line else 0
    at = before if not line or (before < len(found) and found[before].first == line) else before - 1
    return max(at, 0) // SHOWN_FACTS * SHOWN_FACTS


def _parts(found: list[Fact], start: int) -> list[Part]:
    """Split a long file into parts; empty when it fits on one page."""
    if len(found) <= SHOWN_FACTS:
        return []
    return [
        Part(some[0].first, some[-1].first, number * SHOWN_FACTS == start)
        for number, some in enumerate(itertools.batched(found, SHOWN_FACTS))
    ]


def _facts(mine: WorkspaceContext, path: str) -> tuple[list[Fact], bool]:
    found = line_edits.current_facts(mine.files, path)
    if found is None and path not in memory_files.BY_PATH:
        raise Http404
    return found or [], found is not None


def lines_of(mine: WorkspaceContext, found: Mapping[str, Sequence[Fact]]) -> list[Line]:
    """Return facts of files, by path, as lines with their pins and newest writes."""
    origins.save_origins(mine.row)
    keys = {one for facts in found.values() for fact in facts for one in digests(fact.text)}
    known = _origins(mine.row, sorted(keys))
    pinned = {(row.path, row.line) for row in pins.pins(mine.files.root)}
    return [
        Line(
            path,
            fact,
            (path, fact.first) in pinned,
            next((known[one] for one in digests(fact.text) if one in known), None),
        )
        for path, facts in found.items()
        for fact in facts
    ]


def _origins(workspace: Workspace, keys: list[str]) -> dict[str, Origin]:
    """Return the newest write of each line, by its digest."""
    known: dict[str, Origin] = {}
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        rows = LineOrigin.objects.filter(
            workspace=workspace, digest__in=keys[start : start + _ASKED_AT_ONCE]
        ).exclude(relation="removed")
        for row in rows.order_by("at", "pk").only("digest", "actor", "relation", "at", "run"):
            who = WHO.get(row.actor, row.actor)
            how = HOW.get(row.relation, row.relation)
            known[row.digest] = Origin(who, how, row.at, run_number(row.run))
    return known


def _why(mine: WorkspaceContext, path: str, line: int) -> dict[str, Any] | None:
    """Explain where a line comes from; ``None`` when it is empty by now."""
    try:
        found = why(mine.row, path, line)
    except NoSuchLine:
        return None
    return {
        "why": found,
        "notes": [(row, view(row.entry) if row.entry else None) for row in found.entries],
        "writes": [
            {
                "row": row,
                "who": WHO.get(row.actor, row.actor),
                "how": HOW.get(row.relation, row.relation),
                "run": run_number(row.run),
            }
            for row in found.writes
        ],
    }
