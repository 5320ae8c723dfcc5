"""A model's server by script, and a run against it, for the tests of the agent."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, override

import pytest

from jenny.agent import loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Part, ToolUse, text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.reply import Event
from jenny.agent.tokens import Usage
from jenny.agent.tools import Tool, Toolbox, ToolContext, ToolOutcome
from jenny.workspace.files import Actor, open_workspace
from tests.model_server import ModelServer

# No test waits for a time that the product waits for: retries follow at once, and what is
# limited in time is limited far above what it takes.
QUICK = Limits(retry_seconds=0.0)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model's server that answers by script."""
    with ModelServer() as server:
        yield server


def provider(server: ModelServer, *, key: str = "a-key", **preset: Any) -> Provider:
    """The model at *server*, asked with *key*."""
    values = {"name": "test", "model": "scripted", "max_tokens": 1000} | preset
    return Provider(Endpoint(server.url, key), Preset(**values))


def ask(source: Provider, text: str = "Hello", **values: Any) -> list[Event]:
    """All events of one reply."""
    asked = {
        "system": [{"type": "text", "text": "You are Jenny."}],
        "messages": [text_message("user", text)],
        "tools": [],
        "watch": CancellationToken(),
        "limits": QUICK,
    }
    return list(source.stream(**(asked | values)))


@dataclass
class Heard(loop.Listener):
    """A listener that keeps what it is told, in order. *on* is called with each thing."""

    told: list[tuple[Any, ...]] = field(default_factory=list)
    on: Callable[..., None] = lambda *_: None

    def _tell(self, *what: Any) -> None:
        self.told.append(what)
        self.on(*what)

    @override
    def step_started(self, step: int) -> None:
        self._tell("step_started", step)

    @override
    def text(self, delta: str) -> None:
        self._tell("text", delta)

    @override
    def thinking(self, delta: str) -> None:
        self._tell("thinking", delta)

    @override
    def tool_started(self, call: ToolUse) -> None:
        self._tell("tool_started", call)

    @override
    def tool_finished(self, call: ToolUse, result: ToolOutcome, seconds: float) -> None:
        self._tell("tool_finished", call, result, seconds)

    @override
    def step_finished(
        self, step: int, parts: tuple[Part, ...], stop_reason: str, usage: Usage
    ) -> None:
        self._tell("step_finished", step, parts, stop_reason, usage)

    @override
    def step_failed(self, step: int, message: str, retry_in: float | None) -> None:
        self._tell("step_failed", step, message, retry_in)

    @override
    def note(self, message: str) -> None:
        self._tell("note", message)

    def all(self, kind: str) -> list[tuple[Any, ...]]:
        """Everything of one kind that was told, without the kind."""
        return [what[1:] for what in self.told if what[0] == kind]

    @property
    def written(self) -> str:
        """The text of all attempts."""
        return "".join(delta for (delta,) in self.all("text"))


class Turn:
    """A turn against a server: what goes in can be set, ``run`` runs it."""

    def __init__(self, server: ModelServer, folder: Path) -> None:
        self.server = server
        self.provider = provider(server)
        self.watch = CancellationToken()
        self.heard = Heard()
        self.limits = QUICK
        self.history = [text_message("user", "Hello")]
        self.inbox: Callable[[int], list[Message]] = lambda _: []
        self.make_room: loop.MakeRoom | None = None
        self._context = ToolContext(open_workspace(folder, Actor("chat")), self.watch)
        self._tools: list[Tool] = []

    def tool(self, function: Callable[..., ToolOutcome]) -> Callable[..., ToolOutcome]:
        """Give the turn a tool (a decorator)."""
        self._tools.append(Tool.of(function))
        return function

    def run(self) -> loop.Outcome:
        """Run it to its end."""
        return loop.run(
            provider=self.provider,
            system=[{"type": "text", "text": "You are Jenny."}],
            history=self.history,
            toolbox=Toolbox(self._tools, self._context),
            listener=self.heard,
            inbox=self.inbox,
            watch=self.watch,
            limits=self.limits,
            make_room=self.make_room,
        )


@pytest.fixture
def turn(model: ModelServer, tmp_path: Path) -> Turn:
    """A turn against ``model``, without tools as yet."""
    return Turn(model, tmp_path)


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with its first connection what it is told; gives its address."""

    def run() -> None:
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            with connection:
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
