"""A provider that falls silent, through queue and page: the turn ends by itself, says so, and can
be tried again. Here it may be silent for three seconds, far above what the scripted server takes,
and in earnest for minutes."""

import re

import pytest

from tests.model_server import Say, Silence
from tests.support.chat import asked
from tests.support.client import Client, text_of
from tests.support.place import answers
from tests.support.stack import OWNER, PASSWORD, ROOT, environment_for, start
from tests.support.waiting import wait_until

# Read by each process of the instance as it starts.
SECONDS = """
from jenny.agent.limits import Limits
Limits.__init__.__kwdefaults__.update(first_byte_seconds=3.0, between_bytes_seconds=3.0)
"""


@pytest.fixture(scope="module")
def person(scratch, model_server):
    """Somebody whose instance has little patience."""
    folder = scratch / "impatient"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SECONDS)
    stack = start(
        folder / "data",
        PYTHONPATH=f"{ROOT}:{folder}",
        has_owner=True,
        **environment_for(model_server.url),
    )
    try:
        yield Client(stack.url).login(OWNER, PASSWORD)
    finally:
        stack.end()


def try_again(person: Client, chat: str, thread: str) -> str:
    """Press the button; the thread when it has another answer."""
    turn = re.findall(r'name="turn" value="(\d+)"', thread)[-1]
    person.post(f"/chat/{chat}/retry", turn=turn)
    return wait_until(
        lambda: page if "Now it answers." in (page := text_of(person.thread(chat))) else "",
        what="the answer",
    )


def test_one_that_says_nothing_is_tried_again_once_and_given_up(person, model_server, words):
    """Before the first word: a note while it is tried again, then the reason on the message."""
    for _ in range(2):
        model_server.script(Silence(), when=answers(words))
    model_server.script("Now it answers.", when=answers(words))
    chat = person.begin(words)
    with person.events(chat) as stream:
        stream.wait_for(lambda event: "Jenny tries again." in event.get("html", ""), "the note")
        thread = person.answer(chat)
    assert "said nothing for 3 seconds. Your message and what was written" in text_of(thread)
    assert "Jenny tries again." not in text_of(thread)
    assert len(asked(model_server, words)) == 2
    assert try_again(person, chat, thread).count(words) == 1


def test_one_that_stops_in_the_middle_is_begun_anew(person, model_server, words):
    """Its half answer gives way to the whole one."""
    model_server.script("Half of the ans", Silence(), when=answers(words))
    model_server.script("The whole answer.", when=answers(words))
    chat = person.begin(words)
    thread = text_of(person.answer(chat))
    assert thread.count("The whole answer.") == 1
    assert "Half of" not in thread


def test_what_one_wrote_before_it_fell_silent_for_good_is_kept(person, model_server, words):
    """Silent in the middle twice: the text stays, with the reason, and the next message goes on."""
    for _ in range(2):
        model_server.script("Half of the ", Say("answer."), Silence(), when=answers(words))
    chat = person.begin(words)
    thread = person.answer(chat)
    assert text_of(thread).count("Half of the answer.") == 1
    assert "said nothing for 3 seconds" in text_of(thread)
    model_server.script("Now it answers.", when=answers(words))
    assert "Half of the answer." in try_again(person, chat, thread)
