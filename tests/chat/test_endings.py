"""Turns that end otherwise than by themselves, through queue and page: each says why, keeps what
was done, and leaves the conversation ready for the next message."""

import json

import pytest

from tests.model_server import Call, Raw, Say
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import SETTINGS, answers


@pytest.fixture(autouse=True)
def short(place):
    """Three steps are all that a turn may take here."""
    settings = {**SETTINGS, "maxToolIterations": 3}
    (place.root / "config.json").write_text(json.dumps({"agents": {"defaults": settings}}))


def ready(place, chat: str, words: str) -> None:
    """The conversation goes on."""
    place.model.script("Here I am.", when=answers(words))
    place.owner.send(chat, words)
    assert "Here I am." in text_of(place.owner.answer(chat))


def test_the_step_cap_ends_it_with_what_was_done(place, words):
    """Calls that lead nowhere end after as many steps as the settings allow; the person is told
    how to go on."""
    for name in ("a", "b", "c", "d"):
        call = Call("list_dir", {"path": f"skills/{name}"})
        place.model.script(Say(f"Looking at {name}."), call, when=answers(words))
    chat = place.owner.begin(words)
    thread = text_of(place.owner.answer(chat))
    assert len(asked(place.model, words)) == 3
    assert "as many steps as one turn may take" in thread
    assert "Looking at c." in thread
    ready(place, chat, f"next {words}")


def test_what_is_no_reply_is_told_and_can_be_tried_again(place, words):
    """A server that sends something else each time: the message stays, with its reason."""
    broken = Raw(b"event: message_start\ndata: {not json\n\n")
    for _ in range(6):
        place.model.script(broken, when=answers(words))
    chat = place.owner.begin(words)
    thread = place.owner.answer(chat)
    assert "sent something that is not a reply" in text_of(thread)
    assert f'action="/chat/{chat}/retry"' in thread
    assert len(asked(place.model, words)) > 1


def test_a_model_that_goes_in_circles_is_stopped(place, words):
    """The same call again and again ends the turn, before its steps are used up."""
    settings = {"agents": {"defaults": {**SETTINGS, "maxToolIterations": 50}}}
    (place.root / "config.json").write_text(json.dumps(settings))
    for _ in range(9):
        place.model.script(Call("list_dir", {"path": "skills"}), when=answers(words))
    chat = place.owner.begin(words)
    thread = text_of(place.owner.answer(chat))
    assert len(asked(place.model, words)) == 4
    assert "the same call was made again and again" in thread
