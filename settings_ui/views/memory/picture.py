"""The pipeline with live numbers: live chat, history, Dream, files."""

import zlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.agent.runs import RUN_KINDS
from jenny.chat.models import Block, Message
from jenny.workspace import config
from jenny.workspace.errors import PathRefused
from jenny.workspace.stamped import StampedFiles
from memory.budgets import Gauge, gauge
from memory.dream.judging import counters
from memory.dream.judging.counters import ALARM_AT, Counters
from memory.errors import CursorBroken
from memory.files import CURSOR
from memory.history import cursors, log, reading
from memory.history.compaction import backlog_warning
from memory.history.reading import Look
from memory.management import approving
from memory.management.dreaming import clock
from memory.models import DreamEntry, DreamRun
from settings_ui.pipeline import wording
from settings_ui.pipeline.wording import Word

_FEEDING = [name for name, kind in RUN_KINDS.items() if kind.feeds_history]
_CHARS_A_TOKEN = 4
# Columns that are long and that no overview shows.
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

# Looked through once for each state of the file, whoever asks how often.
_LOOKS: StampedFiles[Look] = StampedFiles((log.PATH, CURSOR), reading.look)


@dataclass(frozen=True, slots=True)
class Live:
    """What was said and is in no entry of the history yet. *tokens* is an estimate."""

    messages: int = 0
    conversations: int = 0
    tokens: int = 0
    idle_minutes: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """``look``: all of the file, looked through. *problem*: why nobody can say, in a sentence."""

    look: Look = field(default_factory=Look)
    again: int = 0
    aside: int = 0
    problem: str = ""

    @property
    def skipped(self) -> int:
        """Lines that hold no entry."""
        return len(self.look.skipped)

    @property
    def warning(self) -> str:
        """What is said of a backlog that is very long; empty when it is not."""
        return backlog_warning(self.look.waiting)


@dataclass(frozen=True, slots=True)
class Dream:
    """Its last run, its next, and what is wrong with it, if anything is."""

    state: Word
    live: DreamRun | None = None
    last: DreamRun | None = None
    next_at: datetime | None = None
    counted: Counters = field(default_factory=Counters)
    waiting: int = 0
    is_dead: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a run is queued or under way."""
        return self.live is not None

    @property
    def trouble(self) -> str:
        """Why the last run did not get on; empty when it did, or another is under way."""
        in_trouble = self.state.tone in {"warn", "bad"} and not self.is_live and not self.waiting
        return self.last.why if in_trouble and self.last else ""

    @property
    def last_word(self) -> Word | None:
        """How the last run ended."""
        if self.last is None:
            return None
        return wording.status(self.last.status, still_waits=bool(self.waiting))


@dataclass(frozen=True, slots=True)
class Picture:
    """All of it."""

    live: Live
    history: History
    dream: Dream
    gauges: tuple[Gauge, ...]

    @property
    def stamp(self) -> str:
        """Other numbers, another stamp: a page that shows this one need not be drawn anew."""
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
    """The pipeline as it is now.

    :raises WorkspaceError: the workspace's settings cannot be read.
    """
    return Picture(_live(workspace), _history(workspace), _dream(workspace), gauge(workspace.root))


def _live(workspace: Workspace) -> Live:
    minutes = config.load(workspace.root).get("agents.defaults.idleCompactAfterMinutes")
    said = Message.objects.filter(
        conversation__workspace=workspace,
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
        return History(again=again, aside=aside, problem=error.sentence)
    try:
        cursors.dream_cursor(root)
    except CursorBroken as error:
        return History(look, again, aside, error.sentence)
    return History(look, again, aside)


def _dream(workspace: Workspace) -> Dream:
    runs = DreamRun.objects.filter(workspace=workspace).defer(*HEAVY).order_by("-pk")
    newest = list(runs[:2])
    live = next((run for run in newest if run.state != DreamRun.State.ENDED), None)
    last = next((run for run in newest if run.state == DreamRun.State.ENDED), None)
    counted = counters.load(workspace.root)
    is_dead = live is not None and DreamRun.dead().filter(pk=live.pk).exists()
    waiting = approving.count(workspace)
    return Dream(
        state=_state(live, last, counted, waiting=waiting, is_dead=is_dead),
        live=live,
        last=last,
        next_at=clock.shown(workspace, timezone.now()),
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
    """What is said of Dream first: what is going on, then what is wrong."""
    if is_dead:
        return Word("Seems dead", "bad")
    if live is not None:
        return wording.status(live.state)
    if last is not None and last.status == "held":
        return Word(f"Held, {counted.stuck_runs} of {ALARM_AT}", "warn")
    for start, count in (("Stuck", counted.stuck_runs), ("Failing", counted.failures)):
        if count:
            runs = "1 run" if count == 1 else f"{count} runs"
            return Word(f"{start} for {runs}", "bad" if count >= ALARM_AT else "warn")
    return Word("Waits for you", "warn") if waiting else Word("Rests")
