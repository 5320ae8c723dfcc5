"""Lines of memory files with pins and origins, and the page of one file line by line."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.chat.entry_views import view
from jenny.workspace import transactions
from jenny.workspace.errors import WorkspaceError
from memory import archive, budgets, line_edits, pins, skills
from memory import files as memory_files
from memory.archive import Archived
from memory.budgets import Gauge
from memory.errors import NoSuchLine, NotPinned
from memory.facts import Fact, digests, normal
from memory.files import MemoryFile
from memory.line_edits import LineRef, line_ref, parse_line_ref
from memory.models import LineOrigin
from memory.services import origins
from memory.services.why import HOW, WHO, why
from memory.skills import Skill
from memory.suppression import Tombstone, tombstones
from settings_ui import file_browser
from settings_ui.dream_pages import run_number
from settings_ui.views.files import address as file_address
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
from settings_ui.views.memory.history import Note, waiting_notes
from settings_ui.views.memory.overview import Picture, picture

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
        "purpose": file_browser.PURPOSES.get(path, ""),
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


# The first page of Memory: every line that Jenny knows, with one search field and the numbers of
# the pipeline above.


# Results of a search in the archive, and among forgotten texts.
MOST_FOUND = 20
# Notes on the page that no update has read.
MOST_NOTED = 20
_WORDS_CHARS = 200
_ORDER = ("user", "memory", "soul")
TITLES = {"user": "About you", "memory": "About your work", "soul": "How Jenny speaks"}


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A memory file on the page. *count* is the number of its lines that match the search;
    *problem* says why it cannot be read."""

    file: MemoryFile
    href: str
    gauge: Gauge | None
    sections: list[Section]
    count: int
    problem: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.file.name]

    @property
    def left_out(self) -> int:
        return max(self.count - SHOWN_FACTS, 0)


@require_safe
@workspace_error_page
def knows_page(request: HttpRequest) -> HttpResponseBase:
    """Show all lines, or what has the words of ``q``: lines, skills, archived and forgotten
    texts."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    words = request.GET.get("q", "").strip()[:_WORDS_CHARS]
    seen = picture(mine.row)
    files = _files(mine, words, seen)
    kept, dead = _left(mine, words) if words else ([], [])
    context = base_context(mine, "knows") | {
        "words": words,
        "back": f"q {words}" if words else "",
        "noted": _noted(mine, words),
        "files": files,
        "count": sum(file.count for file in files),
        "skills": _skills(mine, words),
        "archived": kept,
        "forgotten": dead,
        "places": places(mine),
        "picture": seen,
    }
    return render(request, "memory/knows.html", context)


@require_safe
@workspace_error_page
def strip(request: HttpRequest) -> HttpResponseBase:
    """Answer htmx with the numbers of the pipeline, or with nothing when they are those of
    ``seen``."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    now = picture(mine.row)
    if is_fragment(request) and request.GET.get("seen") == now.stamp:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "memory/strip.html", {"picture": now})


def places(mine: WorkspaceContext) -> list[tuple[str, str]]:
    """Return where a line can stand: the value of the choice, and its name on the page."""
    return [
        (f"{path}#{heading}", f"{TITLES[memory_files.BY_PATH[path].name]}: {heading or 'the top'}")
        for path, heading in sorted(
            line_edits.list_headings(mine.files), key=lambda row: _rank(row[0])
        )
    ]


def _rank(path: str) -> int:
    return _ORDER.index(memory_files.BY_PATH[path].name)


def _files(mine: WorkspaceContext, words: str, seen: Picture) -> list[KnownFile]:
    gauges = {row.file: row for row in seen.gauges}
    chosen: dict[str, list[Fact]] = {}
    problems: dict[str, str] = {}
    for path in sorted(memory_files.BY_PATH, key=_rank):
        every = []
        try:
            every = line_edits.current_facts(mine.files, path) or []
        except WorkspaceError as error:
            problems[path] = error.message
        chosen[path] = [fact for fact in every if fact.has_content and _has(words, fact)]
    shown = lines_of(mine, {path: found[:SHOWN_FACTS] for path, found in chosen.items()})
    return [
        KnownFile(
            memory_files.BY_PATH[path],
            address(path),
            gauges.get(memory_files.BY_PATH[path]),
            list(_sections([line for line in shown if line.path == path])),
            len(found),
            problems.get(path, ""),
        )
        for path, found in chosen.items()
    ]


def _sections(lines: Sequence[Line]) -> Iterator[Section]:
    for heading, rows in groupby(lines, lambda line: line.fact.heading):
        found = list(rows)
        # The title of the file stands above it already.
        is_title = normal(heading) == memory_files.BY_PATH[found[0].path].name
        yield Section("" if is_title else heading, found)


def _has(words: str, *texts: Fact | str) -> bool:
    """True when the texts together have every word, also as a part of one."""
    whole = normal(
        " ".join(row if isinstance(row, str) else f"{row.heading} {row.text}" for row in texts)
    )
    return all(word in whole for word in normal(words).split())


def _noted(mine: WorkspaceContext, words: str) -> list[Note]:
    """Return the newest notes that no update has read, or those of them that have the words."""
    return [
        note
        for note in waiting_notes(mine.row, MOST_NOTED)
        if _has(words, note.view.text, *(fact.text for fact in note.view.facts))
    ]


def _skills(mine: WorkspaceContext, words: str) -> list[Skill]:
    return [
        row for row in skills.listing(mine.files.root) if _has(words, row.name, row.description)
    ]


def _left(mine: WorkspaceContext, words: str) -> tuple[list[Archived], list[Tombstone]]:
    """Return archived texts, without forgotten ones, and forgotten texts."""
    state = tombstones.state(mine.files.root)
    found = archive.search(mine.files.root, words, most=10 * MOST_FOUND)
    kept = [row for row in found if state.match(row.as_fact) is None]
    dead = [row for row in state.active[::-1] if _has(words, row.text)]
    return kept[:MOST_FOUND], dead[:MOST_FOUND]
