"""A run's model turn for tests: real files, tools and loop; the model is a server on loopback."""

from pathlib import Path
from typing import Any

from jenny.agent import loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.limits import Limits
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.workspace import seed
from jenny.workspace.files import Actor, open_workspace
from memory import write_rules
from memory.dream import batch, prompt
from memory.dream.tools import Reminder, WriteSession, toolbox
from memory.dream.values import Batch
from memory.history.entries import HistoryEntry


def entry(cursor: int, text: str, *, chat: str = "a", day: str = "2026-11-02") -> HistoryEntry:
    """An entry of the history."""
    return HistoryEntry(cursor, f"{day} 10:00", text, "summary", chat)


def batch_of(*entries: HistoryEntry) -> Batch:
    """The batch that a run is shown of these."""
    return batch.build_batch(batch.BatchInput(waiting=entries))


def new_root(path: Path) -> Path:
    """A new workspace, with every write rule in force."""
    write_rules.install()
    path.mkdir(exist_ok=True)
    seed.seed(open_workspace(path, Actor("setup")))
    return path


def hand_of(root: Path, shown: Batch, **options: Any) -> WriteSession:
    """The hand of a run."""
    return WriteSession(open_workspace(root, Actor("dream")), shown, run="dream:1", **options)


class Heard(loop.Listener):
    """A listener that only passes on to the reminder."""

    def __init__(self, reminder: Reminder) -> None:
        self.reminder = reminder

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None:
        """Tell the reminder."""
        self.reminder.step_finished(parts)


def run(root: Path, shown: Batch, url: str, **limits: Any) -> tuple[WriteSession, loop.Outcome]:
    """Let a model at *url* dream over the batch."""
    session = hand_of(root, shown)
    reminder = Reminder(session)
    bounds = Limits(max_steps=limits.pop("max_steps", 30), seconds=60, retries=0, **limits)
    watch = CancellationToken()
    outcome = loop.run(
        provider=Provider(Endpoint(url, "a-key"), Preset(name="m", model="m")),
        system=prompt.system_prompt(root, batch=shown).wire(),
        history=[prompt.first_message(shown, root)],
        toolbox=toolbox(session, watch=watch),
        listener=Heard(reminder),
        inbox=reminder.inbox,
        watch=watch,
        limits=bounds,
    )
    return session, outcome
