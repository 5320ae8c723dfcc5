"""What was kept word for word is digested as the one text that it was."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from jenny.agent.errors import AgentError, ProviderFault
from jenny.agent.prompt import SystemPrompt
from memory.history import log
from memory.history.consolidator import Reply, without_asking
from memory.history.digest import TRIES, Digested, NotDigested, digest, of_group
from memory.history.entries import HistoryEntry, NewHistoryEntry
from memory.history.transcript import Spoken

FACT = "- [durable] Ana has two cats."
WHEN = datetime(2026, 11, 30, 23, 50, tzinfo=UTC)


class Model:
    """Answers in turn, the last one for ever; an error is raised."""

    def __init__(self, *answers: str | AgentError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, _: SystemPrompt, text: str) -> Reply:
        """The next answer."""
        self.asked.append(text)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, AgentError):
            raise answer
        return Reply(answer, "end_turn")


def long_entries(root: Path) -> tuple[HistoryEntry, ...]:
    """A conversation that became several raw entries, cut in the middle of messages."""
    words = "".join(f"word{at} " for at in range(1_500))
    said = [Spoken(at, "user", f"MARK{at} {words}", WHEN) for at in range(1, 5)]
    return log.append(root, without_asking(said, conversation="c").entries).entries


def test_a_group_is_digested_together(root: Path) -> None:
    """Every character is asked about once, cut before messages; each part says when it was."""
    entries = long_entries(root)
    assert len(entries) > 2
    assert all(of_group(root, entry) == entries for entry in entries)
    model = Model(FACT)
    assert digest(entries, model, chunk_chars=30_000) == Digested(
        "\n".join([FACT] * len(model.asked))
    )
    texts = [asked.split("# The conversation\n\n(recorded ")[1] for asked in model.asked]
    bodies = [text.split(")\n", 1)[1] for text in texts]
    assert len(bodies) > 1
    assert all(
        text.startswith(("[RAW]", "[Monday 2026-11-30 23:50] USER: MARK")) for text in bodies
    )
    said = "".join(bodies).replace("[Monday ", "[").replace("[Tuesday ", "[")
    assert said == "".join(entry.content for entry in entries)


def test_a_group_with_parts_missing_is_no_group(root: Path, history: Path) -> None:
    """Somebody took lines out by hand: what is left is digested by itself."""
    entries = long_entries(root)
    lines = history.read_bytes().split(b"\n")
    history.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    assert of_group(root, entries[0]) == (entries[0],)
    (alone,) = log.append(root, [NewHistoryEntry("[RAW] 1 message\nhello", kind="raw")]).entries
    assert of_group(root, alone) == (alone,)


def test_of_an_act_only_what_is_raw_is_digested(root: Path) -> None:
    """Summaries beside it are facts already."""
    made = log.append(
        root,
        [NewHistoryEntry(FACT), NewHistoryEntry("[RAW] 1 message", kind="raw")],
        one_group=True,
    ).entries
    assert of_group(root, made[1]) == (made[1],)


def test_nothing_worth_keeping_is_an_answer() -> None:
    """The entry is shown as one that says nothing."""
    assert digest([HistoryEntry(1, "", "[RAW] 1 message")], Model("(nothing)")) == Digested("")


@pytest.mark.parametrize(
    "failure",
    ["Error 500", "", "<html>", ProviderFault("bad_request", host="h", model="m")],
)
def test_four_tries_and_then_it_is_shown_as_it_is(failure: str | AgentError) -> None:
    """Any of them may succeed."""
    entry = HistoryEntry(1, "2026-11-30 23:50", "[RAW] 1 message")
    last = Model(*[failure] * (TRIES - 1), FACT)
    assert digest([entry], last, is_answer=lambda _: True) == Digested(FACT)
    model = Model(failure)
    found = digest([entry], model, is_answer=lambda _: True)
    assert isinstance(found, NotDigested)
    assert found.reason
    assert len(model.asked) == found.tries == TRIES


def test_an_outage_uses_up_no_try() -> None:
    """The entry waits until the provider can be asked."""
    fault = ProviderFault("unreachable", host="h", model="m")
    with pytest.raises(ProviderFault):
        digest([HistoryEntry(1, "", "[RAW] 1 message")], Model(fault))
