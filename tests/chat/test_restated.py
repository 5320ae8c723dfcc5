"""What a person says again in a chat is not forgotten any more; over a real instance."""

import itertools
import threading

import pytest

from jenny.workspace.write_rules import Actor
from memory import suppression

COUNTER = itertools.count(1)


@pytest.fixture
def thing() -> str:
    """A word that no other test says."""
    return f"quince{next(COUNTER)}n{threading.get_ident()}"


def roots(scripted) -> list:
    """The workspaces of the instance."""
    return [path for path in scripted.data.workspaces.iterdir() if path.is_dir()]


def is_forgotten(scripted, text: str) -> bool:
    """Whether it is forgotten in every workspace."""
    return all(suppression.match(root, text) is not None for root in roots(scripted))


def test_a_newer_message_lifts_it(owner, model_server, scripted, thing):
    """Asking about it, or asking to forget it, lifts nothing; stating it does, before the answer:
    the model that answers sees the fact again."""
    fact = f"User is allergic to {thing} and walnuts"
    for root in roots(scripted):
        suppression.forget(root, fact, Actor("command"))

    def rule(request) -> bool:
        return bool(request.json.get("tools")) and thing in str(request.json["messages"])

    for _ in range(3):
        model_server.script("Fine.", when=rule)
    chat = owner.begin(f"Am I allergic to {thing} and walnuts?")
    owner.answer(chat)
    assert is_forgotten(scripted, fact)
    owner.send(chat, f"Please forget that I am allergic to {thing} and walnuts.")
    owner.answer(chat)
    assert is_forgotten(scripted, fact)
    owner.send(chat, f"By the way, I'm allergic to {thing} and walnuts.")
    owner.answer(chat)
    assert not is_forgotten(scripted, fact)
