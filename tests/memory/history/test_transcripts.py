"""Conversations in several languages, on their way to the summariser.

Each file says what must stand in the request and what must not. What a model makes of it is shown
by none of this: only a real one can.
"""

import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.demo import serve
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.tokens import estimate
from memory.history import log, prompt
from memory.history.consolidator import Consolidated, Reply, asking, consolidate
from memory.history.entries import NewHistoryEntry
from memory.history.transcript import Spoken, ToolUsed

FILES = sorted((Path(__file__).parents[1] / "transcripts").glob("*.toml"))
DATA = "iVBORw0K" * 60


def load(path: Path) -> dict[str, Any]:
    """A file's content, its messages as they are spoken."""
    case = tomllib.loads(path.read_text("utf-8"))
    case["messages"] = [
        Spoken(
            number,
            row["speaker"],
            row["text"].strip().replace("{data}", DATA),
            datetime.fromisoformat(row["when"]) if "when" in row else None,
            tuple(
                ToolUsed(**{**tool, "result": tool["result"].strip()})
                for tool in row.get("tools", ())
            ),
            tuple(row.get("attachments", ())),
        )
        for number, row in enumerate(case["messages"], 1)
    ]
    return case


def asked(
    case: dict[str, Any], *, answer: str = "(nothing)", **more: Any
) -> tuple[list[str], Consolidated]:
    """What a summariser is asked about the conversation, and what comes of it."""
    texts: list[str] = []

    def ask(_: SystemPrompt, text: str) -> Reply:
        texts.append(text)
        return Reply(answer, "end_turn")

    done = consolidate(
        case["messages"],
        ask,
        conversation="c",
        recorded="\n".join(case.get("recorded", ())),
        zone=ZoneInfo(case["zone"]),
        **more,
    )
    return texts, done


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    """One conversation after another."""
    return load(request.param)


def test_there_are_conversations_in_many_languages() -> None:
    """The mechanics know no language, and this is how it is seen."""
    assert len({load(path)["language"] for path in FILES}) >= 8


def test_what_was_said_reaches_the_summariser(case: dict[str, Any]) -> None:
    """With speakers, local times and marks; no secret, no data, and nobody's words as another's."""
    (text,), _ = asked(case)
    for part in (*case["reaches"], *case["heads"], case.get("calendar", "")):
        assert part in text
    for part in case.get("absent", ()):
        assert part not in text
    lines = text.split("# The conversation\n\n")[1].split("\n")
    said = [line for line in lines if line.startswith("[")]
    assert len(said) == len(case["messages"])
    assert all(line.startswith(("[", "  ", "(20")) for line in lines)
    assert "Times are in " in lines[0]
    assert case["zone"] in lines[0]


@pytest.mark.parametrize("chars", [40, 120])
def test_in_pieces_nothing_is_left_out(case: dict[str, Any], chars: int) -> None:
    """A small window: all of it is asked about, in order, and no piece is larger."""
    (whole,), _ = asked(case)
    pieces, _ = asked(case, chunk_chars=chars)
    assert len(pieces) > 1

    def said(text: str) -> str:
        body = text.split("# The conversation\n\n")[1]
        return body.split("\n", 1)[1] if body.startswith("(20") else body

    assert all(len(said(piece)) <= chars for piece in pieces)
    assert "".join("".join(map(said, pieces)).split()) == "".join(said(whole).split())


def test_without_an_answer_every_character_is_kept(case: dict[str, Any]) -> None:
    """But secrets, and data that nobody can read."""
    _, done = asked(case, answer="I cannot help with that.")
    (entry,) = done.entries
    assert entry.kind == "raw"
    for message in case["messages"]:
        for line in message.text.replace(DATA, "").split("\n"):
            assert line.split("data:image")[0] in entry.content
    assert sum(
        line.startswith("[") and "] " in line for line in entry.content.split("\n")
    ) == 1 + len(case["messages"])


def test_what_is_recorded_takes_no_more_than_its_room(root: Path, case: dict[str, Any]) -> None:
    """However much waits, in whatever language: 1,600 tokens."""
    lines = [line for message in case["messages"] for line in message.text.split("\n")]
    facts = [
        NewHistoryEntry(f"- [durable] {number} {line}") for number in range(60) for line in lines
    ]
    log.append(root, facts)
    (root / "USER.md").write_text(
        "\n".join(f"- {number} {line}" for number in range(300) for line in lines)
    )
    block = prompt.known_facts_block(root)
    assert 1_000 < estimate(block) <= prompt.KNOWN_FACTS_TOKENS
    assert all(line.startswith("- ") for line in block.split("\n"))


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """The demo model's address."""
    server = serve()
    yield server.url
    server.close()


def test_the_demo_model_finds_what_was_stated_and_invents_nothing(
    case: dict[str, Any], demo: str
) -> None:
    """In English, German and Japanese it finds what was stated; in any other language it says that
    there is nothing, and never what somebody else said or wrote."""
    provider = Provider(Endpoint(demo, ""), Preset(name="demo", model="demo", base_url=demo))
    done = consolidate(
        case["messages"],
        asking(provider, CancellationToken()),
        conversation="c",
        zone=ZoneInfo(case["zone"]),
    )
    assert done.failures == ()
    found = "\n".join(entry.content for entry in done.entries)
    assert found == "\n".join(case.get("demo", ()))
