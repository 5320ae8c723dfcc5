"""An instance with a small window and a scripted summariser, for conversations on their way into
the history.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from memory.history import reader
from tests.model_server import ModelServer, Usage
from tests.support.chat import is_summary, is_title
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, environment_for, start

COUNTER = count(1)
# Tests tell requests by what was said, so no line of another conversation is put behind it.
SETTINGS = {
    "contextWindowTokens": 16_000,
    "maxTokens": 1_000,
    "maxMessages": 10,
    "relatedLines": False,
}
# More than 16,000 - 1,000 - 1,024.
FULL = Usage(14_000)
FACT = "- [durable] The user keeps {} bees."


@dataclass
class Place:
    """An instance with a small window, its model, and its owner."""

    stack: Stack
    model: ModelServer
    owner: Client

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return next(iter(self.stack.data.workspaces.iterdir()))

    def entries(self, chat: str) -> list:
        """What the history holds of the conversation, oldest first."""
        return [one for one in reader.newest(self.root, 1_000) if one.conversation == chat]

    def summaries(self, words: str) -> list:
        """The requests for a summary of a conversation in which somebody said *words*."""
        return [
            request
            for request in list(self.model.requests)
            if is_summary(request) and any(words in text for text in request.texts("user"))
        ]

    def talk(
        self, words: str, turns: int, *last: object, begin: Callable[[str], str] | None = None
    ) -> str:
        """A conversation of so many turns; the model's *last* acts come before its last words."""
        chat = ""
        for number in range(1, turns + 1):
            said = f"{words} turn {number}"
            acts = [*(last if number == turns else ()), f"answer {number} of {words}"]
            self.model.script(*acts, when=answers(said))
            chat = chat or (begin or self.owner.begin)(said)
            if number > 1:
                self.owner.send(chat, said)
            self.owner.answer(chat)
        return chat

    def database(self) -> sqlite3.Connection:
        """Its database; closed by who asked for it."""
        connection = sqlite3.connect(
            self.stack.data.root / "db.sqlite3", timeout=20, isolation_level=None
        )
        connection.execute("pragma busy_timeout = 20000")
        return connection

    def column(self, chat: str, name: str) -> int:
        """A number in the conversation's row."""
        with closing(self.database()) as database:
            query = f"select {name} from chat_conversation where id = ?"  # noqa: S608 - ours
            return database.execute(query, [chat.replace("-", "")]).fetchone()[0]

    def change(self, chat: str, assignment: str) -> None:
        """Change the conversation's row."""
        with closing(self.database()) as database:
            statement = f"update chat_conversation set {assignment} where id = ?"  # noqa: S608
            assert database.execute(statement, [chat.replace("-", "")]).rowcount == 1

    def held(self, chat: str) -> bool:
        """Whether somebody is summarising it."""
        with closing(self.database()) as database:
            query = "select consolidator from chat_conversation where id = ?"
            return bool(database.execute(query, [chat.replace("-", "")]).fetchone()[0])

    def idle(self, chat: str) -> None:
        """Let the idle time of the conversation be over, and the sweep look."""
        past = "'2020-01-01 00:00:00'"
        self.change(chat, f"active_at = {past}, consolidate_after = {past}")
        self.sweep()

    def sweep(self) -> None:
        """Let the sweep look."""
        self.stack.manage(
            "shell",
            "-v0",
            "-c",
            "from jenny.chat.tasks import enqueue_due_consolidations as task; task()",
        )


def answers(words: str):
    """A rule for scripts: an answer is asked for, and the newest thing said is *words*."""

    def rule(request) -> bool:
        return bool(request.json.get("tools")) and words in request.texts("user")[-1]

    return rule


def sums(words: str):
    """A rule for scripts: a summary of what *words* are in is asked for."""
    return lambda request: (
        is_summary(request) and any(words in text for text in request.texts("user"))
    )


@pytest.fixture(scope="module")
def place(scratch: Path) -> Iterator[Place]:
    """The instance of this module."""
    with ModelServer() as model:
        model.always(is_title, "A title")
        stack = start(
            scratch / f"place-{next(COUNTER)}", has_owner=True, **environment_for(model.url)
        )
        try:
            place = Place(stack, model, Client(stack.url).login(OWNER, PASSWORD))
            settings = json.dumps({"agents": {"defaults": SETTINGS}})
            (place.root / "config.json").write_text(settings)
            yield place
        finally:
            stack.end()


@pytest.fixture
def words() -> str:
    """Words that no other test says."""
    return f"talk {next(COUNTER)} of {os.getpid()}."
