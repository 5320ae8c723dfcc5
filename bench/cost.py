"""How many tokens the prompts take, and how many requests a run needs.

The workspace and the entries are the same each time, and the demo model answers by rule, so the
figures are exact: they change only with the prompts, the tools and the loop. The bars are what they
were when they were last looked at; whoever lets one grow says why.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Bar, Row
from jenny.agent import demo, loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.limits import Limits
from jenny.agent.messages import Message
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.tokens import estimate
from jenny.agent.tools import Toolbox
from jenny.chat.prompt import build
from jenny.chat.tools import toolbox_for
from jenny.workspace import seed
from jenny.workspace.files import Actor, open_workspace
from memory import write_rules
from memory.dream import prompt
from memory.dream.batch import BatchInput, build_batch
from memory.dream.review import ReviewBounds
from memory.dream.tools import Reminder, WriteSession, toolbox
from memory.dream.values import Batch
from memory.history import consolidator
from memory.history.entries import HistoryEntry
from tests.memory.dream.running import Heard

ENTRIES = 10
# Tokens as they were last looked at, by what is measured.
BARS: dict[str, float] = {
    # Says what `plot` draws.
    "chat, prompt": 2_300,
    # `search_chats` stands beside `recall`; `read_file` reads documents by page; `plot` draws.
    "chat, tools": 3_050,
    # The summary reports wishes to forget.
    "summary, prompt": 1_650,
    "dream, rules and guide": 3_300,
    "dream, tools": 1_650,
    "dream, requests of a run": 2,
    "dream, tokens in of a run": 12_850,
    "dream, tokens out of a run": 750,
    "review, rules and guide": 1_750,
    "review, tools": 1_200,
    "review, requests of a run": 2,
    "review, tokens in of a run": 8_050,
    "review, tokens out of a run": 850,
}


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "w")
        write_rules.install()
        return [
            Row(f"{work}, {what}", unit, value, bar=Bar(limit=BARS.get(f"{work}, {what}")))
            for work, what, unit, value in _measured(root)
        ]


def _measured(root: Path) -> Iterator[tuple[str, str, str, float]]:
    _make(root)
    chat = toolbox_for("personal", root, run="bench")
    system = build("personal", root, tool_names=chat.names)
    yield "chat", "prompt", "tokens", estimate(system.text)
    yield "chat", "tools", "tokens", estimate(json.dumps(list(chat.schemas())))
    summary = consolidator.prompt(has_recorded=True)
    yield "summary", "prompt", "tokens", estimate(summary.text)
    for kind in ("dream", "review"):
        _make(root)
        batch = _batch() if kind == "dream" else Batch()
        workspace = open_workspace(root, Actor(kind, run="bench"))
        session = WriteSession(workspace, batch, run="bench", kind=kind)
        system, first = _request(kind, root, batch)
        box = toolbox(session)
        yield kind, "rules and guide", "tokens", estimate(system.pieces[0])
        yield kind, "tools", "tokens", estimate(json.dumps(list(box.schemas())))
        done = _run(system, first, box, session)
        yield kind, "requests of a run", "requests", done.steps
        yield kind, "tokens in of a run", "tokens", done.usage.total - done.usage.output
        yield kind, "tokens out of a run", "tokens", done.usage.output


def _request(kind: str, root: Path, batch: Batch) -> tuple[SystemPrompt, Message]:
    if kind == "review":
        return prompt.review_system_prompt(root), prompt.review_message(root)
    return prompt.system_prompt(root, batch=batch), prompt.first_message(batch, root)


def _run(system: SystemPrompt, first: Message, box: Toolbox, session: WriteSession) -> loop.Outcome:
    observer = ReviewBounds(session) if session.kind == "review" else Reminder(session)
    server = demo.serve(pace=0)
    try:
        watch = CancellationToken()
        return loop.run(
            provider=Provider(
                Endpoint(server.url, is_demo=True), Preset(name="demo", model="demo")
            ),
            system=system.wire(),
            history=[first],
            toolbox=box,
            listener=Heard(observer),
            inbox=observer.inbox,
            watch=watch,
            limits=Limits(max_steps=30, seconds=60, retries=0),
        )
    finally:
        server.close()


def _make(root: Path) -> None:
    """Make a workspace of somebody who has used it for a while."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    seed.seed(open_workspace(root, Actor("setup")))
    for path in ("USER.md", "memory/MEMORY.md"):
        lines = "".join(f"- Fact {number} of {path} is as it was said.\n" for number in range(20))
        (root / path).write_text(f"# {path}\n\n{lines}", encoding="utf-8")


def _batch() -> Batch:
    return build_batch(
        BatchInput(
            waiting=[
                HistoryEntry(
                    number,
                    "2026-11-02 10:00",
                    f"- [durable] The user keeps {number} hives of bees in the garden of house "
                    f"{number}.\n- [ephemeral] The user looked for a smoker on Monday.",
                    "summary",
                    "a",
                )
                for number in range(1, ENTRIES + 1)
            ]
        )
    )
