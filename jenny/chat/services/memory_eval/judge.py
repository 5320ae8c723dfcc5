"""Plays a story, and judges what it left in the memory: by its patterns and by general rules."""

import contextlib
import datetime as dt
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any
from zoneinfo import ZoneInfo

import time_machine
from django.db import connection
from django.db.backends.signals import connection_created

from jenny.accounts.access import made_workspace
from jenny.accounts.models import Account, UsageDay, Workspace
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Conversation, Turn
from jenny.chat.prompt import build
from jenny.chat.services import consolidation
from jenny.chat.services.memory_eval.stories import Pattern, Story
from jenny.chat.services.search import search_all
from jenny.chat.services.send_message import accept_message
from jenny.chat.services.turns import run_turn
from jenny.workspace import seed
from jenny.workspace.content import read_text
from memory import facts, files, skills, text_similarity
from memory.fact_words import WordSet, share, words_of
from memory.recall import format_plain, recall
from memory.services import dream_runs, dream_scheduler

# Plays a story through the product's own services, at the story's own time.
#
# Turns, summaries and Dream run in this process, one after the other, in a data folder of their
# own. The clock of the process and that of the database are moved from one conversation to the
# next.


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
        asked = dream_scheduler.start_run(played.workspace, "scheduled")
        run = dream_runs.execute_run(asked.run.pk) if asked.run else None
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


# A line with fewer of its words than this in what was said is taken for invented.
_SAID_SHARE = 0.5


@dataclass(slots=True)
class Marks:
    """The figures of one story; each list holds the names of the story, or the lines themselves.

    *lost*: neither in a prompt nor asked back (see *archived*: `recall` finds it). *missing_dated*:
    not shown before its day. *tokens* and *cost* count every request, by kind of run.
    """

    story: str
    model: str
    messages: int
    expected: int = 0
    kept: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    forgotten_found: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    missing_dated: list[str] = field(default_factory=list)
    missing_skills: list[str] = field(default_factory=list)
    wrong_answers: list[str] = field(default_factory=list)
    questions: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    tokens: int = 0
    cost: str = "0"
    unpriced_tokens: int = 0

    @property
    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        rows = [
            f"{self.story}, {self.messages} messages, {self.model}",
            f"  kept             {len(self.kept)} of {self.expected}",
        ]
        for name, found in _lists(self):
            shown = "; ".join(found[:_NAMED]) + (" …" if found[_NAMED:] else "")
            rows.append(f"  {name:<16} {len(found)}{f'  ({shown})' if found else ''}")
        right = self.questions - len(self.wrong_answers)
        rows.append(f"  right answers    {right} of {self.questions}")
        outcomes = ", ".join(f"{count} {status}" for status, count in self.runs.items())
        rows.append(f"  Dream            {outcomes}")
        for kind, counts in self.usage.items():
            rows.append(
                f"  {kind:<16} {counts['requests']:,} requests, {counts['input']:,} tokens in, "
                f"{counts['output']:,} out"
            )
        unpriced = f"; {self.unpriced_tokens:,} tokens without a price" * bool(self.unpriced_tokens)
        rows.append(f"  in all           {self.tokens:,} tokens, cost {self.cost}{unpriced}")
        return "\n".join(rows)


_NAMED = 6


def judge_story(story: Story, played: Played, model: str) -> Marks:
    workspace = played.workspace
    marks = Marks(story.title, model, len(story.messages), failures=played.failures)
    for status in played.runs:
        marks.runs[status] = marks.runs.get(status, 0) + 1
    known, written = known_text(workspace), list(_written(workspace))
    everything = "\n".join([known, *(text for _, text in written)])
    wanted = story.kept | {name: row.now for name, row in story.corrected.items()}
    marks.expected = len(wanted)
    for name, pattern in wanted.items():
        if _has(pattern, known):
            marks.kept.append(name)
        elif _has(pattern, _recalled(workspace, pattern)):
            marks.archived.append(name)
        else:
            marks.lost.append(name)
    in_files = "\n".join(text for _, text in written)
    marks.outdated = [name for name, row in story.corrected.items() if _has(row.old, in_files)]
    marks.wrong = [name for name, pattern in story.never.items() if _has(pattern, everything)]
    marks.forgotten_found = [
        words
        for words, pattern in story.forgotten.items()
        if _has(pattern, everything)
        or _has(pattern, format_plain(recall(workspace.root, words, search_all(workspace))))
    ]
    marks.invented = list(_invented(written, story.messages))
    marks.duplicates = list(_duplicates(written))
    marks.missing_dated = list(_missing_dated(story, played))
    skill_text = "\n".join(text for path, text in written if path not in files.BY_PATH)
    marks.missing_skills = [name for name, row in story.skills.items() if not _has(row, skill_text)]
    marks.questions = len(story.questions)
    marks.wrong_answers = [
        question
        for question, pattern in story.questions.items()
        if not _has(pattern, played.answers.get(question, ""))
    ]
    _count_usage(workspace, marks)
    return marks


def _lists(marks: Marks) -> Iterator[tuple[str, list[str]]]:
    yield "only archived", marks.archived
    yield "lost", marks.lost
    yield "wrong", marks.wrong
    yield "outdated", marks.outdated
    yield "forgotten, found", marks.forgotten_found
    yield "invented", marks.invented
    yield "duplicates", marks.duplicates
    yield "dated, missing", marks.missing_dated
    yield "skills, missing", marks.missing_skills
    yield "wrong answers", marks.wrong_answers
    yield "failures", marks.failures


def _has(pattern: Pattern, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _written(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the memory files and the skills as they are, without what the templates say."""
    for path in files.BY_PATH:
        found = read_text(workspace.root, path)
        default = seed.template_lines(path)
        lines = seed.strip_template_comments(found.text).splitlines()
        yield path, "\n".join(line for line in lines if line.strip() not in default)
    for skill in skills.all_skills(workspace.root):
        if not skill.ships:
            yield skill.path, read_text(workspace.root, skill.path).text


def _recalled(workspace: Workspace, pattern: Pattern) -> str:
    """Return what `recall` finds by each longer word of a pattern."""
    words = dict.fromkeys(re.findall(r"\w{4,}", pattern))
    return "\n".join(format_plain(recall(workspace.root, word)) for word in words)


def _stated(written: Iterable[tuple[str, str]]) -> list[str]:
    return [
        fact.text
        for path, text in written
        if path in files.BY_PATH
        for fact in facts.facts(text)
        if fact.has_content and fact.kind != "comment"
    ]


def _invented(written: Iterable[tuple[str, str]], messages: Iterable[str]) -> Iterator[str]:
    """Yield lines with words or numbers that nobody said."""
    said = [words_of(text) for text in messages]
    words = WordSet(word for row in said for word in row.all)
    numbers = {number for row in said for number in row.numbers}
    for line in _stated(written):
        found = words_of(line)
        if share(found.all, words) < _SAID_SHARE or not found.numbers <= numbers | _DAYS:
            yield line


# A date may be worked out of "on Friday", so its day and year need not have been said.
_DAYS = frozenset(map(str, (*range(1, 32), *range(2020, 2031))))


def _duplicates(written: Iterable[tuple[str, str]]) -> Iterator[str]:
    lines = _stated(written)
    for first, second in combinations(lines, 2):
        if text_similarity.is_near(first, second):
            yield first


def _missing_dated(story: Story, played: Played) -> Iterator[str]:
    for name, row in story.dated.items():
        days = [day for day in played.shown if row.first <= day < row.last]
        missing = [day for day in days if not _has(row.line, played.shown[day])]
        if missing:
            yield f"{name} on {missing[0]}"


def _count_usage(workspace: Workspace, marks: Marks) -> None:
    rows = UsageDay.objects.filter(account=workspace.owner)
    cost = sum((row.cost for row in rows), start=0)
    totals: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = totals.setdefault(row.kind, {"requests": 0, "input": 0, "output": 0})
        counts["requests"] += row.requests
        counts["input"] += row.input_tokens + row.cache_read_tokens + row.cache_write_tokens
        counts["output"] += row.output_tokens
        marks.unpriced_tokens += row.unpriced_tokens
    marks.usage = dict(sorted(totals.items()))
    marks.tokens = sum(counts["input"] + counts["output"] for counts in totals.values())
    marks.cost = f"{cost:.4f}"
