"""As many answers at once as a worker has threads, on a database that lends out fewer
connections."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.model_server import Call, Gate, Say
from tests.support.chat import asked
from tests.support.client import Client, text_of
from tests.support.stack import OWNER, PASSWORD, environment_for
from tests.support.waiting import wait_until

TURNS = 64


@pytest.fixture
def stack(start_stack, new_database, model_server):
    """An instance on PostgreSQL with a thread for each turn; its pool has 20 connections."""
    return start_stack(
        DATABASE_URL=new_database(),
        has_owner=True,
        **environment_for(model_server.url) | {"JENNY_WORKER_THREADS": str(TURNS)},
    )


def test_turns_that_wait_for_their_model_keep_no_connection(stack, model_server):
    """All of them are under way at the same moment, each in the middle of its words, behind a tool
    call; somebody else reads and writes meanwhile. Every one ends with all its words."""
    owner = Client(stack.url).login(OWNER, PASSWORD)
    words = [f"one of many, number {number:03}" for number in range(TURNS)]
    for said in words:
        rule = rule_for(said)
        model_server.script("I look. ", Call("list_dir", {"path": "."}), when=rule)
        model_server.script("First words, ", Gate("many"), Say("last words."), when=rule)
    with ThreadPoolExecutor(16) as pool:
        chats = list(pool.map(owner.begin, words))
    wait_until(
        lambda: sum(len(asked(model_server, said)) == 2 for said in words) == TURNS,
        120,
        "all of them to be in their second step",
    )
    for chat in (chats[0], owner.begin("/status")):
        assert owner.send(chat, "/help").status_code == 200
        assert owner.get(f"/chat/{chat}/").status_code == 200
    model_server.open("many")
    for chat, said in zip(chats, words, strict=True):
        thread = text_of(owner.answer(chat))
        assert "First words, last words." in thread, thread
        assert len(asked(model_server, said)) == 2
    assert "PoolTimeout" not in stack.logs()


def rule_for(said: str):
    """The requests of the turn in which *said* was said."""
    return lambda request: (
        bool(request.json.get("tools")) and any(said in text for text in request.texts("user"))
    )
