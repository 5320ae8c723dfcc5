"""A workspace whose history waits for Dream, and a model that does what a test says."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jenny.accounts.models import Account, Workspace
from jenny.workspace import config
from jenny.workspace.write_rules import Actor
from memory.dream import outcome
from memory.history import cursors, log
from memory.history.entries import NewHistoryEntry
from memory.models import DreamRun
from memory.services import dream_runs, dream_scheduler
from tests.model_server import Call, ModelServer, Request

MEMORY = "memory/MEMORY.md"


class Dreams:
    """One workspace, its history, and the scripted model."""

    def __init__(self, workspace: Workspace, model: ModelServer) -> None:
        self.workspace = workspace
        self.model = model
        self.root = workspace.root

    def say(self, *texts: str, kind: str = "summary", conversation: str = "c") -> list[int]:
        """Add an entry for each text; their numbers."""
        new = [NewHistoryEntry(text, kind=kind, conversation=conversation) for text in texts]
        return [entry.cursor for entry in log.append(self.root, new).entries]

    def run(self, trigger: str = "manual", asker: str = "") -> DreamRun:
        """One run, carried out here."""
        asked = dream_scheduler.start_run(self.workspace, trigger, asker)
        assert asked.run is not None, asked.message
        ended = dream_runs.execute_run(asked.run.pk)
        assert ended is not None
        return ended

    def set(self, **values: Any) -> None:
        """Change settings of Dream."""

        def mutate(document: dict[str, Any]) -> None:
            document.setdefault("agents", {}).setdefault("defaults", {}).setdefault(
                "dream", {}
            ).update(values)

        config.change_config(self.root, mutate)

    def text(self, path: str = MEMORY) -> str:
        """A file as it is."""
        return (self.root / path).read_text()

    @property
    def cursor(self) -> int:
        """Where Dream's place is."""
        return cursors.dream_cursor(self.root)

    @property
    def counters(self) -> outcome.Counters:
        """What is counted."""
        return outcome.load_counters(self.root)

    def shown(self) -> list[Request]:
        """The requests that showed a batch."""
        return [row for row in list(self.model.requests) if batch_of(row)]

    def place(self, cursor: int) -> None:
        """Put Dream's place somewhere."""
        cursors.set_dream_cursor(self.root, cursor, Actor("pipeline", run="test"))


def batch_of(request: Request) -> str:
    """The conversation history that a request shows."""
    if request.path != "/v1/messages":
        return ""
    texts = "\n".join(request.texts("user"))
    return texts if "## Conversation History" in texts else ""


def is_review(request: Request) -> bool:
    """Whether a request is a review pass's."""
    return request.path == "/v1/messages" and "This is a review" in str(request.json.get("system"))


def add(line: str, *sources: int, path: str = MEMORY, heading: str = "Notes") -> Call:
    """A call that adds a line under a heading."""
    edit = {"path": path, "action": "add", "heading": heading, "new_text": line}
    return Call("apply_patch", {"edits": [edit], "sources": list(sources)})


def stating(*calls: Call | None, tag: str = "ephemeral") -> str:
    """An entry that says what these calls write."""
    lines: list[str] = []
    for call in filter(None, calls):
        for edit in call.arguments.get("edits", [call.arguments]):
            lines += str(edit.get("new_text", "")).splitlines()
    said = [line.lstrip("-* ") for line in lines if line.strip() and not line.startswith("#")]
    return "\n".join(f"- [{tag}] {line}" for line in said or ["Something new was said."])


def finish(**verdicts: list[int]) -> Call:
    """A call that accounts for entries: ``finish(saved=[1], not_kept=[2])``."""
    rows = [
        {"cursor": cursor, "verdict": verdict, "reason": "expired, as said"}
        for verdict, cursors_ in verdicts.items()
        for cursor in cursors_
    ]
    return Call("finish", {"entries": rows})


def results(request: Request) -> str:
    """What the tools answered, as a request tells the model."""
    return json.dumps(
        [
            part["content"]
            for message in request.json["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "tool_result"
        ],
        ensure_ascii=False,
    )


@pytest.fixture
def dreams(
    transactional_db: None, settings: Any, valkey: object, scratch: Path
) -> Iterator[Dreams]:
    """A new workspace, and a scripted model that it asks."""
    from jenny.accounts import access

    # A test begins without workspaces' folders, since it begins without their rows.
    shutil.rmtree(settings.JENNY_DATA.workspaces, ignore_errors=True)
    with ModelServer() as server:
        settings.JENNY_API_BASE_URL = server.url
        settings.JENNY_API_KEY = "sk-test-0123456789"
        settings.JENNY_MODEL = "scripted-model"
        person = Account.objects.make_owner("dreamer", "a good long password", "UTC")
        yield Dreams(access.made_workspace(person), server)
