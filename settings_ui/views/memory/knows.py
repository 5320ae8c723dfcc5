"""The first page of Memory: every line that Jenny knows, with one search field and the numbers of
the pipeline above."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.workspace.errors import WorkspaceError
from memory import archive, line_edits, skills
from memory import files as memory_files
from memory.archive import Archived
from memory.budgets import Gauge
from memory.facts import Fact, normal
from memory.files import MemoryFile
from memory.skills import Skill
from memory.suppression import Tombstone, tombstones
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    address,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    workspace_error_page,
)
from settings_ui.views.memory.history import Note, waiting_notes
from settings_ui.views.memory.lines import SHOWN_FACTS, Line, lines_of
from settings_ui.views.memory.pipeline import Picture, picture

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
        for path, heading in sorted(line_edits.places(mine.files), key=lambda row: _rank(row[0]))
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
