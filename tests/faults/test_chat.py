"""Parts are killed under a chat: nothing that was said is lost, nothing is run twice."""

import itertools
import os
import signal
import threading

import httpx2
import pytest
import redis

from tests.model_server import Call, Gate, ModelServer, Say, Silence
from tests.support.chat import asked
from tests.support.client import Client, text_of, words_of
from tests.support.stack import OWNER, PASSWORD, environment_for
from tests.support.waiting import wait_until

COUNTER = itertools.count(1)


@pytest.fixture
def stack(start_stack, model_server):
    """An instance that a test may harm."""
    return start_stack(has_owner=True, **environment_for(model_server.url))


@pytest.fixture
def person(stack) -> Client:
    """Its owner, logged in."""
    return Client(stack.url).login(OWNER, PASSWORD)


@pytest.fixture
def words() -> str:
    """Words that no other test says."""
    return f"fault {next(COUNTER)} of {threading.get_ident()}"


def script(model_server: ModelServer, words: str, *acts) -> None:
    """Answer the next request that holds *words*."""
    model_server.script(
        *acts,
        when=lambda request: (
            bool(request.json.get("tools")) and any(words in text for text in request.texts("user"))
        ),
    )


def test_a_killed_worker_leaves_an_interrupted_turn(stack, person, model_server, words):
    """CHA7: the turn is marked within seconds, its text is kept, it is not run again by
    itself, and trying again works."""
    script(model_server, words, "Some words. ", "And these at the very end", Silence())
    chat = person.begin(words)
    with person.events(chat) as stream:
        stream.wait_for(lambda event: "very end" in words_of(event), "the last words")
        stack.kill("chat")
        thread = text_of(person.answer(chat))
        stream.wait_for(lambda event: event.get("state") == "idle")
    assert "Some words. And these at the very end" in thread
    assert "Try again" in thread
    assert len(asked(model_server, words)) == 1
    script(model_server, words, "Whole again.")
    turn = person.thread(chat).split('name="turn" value="')[1].split('"')[0]
    person.post(f"/chat/{chat}/retry", turn=turn)
    wait_until(lambda: "Whole again." in person.thread(chat), what="the answer")
    assert len(asked(model_server, words)) == 2


def test_a_worker_killed_in_a_tool_call_does_not_repeat_it(stack, person, model_server, words):
    """What a tool did may have had effects: the call is shown as unfinished, not made again."""
    script(model_server, words, Call("write_file", {"path": "once.md", "content": "1"}))
    script(model_server, words, Silence())
    chat = person.begin(words)
    wait_until(lambda: len(asked(model_server, words)) == 2, what="the second step")
    stack.kill("chat")
    thread = text_of(person.answer(chat))
    assert thread.count("write_file") == 1
    assert len(asked(model_server, words)) == 2


def is_ready(person: Client) -> bool:
    """Whether the web server answers; one that was just killed may still drop a connection."""
    try:
        return person.get("/health/ready").status_code == 200
    except httpx2.HTTPError:
        return False


def test_a_killed_web_server_costs_nothing_but_a_reconnect(stack, person, model_server, words):
    """CHA1, CHA3: the turn goes on in the worker; the page comes back with its position and
    gets exactly what it missed."""
    gates = [f"{words} {n}" for n in range(2)]
    script(model_server, words, "One. ", Gate(gates[0]), "Two. ", Gate(gates[1]), "Three.")
    chat = person.begin(words)
    with person.events(chat) as stream:
        stream.wait_for(lambda event: "One." in event.get("html", ""))
        stack.kill("web")
        assert stream.ended.wait(60)
        position = stream.position()
    model_server.open(gates[0])
    wait_until(lambda: is_ready(person), what="the web server")
    with person.events(chat, after=position) as stream:
        stream.wait_for(lambda event: "Two." in words_of(event))
        model_server.open(gates[1])
        final = stream.wait_for(lambda event: event["kind"] == "final")
    sources = [event.get("source", "") for _, event in stream.events]
    assert "One." not in "".join(sources)
    assert "One. Two. Three." in text_of(final["html"])
    assert len(asked(model_server, words)) == 1


@pytest.mark.parametrize("flush", [False, True])
def test_a_lost_valkey_neither_loses_nor_doubles(stack, person, model_server, words, flush):
    """The server of queue and streams is killed in mid-turn, with or without its memory: the
    turn ends, the page renders anew or goes on, and the thread is complete."""
    gates = [f"{words} {flush} {n}" for n in range(2)]
    script(model_server, words, "One. ", Gate(gates[0]), "Two. ", Gate(gates[1]), "Three.")
    chat = person.begin(words)
    wait_until(lambda: "One." in person.thread(chat), what="the first words")
    pid = stack.kill_valkey(forgets=flush)
    model_server.open(gates[0])
    wait_until(lambda: stack.pids().get("valkey") not in (None, pid), what="a new Valkey")
    model_server.open(gates[1])
    thread = text_of(person.answer(chat))
    assert thread.count("One. Two. Three.") == 1
    assert len(asked(model_server, words)) == 1
    script(model_server, "after " + words, Say("Goes on."))
    person.send(chat, "after " + words)
    wait_until(lambda: "Goes on." in person.thread(chat), what="the next answer")


def test_a_message_sent_while_valkey_is_away_is_answered_later(stack, person, model_server, words):
    """The message is stored and taken up as soon as there is a queue again."""
    script(model_server, words, "Here I am.")
    person.begin("warm up")
    pid = stack.kill("valkey")
    chat = person.begin(words)
    assert words in text_of(person.thread(chat))
    wait_until(lambda: stack.pids().get("valkey") not in (None, pid), what="a new Valkey")
    wait_until(lambda: "Here I am." in person.thread(chat), what="the answer")
    assert len(asked(model_server, words)) == 1


def test_what_was_stored_while_redis_refused_reaches_every_page(stack, person, model_server, words):
    """The events of what was stored meanwhile are lost for good: a page that was open all the
    time, and one that comes back with its position, are both told to render anew."""
    script(model_server, words, "Yes.")
    chat = person.begin(words)
    person.answer(chat)
    # The title comes behind the answer, and is the last event of the exchange.
    wait_until(lambda: "A title" in person.page(chat), what="the title")
    position = person.position(chat)
    with (
        redis.Redis(unix_socket_path=str(stack.data.redis_socket)) as valkey,
        person.events(chat, after=position) as stream,
    ):
        wait_until(
            lambda: any(row["cmd"] == "xread" for row in valkey.client_list()),
            what="the page's reader",
        )
        valkey.config_set("maxmemory", 1)
        assert person.send(chat, "/help").status_code == 200
        valkey.config_set("maxmemory", 0)
        stream.wait_for(lambda event: event["kind"] == "reset", "the open page")
    with person.events(chat, after=position) as stream:
        stream.wait_for(lambda event: event["kind"] == "reset", "the page that comes back")
    assert "List the commands." in person.thread(chat)


def test_shutting_down_in_the_middle_keeps_the_text(start_stack, model_server, words):
    """Ctrl-C while an answer is written: the text is kept and marked, and the next start
    shows it, with the offer to try again."""
    environment = environment_for(model_server.url)
    stack = start_stack(has_owner=True, **environment)
    person = Client(stack.url).login(OWNER, PASSWORD)
    script(model_server, words, "Half an answer", Silence())
    chat = person.begin(words)
    wait_until(lambda: "Half an answer" in person.thread(chat), what="the first words")
    assert stack.end(signal.SIGINT) == 0
    again = start_stack(data=stack.data.root, **environment)
    person = Client(again.url).login(OWNER, PASSWORD)
    thread = text_of(person.answer(chat))
    assert "Half an answer" in thread
    assert "Try again" in thread
    assert len(asked(model_server, words)) == 1


def test_a_frozen_worker_that_wakes_up_writes_nothing(stack, person, model_server, words):
    """A worker that slept past its lease finds the turn ended and leaves it so."""
    script(model_server, words, "Before. ", Gate(words), "After.")
    chat = person.begin(words)
    wait_until(lambda: "Before." in person.thread(chat), what="the first words")
    pid = stack.pids()["chat"]
    os.kill(pid, signal.SIGSTOP)
    thread = person.answer(chat)
    assert "Try again" in thread
    os.kill(pid, signal.SIGCONT)
    model_server.open(words)
    script(model_server, "next " + words, "Next.")
    person.send(chat, "next " + words)
    wait_until(lambda: "Next." in person.thread(chat), what="the next answer")
    assert "After." not in person.thread(chat)
