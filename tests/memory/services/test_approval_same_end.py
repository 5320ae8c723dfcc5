"""Whatever the mode, what a run wrote and a person accepted makes the same files."""

import random
from pathlib import Path

import pytest

from jenny.accounts.models import Workspace
from jenny.workspace.files import Actor, open_workspace
from memory import facts
from memory.dream.tools import WriteSession, toolbox
from memory.models import DreamRun
from memory.services import approvals
from memory.services.proposals import DjangoProposalStore
from tests.memory.dream.running import batch_of, entry
from tests.support import chance
from tests.support.dreams import MEMORY

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord", "grove", "heath", "iris", "jade"]
HEADINGS = ["Home", "Work", "Health"]


def line(rng: random.Random) -> str:
    """A line that is near no other."""
    return " ".join(rng.sample(WORDS, 5)) + f" {rng.randrange(10_000)}"


def start(rng: random.Random) -> str:
    """A file with a few sections."""
    parts = ["# Memory", ""]
    for heading in HEADINGS[:2]:
        parts += [f"## {heading}", "", *(f"- {line(rng)}" for _ in range(4)), ""]
    return "\n".join(parts)


def calls(rng: random.Random, text: str) -> list[tuple[str, dict]]:
    """What a run does, as it would by the file that it sees."""
    lines = [row[2:] for row in text.split("\n") if row.startswith("- ")]
    found: list[tuple[str, dict]] = []
    for _ in range(8):
        kind = rng.random()
        if kind < 0.4 or len(lines) < 2:
            new = line(rng)
            lines.append(new)
            edit = {"path": MEMORY, "action": "add", "heading": rng.choice(HEADINGS)}
            found.append(("apply_patch", {"edits": [edit | {"new_text": new}], "sources": [1]}))
        elif kind < 0.7:
            old = lines.pop(rng.randrange(len(lines)))
            new = f"{old} and {rng.choice(WORDS)}s"
            lines.append(new)
            change = {"old_text": old, "new_text": new}
            found.append(("edit_file", {"path": MEMORY, "sources": [1]} | change))
        else:
            old = lines.pop(rng.randrange(len(lines)))
            gone = {"old_text": f"- {old}\n", "new_text": ""}
            found.append(("edit_file", {"path": MEMORY, "sources": [1]} | gone))
    return found


def texts_of(acts: list) -> list[str]:
    """What the calls write, so that an entry says it."""
    texts = []
    for _, arguments in acts:
        texts += [edit["new_text"] for edit in arguments.get("edits", [arguments])]
    return [text.removeprefix("- ") for text in texts if text]


def made(workspace: Workspace, mode: str, text: str, acts: list, rng: random.Random) -> str:
    """The file after a run in that mode, all of it accepted in any order."""
    path: Path = workspace.root / MEMORY
    open_workspace(workspace.root, Actor("setup")).write(MEMORY, text.encode())
    run = DreamRun.objects.create(workspace=workspace, trigger="manual", state="ended")
    session = WriteSession(
        open_workspace(workspace.root, Actor("dream", run=run.name)),
        batch_of(entry(1, "\n".join(f"- [durable] {text}" for text in texts_of(acts)))),
        run=run.name,
        proposals=DjangoProposalStore(run, mode),
    )
    box = toolbox(session)
    for name, arguments in acts:
        outcome = box.call(name, arguments)
        assert outcome.ok, outcome.content
    if mode == "all":
        assert path.read_text() == text
    if mode == "removals":
        gone = {row for row in text.split("\n") if row.startswith("- ")}
        assert gone <= set(path.read_text().split("\n"))
    numbers = [row.id for row in approvals.waiting(workspace)]
    rng.shuffle(numbers)
    for number in numbers:
        outcome = approvals.accept_hunk(workspace, number, account=None)
        assert outcome.ok, outcome.message
    assert not approvals.waiting(workspace)
    return path.read_text()


def said(text: str) -> list[tuple[str, str]]:
    """What a file says, and where."""
    found = facts.facts(text)
    return sorted((row.heading, row.text) for row in found if row.has_content)


@pytest.mark.parametrize("seed", range(6))
def test_all_modes_come_to_the_same(workspace: Workspace, seed: int) -> None:
    """Random edits of a run: with approval of everything, of removals, or of nothing, the file says
    the same under the same headings once everything is accepted, in whatever order."""
    rng = random.Random(chance.seed() * 1_000 + seed)
    text = start(rng)
    acts = calls(rng, text)
    wanted = said(made(workspace, "off", text, acts, rng))
    for mode in ("all", "removals"):
        assert said(made(workspace, mode, text, acts, rng)) == wanted, mode
