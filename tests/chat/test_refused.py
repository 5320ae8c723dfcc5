"""Messages that a provider declined to answer, over a real instance and a scripted model."""

import re

import pytest

from tests.model_server import Call, Fail, Stop
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import FACT, answers, sums
from tests.support.waiting import wait_until

NOT_SENT = "Not sent again"


@pytest.mark.parametrize(
    "acts",
    [
        [Stop("refusal")],
        ["I was about to", Stop("refusal")],
        [Stop("content_filter")],
        [Fail(400, "invalid_request_error", "Output blocked by content filtering policy")],
    ],
    ids=["refusal", "partial", "content_filter", "error"],
)
def test_what_was_refused_is_not_sent_again(place, words, acts):
    """The next request holds neither the message nor what was written for it; the thread shows
    both, marked, and the person can send it in other words."""
    chat = place.talk(words, 1)
    refused = "forbidden " + words
    place.model.script(*acts, when=answers(refused))
    place.owner.send(chat, refused)
    thread = place.owner.answer(chat)
    assert refused in thread
    assert thread.count(NOT_SENT) == 1
    assert "declined to answer" in text_of(thread)
    place.model.script("Fine.", when=answers("next " + words))
    place.owner.send(chat, "next " + words)
    assert "Fine." in place.owner.answer(chat)
    (request,) = asked(place.model, "next " + words)
    said = request.body.decode()
    assert "forbidden" not in said
    assert "I was about to" not in said
    assert f"{words} turn 1" in said
    message = re.findall(r'class="item user" id="m(\d+)"', place.owner.thread(chat))[1]
    place.model.script("Better.", when=answers("allowed " + words))
    place.owner.post(f"/chat/{chat}/edit/{message}", text="allowed " + words)
    thread = place.owner.answer(chat)
    assert "Better." in thread
    assert NOT_SENT not in thread


def test_a_refusal_after_tools_leaves_the_whole_turn_out(place, words):
    """A call is never sent without the message that asked for it."""
    refused = "forbidden " + words
    place.model.script(Call("list_dir", {"path": "."}), when=answers(refused))
    place.model.script(
        Stop("refusal"), when=lambda r: b"tool_result" in r.body and words in str(r.json)
    )
    chat = place.owner.begin(refused)
    assert NOT_SENT in place.owner.answer(chat)
    place.model.script("Fine.", when=answers("next " + words))
    place.owner.send(chat, "next " + words)
    assert "Fine." in place.owner.answer(chat)
    (request,) = asked(place.model, "next " + words)
    assert len(request.json["messages"]) == 1


def test_the_words_of_a_refused_message_reach_the_history(place, words):
    """The summariser is told of them like of all others."""
    refused = "forbidden " + words
    place.model.script(Stop("refusal"), when=answers(refused))
    chat = place.owner.begin(refused)
    place.owner.answer(chat)
    place.model.script(FACT.format(words), when=sums(words))
    place.owner.send(chat, "/compact")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    assert (entry.kind, entry.content) == ("summary", FACT.format(words))
    assert refused in "\n".join(place.summaries(words)[0].texts("user"))


def test_what_the_summariser_refuses_too_is_kept_and_shown_to_no_chat(place, words):
    """The others are summarised without it; its words are kept as they are, for Dream and for the
    person, and no later prompt holds them."""
    chat = place.talk(words, 1)
    refused = "forbidden " + words
    place.model.script(Stop("refusal"), when=answers(refused))
    place.owner.send(chat, refused)
    place.owner.answer(chat)
    for _ in range(2):
        place.model.script(Stop("refusal"), when=sums("forbidden"))
    place.model.script(FACT.format(words), when=sums(words))
    place.owner.send(chat, "/compact")
    entries = wait_until(lambda: place.entries(chat), what="the entries")
    assert [entry.kind for entry in entries] == ["summary", "raw"]
    assert refused in entries[1].content
    assert not entries[1].prompt_visible
    other = "another chat " + words
    place.model.script("Hello.", when=answers(other))
    place.owner.answer(place.owner.begin(other))
    (request,) = asked(place.model, other)
    assert "forbidden" not in request.body.decode()
    assert f"keeps {words} bees" in request.body.decode()
