"""Conversations on their way into the history, over a real instance and a scripted summariser."""

import json
import os
import re
import signal
from contextlib import closing

import pytest
import redis

from jenny.workspace import locks
from jenny.workspace.locks import Level
from memory import suppression
from tests.model_server import Fail, Gate, Usage
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import FACT, FULL, SETTINGS, answers, sums
from tests.support.waiting import wait_until


def test_a_full_context_is_summarised_and_the_thread_stays_whole(place, words):
    """CON11: under token pressure the oldest turns go into the history and leave the context;
    nothing leaves the page, which says what happened; the next request is smaller."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 4, FULL)
    wait_until(lambda: "messages summarised" in place.owner.thread(chat), what="the divider")
    (entry,) = place.entries(chat)
    assert (entry.kind, entry.content) == ("summary", FACT.format(words))
    assert place.column(chat, "summarised_through") >= entry.messages[1]
    page = text_of(place.owner.page(chat))
    end = entry.messages[1]
    thread = place.owner.thread(chat)
    divider = thread.index("messages summarised")
    assert thread.index(f'id="m{end}"') < divider < thread.index(f"answer 4 of {words}")
    assert FACT.format(words).partition("] ")[2] in page
    assert f'href="/memory/history/{entry.cursor}/"' in thread
    assert "of 14k tokens; the oldest turns will be summarised at 14k" in page
    for number in range(1, 5):
        assert f"{words} turn {number}" in page
        assert f"answer {number} of {words}" in page
    place.model.script("And on.", when=answers("go on " + words))
    place.owner.send(chat, "go on " + words)
    place.owner.answer(chat)
    (request,) = asked(place.model, "go on " + words)
    said = "\n".join(request.texts("user"))
    assert f"{words} turn 4" in said
    assert f"{words} turn 1" not in said
    assert FACT.format(words) in json.dumps(request.json["system"])


def test_many_messages_are_summarised(place, words):
    """At maxMessages the oldest go, however short they are."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 6)
    wait_until(lambda: place.entries(chat), what="the entry")
    (request,) = place.summaries(words)
    text = "\n".join(request.texts("user"))
    assert f"{words} turn 1" in text
    assert f"{words} turn 6" not in text
    assert "<context>" not in text


def test_an_idle_conversation_is_summarised_once_and_the_next_chat_knows(place, words):
    """After the idle time even a short chat is in the history, and a new one goes on from there.
    It is not looked at again before something new is said."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    assert place.column(chat, "consolidate_after")
    place.idle(chat)
    wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: place.column(chat, "consolidate_after") is None, what="the rest")
    place.sweep()
    place.model.script("I know.", when=answers("new " + words))
    place.owner.answer(place.owner.begin("new " + words))
    (request,) = asked(place.model, "new " + words)
    assert FACT.format(words) in json.dumps(request.json["system"])
    assert len(place.summaries(words)) == 1
    place.model.script("Still here.", when=answers("again " + words))
    place.owner.send(chat, "again " + words)
    place.owner.answer(chat)
    assert f"{words} turn 1" in "\n".join(asked(place.model, "again " + words)[0].texts("user"))
    assert place.column(chat, "consolidate_after")


def test_dream_takes_in_what_was_just_said(place, words):
    """/dream is enough: the conversation goes into the history first, and its context stays as it
    is."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    before = place.column(chat, "context_from")
    place.owner.send(chat, "/dream")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    assert entry.content == FACT.format(words)
    assert place.column(chat, "context_from") == before


def test_new_starts_clean_and_loses_nothing(place, words):
    """CON7: what /new leaves behind is summarised at once, and not shown to the chats."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/new")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    assert not entry.prompt_visible
    place.model.script("Hello.", when=answers("afresh " + words))
    place.owner.send(chat, "afresh " + words)
    place.owner.answer(chat)
    (request,) = asked(place.model, "afresh " + words)
    assert FACT.format(words) not in json.dumps(request.json)
    assert f"{words} turn 1" in text_of(place.owner.page(chat))


def test_new_while_it_is_being_summarised(place, words):
    """CON6: what is under way is finished, said once, and not shown to the chats any more; a
    summariser that fails loses nothing of it."""
    place.model.script(Gate("slow " + words), Fail(500), when=sums(words))
    place.model.script(Fail(500), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.summaries(words), what="the request")
    place.owner.send(chat, "/new")
    new_from = place.column(chat, "context_from")
    place.model.open("slow " + words)
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    assert (entry.kind, entry.prompt_visible) == ("raw", False)
    wait_until(lambda: place.column(chat, "summarised_through"), what="the pointer")
    assert place.column(chat, "context_from") == new_from
    place.stack.manage("consolidate")
    assert len(place.entries(chat)) == 1


def test_idle_summarising_can_be_off(place, words):
    """With 0 minutes nothing is summarised for being idle."""
    chat = place.talk(words, 1)
    file = place.root / "config.json"
    before = file.read_text()
    off = {"agents": {"defaults": {**SETTINGS, "idleCompactAfterMinutes": 0}}}
    file.write_text(json.dumps(off))
    try:
        place.idle(chat)
        wait_until(lambda: place.column(chat, "consolidate_after") is None, what="the rest")
        assert (place.summaries(words), place.entries(chat)) == ([], [])
    finally:
        file.write_text(before)


def test_compact_says_what_happened(place, words):
    """/compact does it now, and its reply says what came of it and what was left out; a second
    one finds nothing."""
    place.model.script(FACT.format(words), when=sums(words))
    secret = "ghp_" + "z9Y8x7W6v5" * 4
    chat = place.talk(f"{words} {secret}", 1)
    place.owner.send(chat, "/compact")
    thread = wait_until(
        lambda: (
            "goes on with its last messages" in (found := text_of(place.owner.thread(chat)))
            and found
        ),
        what="the outcome",
    )
    assert "2 messages summarised" in thread
    assert "Secrets were left out: GitHub token." in thread
    assert "a secret was left out" in thread
    assert "GitHub token: left out of memory. It stands in your message" in thread
    html = place.owner.thread(chat)
    places = re.findall(r'href="(/chat/[^"]*/at/\d+)"', html)
    led_to = [place.owner.get(one).headers["location"].partition("#")[2] for one in places]
    assert all(secret in html.partition(f'id="{one}"')[2][:900] for one in led_to)
    assert len(set(led_to)) == 2
    assert len(place.entries(chat)) == 1
    assert secret not in place.summaries(words)[0].body.decode()
    place.owner.send(chat, "/compact")
    wait_until(
        lambda: "There is nothing to summarise" in place.owner.thread(chat), what="the reply"
    )


def test_a_summary_stands_below_the_command_that_asked_for_it(place, words):
    """The line about a summary comes after /compact and its reply, and before what is said next;
    the prompt has the summary once."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    thread = wait_until(
        lambda: 'class="summary"' in (found := place.owner.thread(chat)) and found,
        what="the summary",
    )
    assert thread.index(">/compact</p>") < thread.index("Reply to the command")
    assert thread.index("Reply to the command") < thread.index('class="summary"')
    place.model.script("Good.", when=answers("afterwards " + words))
    place.owner.send(chat, "afterwards " + words)
    thread = place.owner.answer(chat)
    assert thread.index('class="summary"') < thread.index("afterwards " + words)
    (request,) = asked(place.model, "afterwards " + words)
    assert json.dumps(request.json).count(FACT.format(words)) == 1


def test_a_message_that_comes_meanwhile_is_answered_and_kept(place, words):
    """CON4, CON12: chat never waits for the summariser, and what is said while it works is not
    in the slice."""
    place.model.script(Gate("sum " + words), FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.summaries(words), what="the request")
    place.model.script("At once.", when=answers("meanwhile " + words))
    place.owner.send(chat, "meanwhile " + words)
    assert "At once." in place.owner.answer(chat)
    place.owner.send(chat, "/compact")
    wait_until(
        lambda: "is being summarised already" in place.owner.thread(chat), what="the refusal"
    )
    place.model.open("sum " + words)
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: place.column(chat, "summarised_through"), what="the pointer")
    with closing(place.database()) as database:
        (late,) = database.execute(
            "select id from chat_message where text = ?", ["meanwhile " + words]
        ).fetchone()
    assert entry.messages[1] < late
    assert place.column(chat, "summarised_through") < late


def test_a_summariser_that_fails_costs_nothing_that_was_said(place, words):
    """CON1, CON16: what got no summary is kept word for word, without its secrets, and the page
    says so."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    place.model.script(Fail(500), when=sums(words))
    place.model.script("<html>Bad gateway</html>", when=sums(words))
    chat = place.talk(f"{words} {secret}", 1)
    place.owner.send(chat, "/compact")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    assert entry.kind == "raw"
    assert entry.content.startswith("[RAW] 2 messages")
    assert f"answer 1 of {words}" in entry.content
    assert secret not in (place.root / "memory/history.jsonl").read_text()
    thread = wait_until(
        lambda: "Kept word for word" in (found := text_of(place.owner.thread(chat))) and found,
        what="the reply",
    )
    assert "2 messages kept word for word" in thread
    assert "Secrets were left out: GitHub token." in thread
    assert len(place.summaries(words)) == 2


def test_a_turn_in_flight_is_never_summarised(place, words):
    """CON5: neither the sweep nor the command touches a conversation whose turn runs."""
    chat = place.talk(words, 1)
    place.model.script(Gate("turn " + words), "Done.", when=answers("long " + words))
    place.owner.send(chat, "long " + words)
    wait_until(lambda: asked(place.model, "long " + words), what="the turn to run")
    place.idle(chat)
    said = place.stack.manage("consolidate", "--json", check=False)
    told = json.loads(said.splitlines()[0])
    assert not told["ok"]
    assert "An answer is being written" in told["error"]
    assert place.summaries(words) == []
    place.model.open("turn " + words)
    place.owner.answer(chat)
    assert place.entries(chat) == []


def test_the_command_takes_all_that_waits(place, words):
    """``manage.py consolidate`` does what an idle time does, and says what it did."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    told = json.loads(place.stack.manage("consolidate", "--all", "--json"))
    assert told["ok"]
    (row,) = [one for one in told["conversations"] if one["id"] == chat]
    assert (row["outcome"], row["summaries"], row["raw"]) == ("done", 1, 0)
    assert len(place.entries(chat)) == 1
    again = place.stack.manage("consolidate")
    assert again.strip() == "Everything is in the history already."
    assert "no workspace called" in place.stack.manage(
        "consolidate", "--workspace", "x", check=False
    )


def test_a_crash_between_the_entry_and_the_pointer_repeats_nothing(place, words):
    """The worker is killed when the entry is on disk and the pointer has not moved: whoever
    comes next recognises it, and the model is not asked again."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    with closing(place.database()) as database:
        with locks.hold(place.root, Level.HISTORY):
            place.owner.send(chat, "/compact")
            wait_until(lambda: place.column(chat, "appending_through"), what="the act to begin")
            # From here on nobody else writes to the database.
            database.execute("begin immediate")
        try:
            wait_until(lambda: place.entries(chat), what="the entry")
            worker = place.stack.pids()["memory"]
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: place.stack.pids().get("memory") not in {None, worker})
        finally:
            database.execute("rollback")
    assert place.column(chat, "summarised_through") == 0
    # As if the time of the dead worker's claim had passed.
    place.change(chat, "consolidating_until = null")
    with closing(redis.Redis(unix_socket_path=str(place.stack.data.redis_socket))) as valkey:
        valkey.delete(*valkey.keys("jenny:consolidate:*"))
    place.owner.send(chat, "/compact")
    wait_until(lambda: "There is nothing to summarise" in place.owner.thread(chat))
    assert place.column(chat, "summarised_through") == place.entries(chat)[0].messages[1]
    assert len(place.entries(chat)) == len(place.summaries(words)) == 1
    assert "2 messages summarised" in text_of(place.owner.thread(chat))


def test_a_reply_that_waited_for_a_killed_worker_ends(place, words):
    """/compact's reply does not say "Summarising…" for ever: when its worker is killed, the next
    sweep has it done by another."""
    place.model.script(Gate("kill " + words), FACT.format(words), when=sums(words))
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    wait_until(lambda: place.summaries(words), what="the request")
    worker = place.stack.kill("memory")
    wait_until(lambda: place.stack.pids().get("memory") not in {None, worker})
    place.model.open("kill " + words)
    assert "Summarising what was said here…" in text_of(place.owner.thread(chat))
    # As if the time of the dead worker's claim had passed.
    past = "'2020-01-01 00:00:00'"
    place.change(chat, f"consolidating_until = null, consolidate_after = {past}")
    with closing(redis.Redis(unix_socket_path=str(place.stack.data.redis_socket))) as valkey:
        valkey.delete(*valkey.keys("jenny:consolidate:*"))
    place.sweep()
    wait_until(lambda: "goes on with its last" in text_of(place.owner.thread(chat)))
    assert "Summarising" not in text_of(place.owner.thread(chat))
    assert len(place.entries(chat)) == 1
    assert place.column(chat, "reply_id") == 0


def test_at_the_hard_limit_nobody_waits(place, words):
    """CON8, CON12: what the model could not read is kept word for word before it leaves the
    context, at once; a summary that is under way comes to nothing, and repeats nothing."""
    place.model.script(Gate("hard " + words), FACT.format(words), when=sums(words))
    chat = place.talk(words, 3, Usage(15_500))
    wait_until(lambda: place.summaries(words), what="the summariser to be asked")
    place.model.script("And on.", when=answers("go on " + words))
    place.owner.send(chat, "go on " + words)
    assert "And on." in place.owner.answer(chat)
    (entry,) = place.entries(chat)
    assert entry.kind == "raw"
    assert f"{words} turn 1" in entry.content
    (request,) = asked(place.model, "go on " + words)
    assert f"{words} turn" not in "\n".join(request.texts("user"))
    assert f"{words} turn 1" in json.dumps(request.json["system"])
    assert "kept word for word" in text_of(place.owner.thread(chat))
    place.model.open("hard " + words)
    wait_until(lambda: not place.held(chat), what="the summariser to end")
    assert place.entries(chat) == [entry]


def test_what_is_too_big_is_named(place, words):
    """CON14: when all that may go has gone and it is still too much, the page says which file it
    is, and by how much, beside the meter; and no longer when it was shortened."""
    (place.root / "USER.md").write_text("Ana keeps bees and writes all of it down. " * 1_400)
    try:
        chat = place.talk(words, 1, Usage(15_500))
        page = wait_until(
            lambda: "USER.md is too big" in (found := text_of(place.owner.page(chat))) and found,
            what="the sentence",
        )
        assert "Shorten it by about" in page
        assert (place.summaries(words), place.entries(chat)) == ([], [])
    finally:
        (place.root / "USER.md").unlink()
    place.model.script("Better.", when=answers("again " + words))
    place.owner.send(chat, "again " + words)
    place.owner.answer(chat)
    wait_until(lambda: "USER.md is too big" not in text_of(place.owner.page(chat)), what="it to go")


@pytest.mark.parametrize(
    "refusal",
    [
        "prompt is too long: 215000 tokens > 200000 maximum",
        "request (5000 tokens) exceeds the available context size",
        "Please reduce the length of the messages or completion.",
    ],
)
def test_a_request_that_was_too_long_is_repeated_with_less(place, words, refusal):
    """A model that reads less than the settings say refuses; half of what it was sent goes into
    the history as it is, and the same message is answered without it, visibly."""
    chat = place.talk(words, 3)
    said = "long " + words
    place.model.script(Fail(400, "invalid_request_error", refusal), when=answers(said))
    place.model.script("Now it fits.", when=answers(said))
    place.owner.send(chat, said)
    assert "Now it fits." in place.owner.answer(chat)
    (entry,) = place.entries(chat)
    assert (entry.kind, place.summaries(words)) == ("raw", [])
    assert f"{words} turn 1" in entry.content
    page = text_of(place.owner.page(chat))
    assert "is not sent any more" in page
    assert f"{words} turn 1" in page
    first, second = asked(place.model, said)
    assert f"{words} turn 1" in "\n".join(first.texts("user"))
    assert f"{words} turn 1" not in "\n".join(second.texts("user"))
    assert second.texts("user")[-1].startswith(said)


def test_a_message_that_is_too_long_by_itself_is_not_repeated(place, words):
    """Where nothing may leave, the person is told what is too big, and not to begin anew."""
    place.model.script(Fail(413, "request_too_large"), when=answers(words))
    chat = place.owner.begin(words + " and so on" * 4_500)
    thread = text_of(place.owner.answer(chat))
    assert len(asked(place.model, words)) == 1
    assert "Send it in parts" in thread
    assert "/new" not in thread


def test_an_entry_has_a_page(place, words):
    """It says where it is from and whether Dream has read it, and leads back to what was said.
    Another account's entries are not there."""
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 1)
    place.owner.send(chat, "/compact")
    (entry,) = wait_until(lambda: place.entries(chat), what="the entry")
    wait_until(lambda: place.column(chat, "summarised_through"), what="the pointer")
    address = f"/memory/history/{entry.cursor}/"
    page = place.owner.get(address).text
    assert "Has not read it yet." in text_of(page)
    assert f"keeps {words} bees" in text_of(page)
    back = re.findall(r'href="(/chat/[^"]*/at/\d+)"', page)
    assert len(back) == 2
    assert place.owner.get(back[0]).headers["location"] == f"/chat/{chat}/#m{entry.messages[0]}"
    cursor = place.root / "memory/.dream_cursor"
    cursor.write_text(str(entry.cursor))
    assert "Has read it." in text_of(place.owner.get(address).text)
    cursor.unlink()
    assert place.owner.get("/memory/history/999999/").status_code == 404
    assert place.owner.get(f"/chat/{chat}/at/999999").status_code == 404


def test_a_wish_to_forget_is_noted_and_stored_nowhere(place, words):
    """What the summariser reports as to be forgotten is in no entry, and hidden from models."""
    place.model.script(f"- [forget] collects stamps about {words}", when=sums(words))
    chat = place.talk(words, 1)
    place.idle(chat)
    wait_until(lambda: place.column(chat, "consolidate_after") is None, what="the summary")
    assert place.entries(chat) == []
    forgotten = [row.text for row in suppression.list_tombstones(place.root)]
    assert f"collects stamps about {words}" in forgotten
