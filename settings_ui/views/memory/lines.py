"""A memory file line by line: its pins, and where each line comes from."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.workspace import acts
from jenny.workspace.errors import FileMissing
from memory import budgets, pins
from memory import files as memory_files
from memory.errors import NoSuchLine, NotPinned
from memory.facts import Fact, decoded, digest, facts
from memory.management import origins
from memory.management.why import HOW, WHO, why
from memory.models import LineOrigin
from settings_ui.pipeline.runs import run_number
from settings_ui.views.files.frame import address as file_address
from settings_ui.views.memory.frame import (
    Desk,
    address,
    answered_anew,
    desk,
    frame,
    is_fragment,
    number_in,
    told,
)

# A file that somebody made very long is shown up to here; the file browser has all of it.
MOST_FACTS = 1_000
_LARGEST = 4_000_000
_ASKED_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Origin:
    """The newest write of a line. *run*: the number of the Dream run that it was part of."""

    who: str
    how: str
    at: datetime
    run: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """What stands on a line or several. *key*: the digest by which a form names it."""

    fact: Fact
    key: str
    is_pinned: bool
    origin: Origin | None

    @property
    def title(self) -> str:
        """A heading without its marks."""
        return self.fact.text.strip().strip("#").strip()


@require_safe
@told
def page(request: HttpRequest, path: str) -> HttpResponseBase:
    """The file. ``line`` asks where that one comes from, in full."""
    mine = desk(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    file = _file(path)
    asked = number_in(request.GET.get("line", ""))
    context = {"path": path, "asked": asked, "why": _why(mine, path, asked) if asked else None}
    if is_fragment(request) and asked:
        return render(request, "memory/file.html#why", context)
    found, is_cut, is_there = _facts(mine, path)
    held = {row.line for row in pins.pins(mine.files.root, path)}
    context |= frame(mine, f"file:{path}") | {
        "file": file,
        "gauge": next((row for row in budgets.gauge(mine.files.root) if row.file == file), None),
        "lines": _lines(mine.row, found, held),
        "is_whole_pinned": 0 in held,
        "is_cut": is_cut,
        "is_there": is_there,
        "has_content": any(fact.has_content for fact in found),
        "links": {name: file_address(path, page) for name, page in _PAGES.items()},
    }
    return render(request, "memory/file.html", context)


@require_POST
@told
def pin(request: HttpRequest, path: str) -> HttpResponseBase:
    """Pin a line, or take its pin off. The form says which by what it says (``key``), so that a
    line which moved meanwhile is still the one that is meant."""
    mine = desk(request)
    _file(path)
    root = mine.files.root
    key, is_on = request.POST.get("key", ""), request.POST.get("pin") == "on"
    try:
        with acts.locked(root):
            line = 0 if key == "file" else _line_of(mine, path, key)
            (pins.pin if is_on else pins.unpin)(root, path, line, mine.files.actor)
    except NotPinned as error:
        messages.info(request, f"Nothing was changed. {error.sentence}")
        return redirect(address(path))
    what = "The whole file" if not line else "The line"
    if is_on:
        messages.success(request, f"{what} is pinned: Dream leaves it word for word as it is.")
    else:
        messages.success(request, f"{what} is pinned no more: Dream may change it.")
    return redirect(address(path, line))


_PAGES = {"open": "workspace", "edit": "files/edit", "history": "files/history"}


def _file(path: str) -> memory_files.MemoryFile | None:
    """The memory file of that path; ``None`` for a skill's.

    :raises Http404: it is neither.
    """
    if path in memory_files.BY_PATH:
        return memory_files.BY_PATH[path]
    if memory_files.skill_of(path) is not None:
        return None
    raise Http404


def _facts(mine: Desk, path: str) -> tuple[list[Fact], bool, bool]:
    """What the file says; whether that is not all; whether there is a file."""
    try:
        data = mine.files.read(path, limit=_LARGEST).data
    except FileMissing as error:
        if path not in memory_files.BY_PATH:
            raise Http404 from error
        return [], False, False
    found = [fact for fact in facts(decoded(data)) if fact.kind not in {"comment", "rule"}]
    return found[:MOST_FACTS], len(found) > MOST_FACTS, True


def _lines(workspace: Workspace, found: list[Fact], held: set[int | None]) -> list[Line]:
    origins.settle(workspace)
    keys = [digest(fact.text) for fact in found]
    known = _origins(workspace, list(dict.fromkeys(keys)))
    return [
        Line(fact, key, fact.first in held, known.get(key))
        for fact, key in zip(found, keys, strict=True)
    ]


def _origins(workspace: Workspace, keys: list[str]) -> dict[str, Origin]:
    """The newest write of each line, by its digest."""
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


def _line_of(mine: Desk, path: str, key: str) -> int:
    """Where the line of that digest stands now.

    :raises NotPinned: nowhere.
    """
    found, _, _ = _facts(mine, path)
    for fact in found:
        if fact.has_content and digest(fact.text) == key:
            return fact.first
    raise NotPinned("That line was changed meanwhile, or is gone.")


def _why(mine: Desk, path: str, line: int) -> dict[str, Any] | None:
    """Where a line comes from, in full; ``None``: it says nothing by now."""
    try:
        found = why(mine.row, path, line)
    except NoSuchLine:
        return None
    return {
        "why": found,
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
