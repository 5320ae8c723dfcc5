"""``eval_memory``: stories are played in a data folder of their own, and judged by code."""

import datetime as dt
import json
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jenny.accounts.access import made_workspace
from jenny.accounts.models import Account
from jenny.chat.models import Conversation, Message
from jenny.chat.services.memory_eval.judge import Played, judge_story
from jenny.chat.services.memory_eval.stories import included, load_story
from tests.model_server import ModelServer
from tests.support.stack import environment_for, manage

STORY = """\
title: A short one
language: en
zone: Europe/Prague
days:
  2026-09-07:
    "08:00": ["Hello! My name is Mara.", "I live in Brno.", "I keep bees behind the barn."]
    "18:00": ["I work as a nurse.", "My bill is due on Thursday."]
  2026-09-09:
    "08:00":
      - Actually, I no longer live in Brno, I live in Graz.
      - Forget that I work as a nurse
  2026-09-11:
    "08:00": ["Thanks!"]
kept: {name: Mara, bees: bees}
corrected: {town: {now: Graz, old: 'user lives in Brno'}}
forgotten: {nurse: nurse}
never: {password: hunter2}
dated: {bill: {line: bill, first: 2026-09-07, last: 2026-09-10}}
questions: {"What do you know about Graz?": Graz}
"""


@pytest.fixture
def story(short_path: Path) -> Path:
    """A story in a file."""
    path = short_path / "short.yaml"
    path.write_text(STORY)
    return path


def played(data: Path, story: Path, *words: str, **environment: str) -> dict:
    """The marks of a story."""
    printed = manage(data, "eval_memory", str(story), "--json", *words, **environment)
    (marks,) = json.loads(printed.strip().splitlines()[-1])["stories"]
    return marks


def test_a_story_is_played_with_the_demo_model(short_path: Path, story: Path) -> None:
    """Facts are kept, corrected, forgotten and shown until their day, at the story's own time; the
    caller's data folder holds nothing of it."""
    data = short_path / "data"
    marks = played(data, story, "--demo")
    assert marks["model"] == "demo model"
    assert sorted(marks["kept"]) == ["bees", "name", "town"]
    for nothing in ("lost", "outdated", "forgotten_found", "wrong", "missing_dated", "failures"):
        assert marks[nothing] == [], nothing
    assert marks["wrong_answers"] == []
    assert marks["runs"]["completed"] == 2
    assert marks["usage"]["chat"]["requests"] >= marks["messages"]
    assert marks["tokens"] > 0
    assert not list(data.glob("workspaces/*"))
    assert not (data / "db.sqlite3").exists()


def test_a_model_that_keeps_nothing_is_found_out(short_path: Path, story: Path) -> None:
    """Its summaries say that there is nothing, and it answers every question with yes."""
    with ModelServer() as server:
        server.always(lambda request: not request.json.get("tools"), "(nothing)")
        server.always(lambda _: True, "Yes.")
        marks = played(short_path / "data", story, **environment_for(server.url))
    assert marks["model"] == "scripted-model"
    assert marks["kept"] == []
    assert sorted(marks["lost"]) == ["bees", "name", "town"]
    assert marks["missing_dated"] == ["bill on 2026-09-07"]
    assert marks["wrong_answers"] == ["What do you know about Graz?"]


@pytest.mark.django_db
def test_each_mistake_has_its_mark(story: Path) -> None:
    """What is invented, doubled, outdated, forgotten or forbidden is named, and nothing else."""
    workspace = made_workspace(Account.objects.make_owner("judged", "a good long password", "UTC"))
    good = "# User\n\n- Is called Mara.\n- Lives in Graz.\n- Keeps bees behind the barn.\n"
    user = workspace.root / "USER.md"
    told = Played(
        workspace,
        shown=dict.fromkeys((dt.date(2026, 9, 7), dt.date(2026, 9, 9)), "The bill is due."),
        answers={"What do you know about Graz?": "You live in Graz."},
    )
    lists = ("lost", "wrong", "outdated", "forgotten_found", "invented", "duplicates")
    user.write_text(good)
    marks = judge_story(load_story(str(story)), told, "none").as_json
    assert [marks[name] for name in lists] == [[]] * len(lists)
    assert marks["missing_dated"] == marks["wrong_answers"] == []
    chat = Conversation.objects.create(workspace=workspace)
    Message.objects.create(conversation=chat, kind=Message.Kind.USER, text="I work as a nurse.")
    marks = judge_story(load_story(str(story)), told, "none").as_json
    assert marks["forgotten_found"] == ["nurse"]
    chat.delete()
    bad = "- The user lives in Brno.\n- Works as a nurse.\n- Drives 17 purple tractors to Oslo.\n"
    user.write_text(good.replace("- Is called Mara.\n", "- Keeps bees behind the barn.\n") + bad)
    (workspace.root / "memory/MEMORY.md").write_text("# Memory\n\n- The password is hunter2.\n")
    told.shown[dt.date(2026, 9, 9)] = ""
    marks = judge_story(load_story(str(story)), told, "none").as_json
    assert marks["lost"] == ["name"]
    assert marks["wrong"] == ["password"]
    assert marks["outdated"] == ["town"]
    assert marks["forgotten_found"] == ["nurse"]
    assert "Drives 17 purple tractors to Oslo." in marks["invented"]
    assert marks["duplicates"] == ["Keeps bees behind the barn."]
    assert marks["missing_dated"] == ["bill on 2026-09-09"]


@pytest.mark.parametrize("name", included())
def test_the_included_stories_say_what_they_ask_for(name: str) -> None:
    """Each has 60 to 120 messages, and every mark of it stands in what is said."""
    story = load_story(name)
    said = "\n".join(story.messages)
    assert 60 <= len(story.messages) <= 120
    patterns = [*story.kept.values(), *story.forgotten.values(), *story.skills.values()]
    patterns += [row.now for row in story.corrected.values()]
    patterns += [row.line for row in story.dated.values()]
    patterns += story.questions.values()
    for pattern in patterns:
        assert re.search(pattern, said, re.IGNORECASE), pattern
    assert len(story.corrected) >= 4
    assert len(story.dated) >= 3
    assert story.never
    assert all(row.first < row.last for row in story.dated.values())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title: x\n", "days"),
        (STORY.replace("name: Mara", "name: '('"), "no regular expression"),
        ("{", "cannot be read"),
    ],
)
def test_a_story_that_cannot_be_read_is_refused(short_path: Path, text: str, why: str) -> None:
    """With a sentence that says what is wrong with it; nothing is played."""
    path = short_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(CommandError, match=why):
        call_command("eval_memory", str(path))
    with pytest.raises(CommandError, match="Included are"):
        call_command("eval_memory", "nowhere")
