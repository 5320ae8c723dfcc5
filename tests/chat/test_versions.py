"""Messages said anew, answers given anew, and the way back to earlier versions."""

import json
import re
import threading

from tests.model_server import Fail, Gate
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import FACT, answers, sums
from tests.support.waiting import wait_until


def ids(place, chat: str, kind: str = "user") -> list[int]:
    """The messages in the thread."""
    return [
        int(found)
        for found in re.findall(rf'class="item {kind}" id="m(\d+)"', place.owner.thread(chat))
    ]


def edit(place, chat: str, message: int, text: str):
    """Send a message again, in other words."""
    return place.owner.post(f"/chat/{chat}/edit/{message}", text=text)


def regenerate(place, chat: str):
    """Have the last answer given again."""
    turn = re.findall(r'name="turn" value="(\d+)"', place.owner.thread(chat))[-1]
    return place.owner.post(f"/chat/{chat}/regenerate", turn=turn)


def step(place, chat: str, message: int, by: int):
    """Look at another version of a message."""
    return place.owner.post(f"/chat/{chat}/version", message=str(message), step=str(by))


def test_an_edit_begins_another_version(place, words):
    """What came after the message leaves the thread and the model's view, and is there again by
    the switcher; each version goes on from where it stood."""
    chat = place.talk(words, 3)
    first, second, third = ids(place, chat)
    place.model.script("Anew.", when=answers("other " + words))
    assert edit(place, chat, second, "other " + words).status_code == 302
    thread = place.owner.answer(chat)
    assert "Anew." in thread
    assert f"{words} turn 2" not in thread
    assert f"{words} turn 3" not in thread
    (request,) = asked(place.model, "other " + words)
    said = "\n".join(request.texts("user"))
    assert f"{words} turn 1" in said
    assert f"{words} turn 2" not in said
    (kept, new) = ids(place, chat)
    assert kept == first
    assert "Version 2 / of 2" in text_of(thread)
    step(place, chat, new, -1)
    back = place.owner.thread(chat)
    assert ids(place, chat) == [first, second, third]
    assert "Anew." not in back
    place.model.script("Further.", when=answers("further " + words))
    place.owner.send(chat, "further " + words)
    place.owner.answer(chat)
    said = "\n".join(asked(place.model, "further " + words)[0].texts("user"))
    assert f"{words} turn 3" in said
    assert "other " not in said
    step(place, chat, second, 1)
    assert ids(place, chat) == [first, new]
    step(place, chat, new, 1)
    assert ids(place, chat) == [first, new]
    step(place, chat, new, -1)
    assert "Further." in place.owner.thread(chat)


def test_an_answer_is_given_anew(place, words):
    """Regenerate asks the same again; the answer before is a version of its own, and an edit of
    the same message counts on."""
    said = f"{words} turn 1"
    chat = place.talk(words, 1)
    place.model.script("Another answer.", when=answers(said))
    assert regenerate(place, chat).status_code == 302
    thread = place.owner.answer(chat)
    assert "Another answer." in thread
    assert f"answer 1 of {words}" not in thread
    assert len(asked(place.model, said)) == 2
    assert asked(place.model, said)[-1].texts("user")[-1].startswith(said)
    place.model.script("A third.", when=answers("third " + words))
    edit(place, chat, ids(place, chat)[0], "third " + words)
    assert "Version 3 / of 3" in text_of(place.owner.answer(chat))
    for answer in ("Another answer.", f"answer 1 of {words}"):
        step(place, chat, ids(place, chat)[0], -1)
        assert answer in place.owner.thread(chat)
    assert "Version 1 / of 3" in text_of(place.owner.thread(chat))


def test_versions_within_versions(place, words):
    """A version of an earlier message brings back the later version that was shown last in it."""
    chat = place.talk(words, 2)
    first, second = ids(place, chat)
    for name, at in (("b", 1), ("c", 0)):
        place.model.script(f"Answer {name}.", when=answers(f"{name} {words}"))
        edit(place, chat, ids(place, chat)[at], f"{name} {words}")
        place.owner.answer(chat)
    (third,) = ids(place, chat)
    step(place, chat, third, -1)
    assert "Answer b." in place.owner.thread(chat)
    assert ids(place, chat)[0] == first
    step(place, chat, ids(place, chat)[1], -1)
    assert ids(place, chat) == [first, second]
    step(place, chat, first, 1)
    step(place, chat, third, -1)
    assert ids(place, chat) == [first, second]


def test_nothing_runs_twice_and_nothing_while_an_answer_is_written(place, words):
    """A form sent twice, or by two tabs at once, makes one version; while an answer is written
    there is none, with a sentence."""
    chat = place.talk(words, 1)
    message = ids(place, chat)[0]
    place.model.script(Gate("edit " + words), "Once.", when=answers("edit " + words))
    tabs = [
        threading.Thread(target=edit, args=(place, chat, message, "edit " + words))
        for _ in range(4)
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    refused = place.owner.http.post(
        f"/chat/{chat}/edit/{message}",
        data={"text": "late"},
        headers={"HX-Request": "true", "X-CSRFToken": place.owner.token()},
    )
    assert refused.status_code == 422
    assert "An answer is being written" in text_of(refused.text)
    assert "An answer is being written" in text_of(regenerate_refused(place, chat))
    place.model.open("edit " + words)
    assert "Once." in place.owner.answer(chat)
    assert "Version 2 / of 2" in text_of(place.owner.thread(chat))
    assert len(asked(place.model, "edit " + words)) == 1
    again = place.owner.http.post(
        f"/chat/{chat}/edit/{message}",
        data={"text": "late"},
        headers={"HX-Request": "true", "X-CSRFToken": place.owner.token()},
    )
    assert "stands in another version" in text_of(again.text)


def regenerate_refused(place, chat: str) -> str:
    """What is said when an answer is to be given anew that may not."""
    return place.owner.http.post(
        f"/chat/{chat}/regenerate",
        data={"turn": "1"},
        headers={"HX-Request": "true", "X-CSRFToken": place.owner.token()},
    ).text


def test_a_version_that_fails_can_be_tried_again(place, words):
    """Its failure stands on it, with a way to try again; the versions beside it stay."""
    chat = place.talk(words, 1)
    place.model.script(Fail(400, "invalid_request_error", "No."), when=answers("bad " + words))
    edit(place, chat, ids(place, chat)[0], "bad " + words)
    thread = place.owner.answer(chat)
    assert "Try again" in thread
    turn = re.findall(r'name="turn" value="(\d+)"', thread)[-1]
    place.model.script("Good.", when=answers("bad " + words))
    place.owner.post(f"/chat/{chat}/retry", turn=turn)
    assert "Good." in place.owner.answer(chat)
    step(place, chat, ids(place, chat)[0], -1)
    assert f"answer 1 of {words}" in place.owner.thread(chat)
    assert place.owner.post(f"/chat/{chat}/retry", turn=turn).status_code in {200, 302}
    assert f"answer 1 of {words}" in place.owner.thread(chat)


def test_every_page_shows_the_version(place, words):
    """A second tab is told by its stream to render anew, and the turn's text streams there."""
    chat = place.talk(words, 1)
    with place.owner.events(chat, place.owner.position(chat)) as stream:
        place.model.script("Seen everywhere.", when=answers("tab " + words))
        edit(place, chat, ids(place, chat)[0], "tab " + words)
        stream.wait_for(lambda event: event["kind"] == "reset", "the reset")
    after = place.owner.position(chat)
    with place.owner.events(chat, after) as stream:
        assert "Seen everywhere." in place.owner.answer(chat)
    step(place, chat, ids(place, chat)[0], -1)
    assert "Seen everywhere." not in place.owner.thread(chat)


def test_without_script_there_is_a_page_for_it(place, words):
    """Edit leads to a page with the words in a field; sending leads back to the thread."""
    chat = place.talk(words, 1)
    message = ids(place, chat)[0]
    page = place.owner.get(f"/chat/{chat}/edit/{message}").text
    assert "<h1" in page
    assert f">{words} turn 1</textarea>" in page
    place.model.script("By form.", when=answers("form " + words))
    answer = place.owner.http.post(
        f"/chat/{chat}/edit/{message}",
        data={"text": "form " + words, "csrfmiddlewaretoken": place.owner.token()},
    )
    assert answer.headers["location"] == f"/chat/{chat}/"
    place.owner.answer(chat)
    blank = place.owner.post(f"/chat/{chat}/edit/{ids(place, chat)[0]}", text="  ")
    assert blank.status_code == 422
    assert place.owner.get(f"/chat/{chat}/edit/999999").status_code == 404


def test_what_was_edited_away_is_passed_over_and_comes_back(place, words):
    """The entry about it is shown to no chat while it is edited away, and its page says that
    Dream passes over it; what stands before the edit is summarised once more. When the version
    is shown again, so is the entry; and what Dream passed over meanwhile is summarised again."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 2)
    place.owner.send(chat, "/compact")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    place.model.script("Anew.", when=answers("other " + words))
    edit(place, chat, ids(place, chat)[1], "other " + words)
    place.owner.answer(chat)
    assert place.column(chat, "summarised_through") < entry.messages[0]
    page = text_of(place.owner.get(f"/memory/history/{entry.cursor}/").text)
    assert "Leaves it out: what it is about was changed or deleted." in page
    place.model.script("Hello.", when=answers("new " + words))
    place.owner.answer(place.owner.begin("new " + words))
    system = json.dumps(asked(place.model, "new " + words)[0].json["system"])
    assert FACT.format(words) not in system
    place.model.script(FACT.format("both " + words), when=sums(words))
    place.owner.send(chat, "/compact")
    wait_until(lambda: len(place.entries(chat)) == 2, what="the entry of this version")
    wait_until(lambda: not place.held(chat), what="the end of it")
    request = "\n".join(place.summaries(words)[-1].texts("user"))
    assert f"{words} turn 1" in request
    assert f"{words} turn 2" not in request
    # Dream passes over the first and reads the second, and then the first version is shown.
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text(str(place.entries(chat)[-1].cursor))
    try:
        step(place, chat, ids(place, chat)[1], -1)
        assert place.column(chat, "summarised_through") < entry.messages[0]
    finally:
        cursor.unlink()


def test_entries_of_messages_that_stand_are_not_passed_over(place, words):
    """An edit behind what an entry is about leaves the entry alone, and its messages are not
    summarised again."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    for number in (2, 3):
        place.model.script(f"Answer {number}.", when=answers(f"{words} more {number}"))
        if number == 2:
            place.owner.send(chat, f"{words} more 2")
        else:
            edit(place, chat, ids(place, chat)[1], f"{words} more 3")
        place.owner.answer(chat)
    assert place.column(chat, "summarised_through") == entry.messages[1]
    page = text_of(place.owner.get(f"/memory/history/{entry.cursor}/").text)
    assert "Has not read it yet." in page
    assert "2 messages summarised" in text_of(place.owner.thread(chat))


def test_the_stream_is_neither_packed_nor_held_back(place, words):
    """CHA10: whoever asks for a packed answer gets the stream as it is, and what stands between
    is told not to hold it back."""
    chat = place.talk(words, 1)
    with place.owner.http.stream(
        "GET", f"/chat/{chat}/events", headers={"Accept-Encoding": "gzip, br"}
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in answer.headers
        assert answer.headers["x-accel-buffering"] == "no"
        assert "no-transform" in answer.headers["cache-control"]
        assert next(answer.iter_lines()).startswith("retry:")


def test_an_edit_while_a_summary_is_made(place, words):
    """Chat waits for no summary, and neither does an edit: what comes of the summary belongs to
    the version it was made of, and is there when that one is shown again."""
    place.model.script(Gate("sum " + words), FACT.format(words), when=sums(words))
    chat = place.talk(words, 2)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.summaries(words), what="the request")
    place.model.script("Anew.", when=answers("other " + words))
    edit(place, chat, ids(place, chat)[1], "other " + words)
    assert "Anew." in place.owner.answer(chat)
    place.model.open("sum " + words)
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: not place.held(chat), what="the end of it")
    assert place.column(chat, "summarised_through") < entry.messages[0]
    assert "messages summarised" not in place.owner.thread(chat)
    step(place, chat, ids(place, chat)[1], -1)
    assert place.column(chat, "summarised_through") == entry.messages[1]
    assert "4 messages summarised" in text_of(place.owner.thread(chat))
