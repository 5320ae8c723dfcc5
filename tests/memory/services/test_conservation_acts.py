"""Random sequences of what people, chats and Dream do to memory: after each sequence every fact
that was ever said is somewhere, and it is known by whose will."""

import os
import random

import pytest

from jenny.workspace.files import Actor, open_workspace
from tests.support.chance import seed as chosen_seed
from tests.support.fact_sequences import begin

# After so many sequences, one is also taken into a new workspace and looked through there.
COPIED = 5


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk, since nothing is killed here."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


@pytest.mark.parametrize(
    "count", [pytest.param(8, id="few"), pytest.param(5_000, id="many", marks=pytest.mark.soak)]
)
def test_every_fact_is_accounted_for(dreams, count):
    """After each sequence of chats, edits, runs, reviews, decisions, undoing, restores, imports and
    forgetting, each fact is in a file, waits for Dream or for the person, or was taken out, and the
    one who took it out is the one who is named."""
    chosen = chosen_seed()
    faults = {}
    for number in range(count):
        made = begin(dreams, random.Random(f"{chosen} {number}"), number)
        made.play()
        found = made.unaccounted()
        if number % COPIED == 0 and not found:
            copy = made.copied()
            found = [f"in the copy: {row}" for row in copy.unaccounted()]
            copy.drop()
        made.drop()
        if found:
            faults[number] = (found, made.done)
    assert faults == {}, f"seed {chosen}"


def test_the_search_would_notice(dreams):
    """A fact that stands nowhere is missed, and so is one that somebody else took out."""
    made = begin(dreams, random.Random(1), 0)
    made.do(made.say)
    assert made.unaccounted() == []
    history = (made.root / "memory/history.jsonl").read_text()
    (made.root / "memory/history.jsonl").write_text("")
    assert [row for row in made.unaccounted() if "is nowhere" in row]
    (made.root / "memory/history.jsonl").write_text(history)
    chat = open_workspace(made.root, Actor("chat"))
    chat.write("USER.md", f"- {made.fact()}\n".encode())
    assert made.unaccounted() == []
    chat.write("USER.md", b"# Nothing\n")
    assert [row for row in made.unaccounted() if "taken out by []" in row]
    made.drop()
