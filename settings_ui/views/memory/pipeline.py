import zlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Block, Message
from jenny.workspace import config
from jenny.workspace.errors import PathRefused
from jenny.workspace.file_cache import StampedFiles
from memory.budgets import Gauge, gauge
from memory.dream.outcome import counters
from memory.dream.outcome.counters import ALARM_AT, Counters
from memory.errors import CursorBroken
from memory.files import CURSOR
from memory.history import cursors, log, reader
from memory.history.compaction import backlog_warning
from memory.history.reader import HistoryScan
from memory.models import DreamEntry, DreamRun
from memory.services import approvals
from memory.services.dream import scheduler
from settings_ui.dream_pages import labels
from settings_ui.dream_pages.labels import Word

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
        return labels.status(self.last.status, still_waits=bool(self.waiting))


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
    minutes = config.load_config(workspace.root).get("agents.defaults.idleCompactAfterMinutes")
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
    counted = counters.load(workspace.root)
    is_dead = live is not None and DreamRun.dead().filter(pk=live.pk).exists()
    waiting = approvals.count(workspace)
    return Dream(
        state=_state(live, last, counted, waiting=waiting, is_dead=is_dead),
        live=live,
        last=last,
        next_at=scheduler.shown(workspace, timezone.now()),
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
        return labels.status(live.state)
    if last is not None and last.status == "held":
        return Word(f"Memory nearly full, {counted.stuck_runs} of {ALARM_AT}", "warn")
    for start, count in (("Stuck", counted.stuck_runs), ("Failing", counted.failures)):
        if count:
            runs = "1 update" if count == 1 else f"{count} updates"
            return Word(f"{start} for {runs}", "bad" if count >= ALARM_AT else "warn")
    return Word("Changes to review", "warn") if waiting else Word("Nothing to do")
