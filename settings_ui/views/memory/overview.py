"""The overview of the pipeline: what to decide, newest runs, and the buttons for an update now, a
dry run and a requeue of set-aside entries."""

import zlib
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts.models import Job, Workspace
from jenny.accounts.services import jobs
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Block, Message
from jenny.chat.services import consolidation
from jenny.markdown.render import render as markdown
from jenny.workspace import config
from jenny.workspace.diffs import read_unified
from jenny.workspace.errors import PathRefused, WorkspaceError
from jenny.workspace.file_cache import StampedFiles
from memory.budgets import Gauge, gauge
from memory.dream import outcome
from memory.dream.outcome import ALARM_AT, Counters
from memory.errors import CursorBroken
from memory.files import CURSOR
from memory.history import cursors, log, reader
from memory.history.log import backlog_warning
from memory.history.reader import HistoryScan
from memory.models import DreamEntry, DreamRun
from memory.services import approvals, dream_run_store, dream_scheduler
from settings_ui import dream_pages
from settings_ui.dream_pages import Word
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)
from settings_ui.views.memory.runs import page_of_runs

_FEEDING = [name for name, kind in RUN_KINDS.items() if kind.feeds_history]
_CHARS_A_TOKEN = 4
# Long columns that no overview shows.
HEAVY = (
    "entries",
    "writes",
    "report",
    "review",
    "notes",
    "commits",
    "archived",
    "set_aside",
)

# One scan for each state of the file in this process.
_LOOKS: StampedFiles[HistoryScan] = StampedFiles((log.PATH, CURSOR), reader.read_all)


@dataclass(frozen=True, slots=True)
class Live:
    """Messages that are in no history entry yet. *tokens* is an estimate."""

    messages: int = 0
    conversations: int = 0
    tokens: int = 0
    idle_minutes: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """``look`` is the scan of the whole file; *problem* says why it cannot be read."""

    look: HistoryScan = field(default_factory=HistoryScan)
    again: int = 0
    aside: int = 0
    problem: str = ""

    @property
    def skipped(self) -> int:
        return len(self.look.skipped)

    @property
    def warning(self) -> str:
        """Return a warning about a long backlog, or an empty string."""
        return backlog_warning(self.look.waiting)


@dataclass(frozen=True, slots=True)
class Dream:
    """The last run, the next run, and problems."""

    state: Word
    live: DreamRun | None = None
    last: DreamRun | None = None
    next_at: datetime | None = None
    counted: Counters = field(default_factory=Counters)
    waiting: int = 0
    is_dead: bool = False

    @property
    def is_live(self) -> bool:
        return self.live is not None

    @property
    def trouble(self) -> str:
        """Return why the last run failed; empty when it succeeded or another one runs."""
        in_trouble = self.state.tone in {"warn", "bad"} and not self.is_live and not self.waiting
        return self.last.why if in_trouble and self.last else ""

    @property
    def last_word(self) -> Word | None:
        if self.last is None:
            return None
        return dream_pages.status(self.last.status, still_waits=bool(self.waiting))


@dataclass(frozen=True, slots=True)
class Picture:
    live: Live
    history: History
    dream: Dream
    gauges: tuple[Gauge, ...]

    @property
    def stamp(self) -> str:
        """A value that changes with the numbers, so that a page with this one need not be
        rendered again."""
        run, last = self.dream.live, self.dream.last
        facts: list[Any] = [
            self.live,
            self.history,
            (run.pk, run.state, run.snapshot, run.cursor_from) if run else None,
            last.pk if last else None,
            (self.dream.state, self.dream.next_at, self.dream.counted, self.dream.waiting),
            [(row.chars, row.budget) for row in self.gauges],
        ]
        return f"{zlib.crc32(repr(facts).encode()):x}"


def picture(workspace: Workspace) -> Picture:
    """Return the state of the pipeline now.

    Raises:
        WorkspaceError: the settings cannot be read.
    """
    return Picture(_live(workspace), _history(workspace), _dream(workspace), gauge(workspace.root))


def _live(workspace: Workspace) -> Live:
    minutes = config.load_config(workspace.root).agents.defaults.idle_compact_after_minutes
    said = Message.objects.filter(
        conversation__workspace=workspace,
        conversation__deleted_at=None,
        conversation__kind__in=_FEEDING,
        is_current=True,
        kind__in=(Message.Kind.USER, Message.Kind.ANSWER),
        pk__gt=F("conversation__summarised_through"),
    )
    found = said.aggregate(
        messages=Count("pk"),
        chats=Count("conversation", distinct=True),
        chars=Sum(Length("text")),
    )
    answered = Block.objects.filter(
        kind=Block.Kind.TEXT,
        message__conversation__workspace=workspace,
        message__conversation__deleted_at=None,
        message__conversation__kind__in=_FEEDING,
        message__is_current=True,
        message__pk__gt=F("message__conversation__summarised_through"),
    ).aggregate(chars=Sum(Length("text")))
    chars = (found["chars"] or 0) + (answered["chars"] or 0)
    return Live(found["messages"], found["chats"], -(-chars // _CHARS_A_TOKEN), minutes)


def _history(workspace: Workspace) -> History:
    places = DreamEntry.objects.filter(workspace=workspace).values_list("place")
    counts = dict(places.annotate(number=Count("pk")).order_by())
    again = counts.get(DreamEntry.Place.REOFFERED, 0)
    aside = counts.get(DreamEntry.Place.SET_ASIDE, 0)
    root: Path = workspace.root
    try:
        look = _LOOKS.read(root)
    except PathRefused as error:
        return History(again=again, aside=aside, problem=error.message)
    try:
        cursors.dream_cursor(root)
    except CursorBroken as error:
        return History(look, again, aside, error.message)
    return History(look, again, aside)


def _dream(workspace: Workspace) -> Dream:
    runs = DreamRun.objects.filter(workspace=workspace).defer(*HEAVY).order_by("-pk")
    newest = list(runs[:2])
    live = next((run for run in newest if run.state != DreamRun.State.ENDED), None)
    last = next((run for run in newest if run.state == DreamRun.State.ENDED), None)
    counted = outcome.load_counters(workspace.root)
    is_dead = live is not None and DreamRun.dead().filter(pk=live.pk).exists()
    waiting = approvals.count(workspace)
    return Dream(
        state=_state(live, last, counted, waiting=waiting, is_dead=is_dead),
        live=live,
        last=last,
        next_at=dream_scheduler.load_next_deadline(workspace, timezone.now()),
        counted=counted,
        waiting=waiting,
        is_dead=is_dead,
    )


def _state(
    live: DreamRun | None,
    last: DreamRun | None,
    counted: Counters,
    *,
    waiting: int,
    is_dead: bool,
) -> Word:
    """Choose the word for Dream's state: activity first, then problems."""
    if is_dead:
        return Word("No longer answers", "bad")
    if live is not None:
        return dream_pages.status(live.state)
    if last is not None and last.status == "held":
        return Word(f"Memory nearly full, {counted.stuck_runs} of {ALARM_AT}", "warn")
    for start, count in (("Stuck", counted.stuck_runs), ("Failing", counted.failures)):
        if count:
            runs = "1 update" if count == 1 else f"{count} updates"
            return Word(f"{start} for {runs}", "bad" if count >= ALARM_AT else "warn")
    return Word("Changes to review", "warn") if waiting else Word("Nothing to do")


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
    asked = dream_scheduler.start_run(mine.row, "manual")
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
    count = dream_run_store.requeue_entries(mine.row, named) if named else 0
    if count:
        what = "1 note" if count == 1 else f"{count:,} notes"
        messages.success(request, f"{what} will be tried again with the next update.")
    else:
        messages.info(request, "Nothing was changed: these will be tried again already.")
    return redirect("memory_overview")


def _context(mine: WorkspaceContext) -> dict[str, object]:
    runs, older = page_of_runs(mine.row, most=NEWEST)
    aside, more = _set_aside(mine.row)
    return {
        "runs": runs,
        "older": older,
        "aside": aside,
        "more_aside": more,
        "prunes": approvals.large_prunes(mine.row),
        "rehearsed": newest_dry_run(mine.row),
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
        excerpt = dream_pages.excerpt(entry.content) if entry else ""
        aside.append(Aside(row.cursor, row.why, row.changed_at, excerpt))
    return aside, max(0, found.count() - len(shown))


# The dry run pages: what the next Dream run would be shown, cost and change.


KIND = "rehearse"
# htmx stops polling at this status.
_STOP_POLLING = 286
_LARGEST = 2**62


def newest_dry_run(workspace: Workspace) -> Job | None:
    """Return the last dry run without its result."""
    return (
        Job.objects.filter(workspace=workspace, kind=KIND).defer("result").order_by("-pk").first()
    )


@require_POST
@workspace_error_page
def begin_dry_run(request: HttpRequest) -> HttpResponseBase:
    """Start a dry run, or redirect to the one under way."""
    mine = get_workspace_context(request)
    job = jobs.begin_job(mine.row, mine.account, KIND, {})
    return redirect("memory_rehearsal", job.pk)


@require_safe
@workspace_error_page
def dry_run_page(request: HttpRequest, job_id: int) -> HttpResponseBase:
    """Show the progress or the result of a dry run. The page polls while it runs."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    rows = Job.objects.filter(workspace=mine.row, kind=KIND, pk=min(job_id, _LARGEST))
    job = rows.first()
    if job is None:
        raise Http404
    if not is_fragment(request):
        context = base_context(mine, "overview") | _dry_run_context(job)
        return render(request, "memory/dry_run.html", context)
    if request.GET.get("seen") == _stamp(job):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/dry_run.html#fragment", _dry_run_context(job))
    if not job.is_open:
        answer.status_code = _STOP_POLLING
    return answer


def _dry_run_context(job: Job) -> dict[str, Any]:
    context: dict[str, Any] = {"job": job, "stamp": _stamp(job)}
    found = job.result
    if job.is_open or "entries" not in found:
        return context | {"message": markdown(job.message)}
    return context | {
        "message": markdown(job.message),
        "found": found,
        "word": dream_pages.status(str(found.get("status", ""))),
        "review": markdown(str(found.get("review", ""))),
        "notes": [markdown(str(note)) for note in found.get("notes", ())],
        "estimates": [markdown(str(one)) for one in found.get("estimate", {}).get("sentences", ())],
        "entries": [_entry(row) for row in found["entries"]],
        "diffs": [
            {"path": path, "difference": read_unified(str(text))}
            for path, text in found.get("diffs", {}).items()
        ],
    }


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "cursor": row.get("cursor"),
        "excerpt": dream_pages.excerpt(str(row.get("text", ""))),
        "reason": row.get("reason", ""),
        "word": dream_pages.verdict(row["verdict"]) if row.get("verdict") else None,
    }


def _stamp(job: Job) -> str:
    """Return a value that changes with the shown progress of a dry run."""
    return f"{job.state}-{job.step}-{job.doing}"
