"""Every request to a model is counted, as the kind of run that it is for."""

import ast
from pathlib import Path

from jenny.agent.preset import Endpoint, Preset
from jenny.agent.provider import Provider
from jenny.agent.run_kinds import USAGE_KINDS, usage_label
from jenny.agent.tokens import Usage
from tests.support.place import Place, answers
from tests.support.stack import ROOT
from tests.support.waiting import wait_until
from tests.test_architecture import sources

USAGE = "select kind, sum(requests), sum(input_tokens) from accounts_usageday group by kind"


def calls(path: Path) -> list[ast.Call]:
    """Calls of ``model_for`` in a module."""
    return [
        node
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == "model_for"
    ]


def test_whoever_asks_for_a_model_says_what_for() -> None:
    """No kind of run hides behind another on the usage page."""
    found = []
    for path in sources():
        for call in calls(path):
            kind = next((word.value for word in call.keywords if word.arg == "kind"), None)
            assert kind is not None, path
            if isinstance(kind, ast.Constant):
                found.append(kind.value)
    assert {"title", "summary", "test"} <= set(found)
    assert set(found) <= set(USAGE_KINDS)
    assert usage_label("some_new_kind") == "Some new kind"


class Counter:
    """A meter that notes what it is told."""

    def __init__(self, kind: str = "dream") -> None:
        self.kind, self.seen = kind, []

    def is_spent(self) -> bool:
        """There is always room."""
        return False

    def count(self, preset: Preset, usage: Usage) -> None:
        """Note it."""
        self.seen.append((preset.model, usage))

    def of(self, kind: str) -> "Counter":
        """Another one."""
        return Counter(kind)


def test_a_model_can_be_asked_as_another_kind() -> None:
    """A review within a run of Dream counts as a review."""
    meter = Counter()
    provider = Provider(Endpoint("http://127.0.0.1:1", meter=meter), Preset(name="p", model="m"))
    other = provider.counted_as("review")
    assert other.endpoint.meter.kind == "review"
    assert other.preset is provider.preset
    bare = Provider(Endpoint("http://127.0.0.1:1"), Preset(name="p", model="m"))
    assert bare.counted_as("review") is bare


def test_a_conversation_is_counted_by_kind(place: Place, words: str) -> None:
    """A turn, its title, its summary and Dream each have their row."""
    place.model.script("An answer.", when=answers(words))
    chat = place.owner.begin(words)
    place.owner.answer(chat)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.entries(chat), what="what Dream is to read")
    place.stack.manage("dream", "--json", check=False)
    with place.database() as database:
        rows = {kind: (count, tokens) for kind, count, tokens in database.execute(USAGE)}
    assert rows["chat"][0] == 1
    assert rows["title"][0] == 1
    assert rows["summary"][0] >= 1
    assert rows["dream"][0] >= 1
    assert all(tokens > 0 for _, tokens in rows.values())
    assert set(rows) <= set(USAGE_KINDS)
