"""Two tabs, two clicks, two things at once: whatever comes first, nothing is lost or doubled."""

import concurrent.futures
import itertools
import uuid

import pytest
import redis

from tests.model_server import Fail, Gate, Say
from tests.support.chat import asked
from tests.support.client import text_of, words_of
from tests.support.waiting import wait_until

COUNTER = itertools.count(1)


@pytest.fixture
def words() -> str:
    """Words that no other test says."""
    return f"race {next(COUNTER)} {uuid.uuid4().hex}"


def only_for(words: str):
    """A rule for scripts: the newest thing the user said holds *words*."""

    def rule(request) -> bool:
        said = request.texts("user") if request.path == "/v1/messages" else []
        return bool(request.json.get("tools")) and bool(said) and words in said[-1]

    return rule


def test_a_first_message_sent_twice_at_once_begins_one_conversation(owner, words):
    """A double click on Send, or a form that the browser repeats, makes no second thread."""
    owner.token()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        sent = [
            pool.submit(owner.post, "/chat/send", text=words, client_key=words) for _ in range(6)
        ]
    chats = {answer.result().json()["conversation"] for answer in sent}
    assert len(chats) == 1
    assert text_of(owner.answer(chats.pop())).count(words) == 1


def test_a_conversation_can_be_deleted_under_a_turn(owner, model_server, words, scripted):
    """Deleting while an answer is written works, whatever the worker stores at that moment;
    pages that show the conversation are told, and its words are no longer in the stream."""
    server = redis.Redis.from_url(f"unix://{scripted.data.redis_socket}")
    for number in range(6):
        said = f"{words} {number}"
        model_server.script(
            *(Say(f"Word {n} of it.\n\n") for n in range(60)), Gate(said), when=only_for(said)
        )
        chat = owner.begin(said)
        with owner.events(chat, after=owner.position(chat)) as stream:
            stream.wait_for(lambda event: "Word 1 " in words_of(event))
            answer = owner.post(f"/chat/{chat}/delete")
            assert answer.status_code == 302, answer.text
            stream.wait_for(lambda event: event["kind"] == "reset", "the news")
        assert owner.get(f"/chat/{chat}/").status_code == 404
        model_server.open(said)
        held = server.xrange(f"jenny:events:{chat}")
        assert not [fields for _, fields in held if b"Word" in fields[b"data"]]
    server.close()


def test_what_is_done_to_a_conversation_deleted_meanwhile_is_not_found(owner, words):
    """Two tabs, one deletes while the other sends: either is done, or told that it is gone."""
    for number in range(8):
        chat = owner.begin("/help")
        acts = [
            lambda chat=chat: owner.post(f"/chat/{chat}/delete"),
            lambda chat=chat, n=number: owner.send(chat, f"/status {words} {n}"),
            lambda chat=chat: owner.send(chat, "/help"),
            lambda chat=chat: owner.post(f"/chat/{chat}/rename", title=words),
            lambda chat=chat: owner.post(f"/chat/{chat}/draft", text=words),
            lambda chat=chat: owner.send(chat, "/new"),
        ]
        with concurrent.futures.ThreadPoolExecutor(len(acts)) as pool:
            answers = [running.result() for running in [pool.submit(act) for act in acts]]
        codes = {answer.status_code for answer in answers}
        assert codes <= {200, 204, 302, 404}, codes


def test_a_message_that_waits_is_answered_although_the_turn_before_failed(
    owner, model_server, words
):
    """It was sent while an answer ran, and that one failed: it gets an answer of its own."""
    first, second = f"{words} first", f"{words} second"
    model_server.script(Gate(words), Fail(400, "invalid_request_error"), when=only_for(first))
    model_server.script("Answered all the same.", when=only_for(second))
    chat = owner.begin(first)
    wait_until(lambda: asked(model_server, first), what="the model to be asked")
    owner.send(chat, second)
    model_server.open(words)
    wait_until(lambda: "Answered all the same." in owner.thread(chat), what="its answer")
    assert "Waiting" not in text_of(owner.answer(chat))


def test_a_message_behind_new_is_never_read_by_the_turn_before_it(owner, model_server, words):
    """/new and the next message come while an answer runs: that message begins the new session,
    in whose request nothing of the old one stands."""
    old, new = f"{words} old", f"{words} new"
    model_server.script(Say("Old words. "), Gate(words), when=only_for(old))
    model_server.script("The new session.", when=only_for(new))
    chat = owner.begin(old)
    wait_until(lambda: "Old words." in owner.thread(chat), what="the first answer")
    owner.send(chat, "/new")
    owner.send(chat, new)
    wait_until(lambda: "The new session." in owner.thread(chat), what="the new answer")
    model_server.open(words)
    [request] = asked(model_server, new)
    assert old not in " ".join(request.texts())


def test_a_message_sent_right_after_stop_is_answered(owner, model_server, words):
    """The turn that is being stopped does not take it with it."""
    old, new = f"{words} old", f"{words} new"
    model_server.script(Say("Old words. "), Gate(words), when=only_for(old))
    model_server.script("Answered.", when=only_for(new))
    chat = owner.begin(old)
    wait_until(lambda: "Old words." in owner.thread(chat), what="the first answer")
    owner.post(f"/chat/{chat}/stop")
    owner.send(chat, new)
    wait_until(lambda: "Answered." in owner.thread(chat), what="the answer")
    model_server.open(words)


@pytest.mark.parametrize("position", ["99999999-0", f"{2**70}-0", "99999999-7"])
def test_a_position_that_was_never_given_makes_the_page_look_again(owner, position):
    """A page from before the database was put back is rendered anew, and does not spoil the
    stream for others."""
    chat = owner.begin("/help")
    with owner.events(chat, after=position) as stream:
        stream.wait_for(lambda event: event["kind"] == "reset")
    before = owner.position(chat)
    owner.send(chat, "/status")
    with owner.events(chat, after=before) as stream:
        stream.wait_for(lambda event: "/status" in event.get("html", ""))
