"""Plays a story through the product's own services, at the story's own time.

Turns, summaries and Dream run in this process, one after the other, in a data folder of their own.
The clock of the process and that of the database are moved from one conversation to the next.
"""

import contextlib
import datetime as dt
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import time_machine
from django.db import connection
from django.db.backends.signals import connection_created

from jenny.accounts.access import made_workspace
from jenny.accounts.models import Account, Workspace
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Conversation, Turn
from jenny.chat.prompt import build
from jenny.chat.services import consolidation
from jenny.chat.services.memory_eval.stories import Story
from jenny.chat.services.send_message import accept_message
from jenny.chat.services.turns import run_turn
from memory.services.dream import runs, start_run

type Say = Callable[[str], None]

# The blocks of a chat's prompt that hold what is known.
KNOWN = frozenset(
    {"soul", "user", "memory", "always_skills", "skills", "coming_up", "pending", "stored"}
)
# A conversation rests so long before it is summarised, and Dream comes at the end of the day.
_REST = dt.timedelta(minutes=30)
_PAUSE = dt.timedelta(minutes=1)
_DREAM_AT = dt.time(23, 0)
# Dream may need several runs to read a long day.
_MOST_RUNS = 5
_READ_ON = frozenset({"completed", "nothing_new", "partly_written"})


@dataclass(slots=True)
class Played:
    """The result of a story.

    *shown*: the memory that a new chat is shown, at the end of each day. *answers*: by question.
    *runs*: the outcomes of Dream. *failures*: turns and summaries that did not end well.
    """

    workspace: Workspace
    shown: dict[dt.date, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def play_story(story: Story, say: Say) -> Played:
    person = Account.objects.make_owner("story", secrets.token_urlsafe(16), story.zone)
    played = Played(made_workspace(person))
    zone = ZoneInfo(story.zone)
    with _moved_clock() as clock:
        for day, chats in sorted(story.days.items()):
            for time, said in sorted(chats.items()):
                clock.move_to(dt.datetime.combine(day, dt.time.fromisoformat(time), zone))
                _talk(played, said, clock)
            clock.move_to(dt.datetime.combine(day, _DREAM_AT, zone))
            _dream(played)
            played.shown[day] = known_text(played.workspace)
            say(f"{day}: {sum(map(len, chats.values()))} messages, Dream {played.runs[-1]}")
        for question in story.questions:
            clock.shift(_REST)
            played.answers[question] = _talk(played, [question], clock, rests=False)
    return played


def known_text(workspace: Workspace) -> str:
    """Return what a new conversation is shown of the memory."""
    prompt = build(
        "personal",
        workspace.root,
        tool_names=RUN_KINDS["personal"].tools,
        zone=workspace.owner.time_zone,
    )
    return "\n\n".join(block.text for block in prompt.blocks if block.name in KNOWN)


def _talk(
    played: Played, said: list[str], clock: time_machine.Traveller, *, rests: bool = True
) -> str:
    """Have a conversation, and let it rest until it is summarised; the last answer."""
    chat = Conversation.objects.create(workspace=played.workspace)
    answer = ""
    for text in said:
        accepted = accept_message(chat, text, start=lambda _turn: None)
        turn = run_turn(accepted.turn.pk) if accepted.turn else None
        if turn is None or turn.state != Turn.State.DONE:
            why = turn.message if turn else "it was not taken"
            played.failures.append(f"“{text[:60]}”: {why}")
        else:
            blocks = turn.blocks.filter(kind="text").order_by("pk")
            answer = "\n\n".join(block.text for block in blocks)
        clock.shift(_PAUSE)
    if rests:
        clock.shift(_REST)
        chat.refresh_from_db()
        done = consolidation.run(chat, "idle")
        if done.problem:
            played.failures.append(f"Summary: {done.problem}")
    return answer


def _dream(played: Played) -> None:
    for number in range(_MOST_RUNS):
        asked = start_run.start_run(played.workspace, "scheduled")
        run = runs.execute_run(asked.run.pk) if asked.run else None
        status = run.status if run else asked.message or "not run"
        if number and status == "nothing_pending":
            return
        played.runs.append(status)
        if status not in _READ_ON:
            return


@contextlib.contextmanager
def _moved_clock() -> Iterator[time_machine.Traveller]:
    """Move the clock of this process, and that of SQLite, which does not ask the process."""
    connection_created.connect(_move_database_clock)
    connection.close()
    try:
        with time_machine.travel(dt.datetime.now(dt.UTC)) as traveller:
            yield traveller
    finally:
        connection_created.disconnect(_move_database_clock)


def _move_database_clock(connection: object, **_signal: object) -> None:
    raw = getattr(connection, "connection", None)
    if isinstance(raw, sqlite3.Connection):
        raw.create_function("strftime", 2, _strftime)


def _strftime(form: str, _now: str) -> str:
    """SQLite's function of that name, for the present moment."""
    now = dt.datetime.now(dt.UTC)
    return now.strftime(form.replace("%f", f"%S.{now.microsecond // 1000:03d}"))
