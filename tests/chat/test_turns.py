"""Turns over a real instance: web server, queue, worker, Valkey and a model's server."""

import html as html_module
import itertools
import json
import re
import threading

import pytest

from jenny.chat.stream import Position
from tests.model_server import Call, Cut, Drop, Fail, Gate, Say, Silence, Stop
from tests.support.chat import asked
from tests.support.client import Client, text_of
from tests.support.stack import PASSWORD
from tests.support.waiting import wait_until

COUNTER = itertools.count(1)


@pytest.fixture
def words() -> str:
    """Words that no other test says."""
    return f"question {next(COUNTER)} of {threading.get_ident()}"


def only_for(words: str):
    """A rule for scripts: the request's newest user text holds *words*."""

    def rule(request) -> bool:
        texts = request.texts("user") if request.path == "/v1/messages" else []
        return bool(request.json.get("tools")) and any(words in text for text in texts)

    return rule


def test_a_message_is_answered_and_the_answer_is_stored(owner, model_server, words):
    """What the model says is formatted, shown and still there on the next visit."""
    model_server.script("A **bold** answer.", when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    assert "<strong>bold</strong>" in thread
    assert owner.page(chat).count("<strong>bold</strong>") == 1


def test_the_users_message_is_stored_before_the_model_is_asked(owner, model_server, words):
    """CHA2: whatever becomes of the model, what was sent is in the thread at once."""
    model_server.script(Gate("never " + words), "late", when=only_for(words))
    chat = owner.begin(words)
    assert words in text_of(owner.thread(chat))
    model_server.open("never " + words)
    owner.answer(chat)


def test_tools_run_and_show_their_result(owner, model_server, words, scripted):
    """A tool call is carried out in the workspace and shown with its result."""
    path = f"note-{next(COUNTER)}.md"
    model_server.script(
        "I write it down.",
        Call("write_file", {"path": path, "content": "remember\n"}),
        when=only_for(words),
    )
    model_server.script("Done.", when=only_for(words))
    chat = owner.begin(words)
    thread = text_of(owner.answer(chat))
    assert "write_file" in thread
    assert "Done." in thread
    written = list(scripted.data.workspaces.glob(f"*/{path}"))
    assert [file.read_text() for file in written] == ["remember\n"]
    second = asked(model_server, words)[1]
    assert [result["type"] for result in second.results()] == ["tool_result"]


def test_every_event_comes_once_and_in_order(owner, model_server, words):
    """CHA3, CHA8: what a page gets live, what it gets after coming back, and what is stored
    is the same; positions only rise."""
    gates = [f"{words} {number}" for number in range(3)]
    parts = [f"Paragraph {number} of it.\n\n" for number in range(3)]
    script = [
        act for gate, part in zip(gates, parts, strict=True) for act in (Gate(gate), Say(part))
    ]
    model_server.script(*script, when=only_for(words))
    chat = owner.begin(words)
    with owner.events(chat) as live:
        live.wait_for(lambda event: event.get("state") == "running")
        model_server.open(gates[0])
        live.wait_for(lambda event: "Paragraph 0" in event.get("html", ""))
        middle = live.position()
        with owner.events(chat, after=middle) as late:
            model_server.open(gates[1])
            model_server.open(gates[2])
            owner.answer(chat)
            # The title comes last of all, some time after the turn is over.
            for stream in (live, late):
                stream.wait_for(lambda event: event["kind"] == "title")
            positions = [Position.parse(identifier) for identifier, _ in live.events]
            assert positions == sorted(set(positions))
            behind = [one for one in live.events if Position.parse(one[0]) > Position.parse(middle)]
            assert late.events == behind
    final = next(event for _, event in live.events if event["kind"] == "final")
    assert final["html"] in owner.page(chat)


def test_a_finished_answer_starts_nothing_when_it_is_read(owner, model_server, words):
    """CHA4: opening pages and streams of a finished turn asks no model and starts no turn."""
    model_server.script("Finished.", when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    before = len(asked(model_server, words))
    for _ in range(3):
        position = owner.position(chat)
        with owner.events(chat, after=position) as stream:
            owner.page(chat)
            # What was stored at the end may still be on its way; nothing begins anew.
            states = {event.get("state") for _, event in list(stream.events)}
            assert not states & {"queued", "running"}
        with owner.events(chat, after="0-0") as stream:
            stream.wait_for(lambda event: event.get("state") == "idle")
    assert len(asked(model_server, words)) == before == 1


def test_stop_keeps_what_was_written(owner, model_server, words):
    """Stop ends the turn within moments even when the model is silent; the text stays."""
    model_server.script("The beginning", Silence(), when=only_for(words))
    chat = owner.begin(words)
    wait_until(lambda: "The beginning" in owner.thread(chat), what="the first words")
    owner.post(f"/chat/{chat}/stop")
    thread = text_of(owner.answer(chat))
    assert "The beginning" in thread
    assert "Stopped" in thread


def test_stop_before_the_first_word(owner, model_server, words):
    """Stop works while the model has not said anything at all."""
    model_server.script(Silence(), when=only_for(words))
    chat = owner.begin(words)
    wait_until(lambda: asked(model_server, words), what="the request")
    owner.post(f"/chat/{chat}/stop")
    assert "Stopped" in text_of(owner.answer(chat))


def test_a_message_sent_meanwhile_is_folded_in(owner, model_server, words):
    """What is sent while a turn runs is read at its next step, once, and by the same turn."""
    model_server.script(Gate("tool " + words), Call("list_dir", {"path": ""}), when=only_for(words))
    model_server.script("Both read.", when=only_for(words))
    chat = owner.begin(words)
    wait_until(lambda: asked(model_server, words), what="the first request")
    owner.send(chat, "and this too")
    assert "Waiting" in text_of(owner.thread(chat))
    model_server.open("tool " + words)
    thread = text_of(owner.answer(chat))
    assert "Waiting" not in thread
    first, second = asked(model_server, words)
    assert not any("and this too" in text for text in first.texts("user"))
    assert sum("and this too" in text for text in second.texts("user")) == 1
    kinds = [block["type"] for block in second.json["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text"]


def test_a_message_sent_at_the_very_end_is_answered_too(owner, model_server, words):
    """A message that comes while the last words arrive is not left lying."""
    model_server.script("First.", Gate("end " + words), when=only_for(words))
    model_server.script("Second.", when=only_for(words))
    chat = owner.begin(words)
    wait_until(lambda: "First." in owner.thread(chat), what="the first words")
    owner.send(chat, "one more")
    model_server.open("end " + words)
    wait_until(lambda: "Second." in owner.thread(chat), what="the second answer")
    assert "Waiting" not in text_of(owner.answer(chat))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ([Fail(401)], "key"),
        ([Fail(400)], ""),
        ([Fail(404)], ""),
    ],
)
def test_a_refusal_is_said_with_its_reason_and_can_be_retried(
    owner, model_server, words, script, message
):
    """A 4xx is not tried again by itself; the message stays and offers to try again."""
    model_server.script(*script, when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    assert len(asked(model_server, words)) == 1
    assert words in text_of(thread)
    assert message in text_of(thread)
    assert f'action="/chat/{chat}/retry"' in thread


@pytest.mark.parametrize("script", [[Fail(529)], [Fail(500)], [Drop()]])
def test_a_passing_fault_is_tried_again_with_a_note(owner, model_server, words, script):
    """Overload, a server error or a lost connection: a visible note, then the answer."""
    model_server.script(*script, when=only_for(words))
    model_server.script("There it is.", when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    assert "There it is." in thread
    assert 'class="note"' in thread
    assert len(asked(model_server, words)) == 2


def test_only_the_newest_note_of_a_retry_stays(owner, model_server, words):
    """However often it is tried again, one line says so."""
    for _ in range(2):
        model_server.script(Fail(529), when=only_for(words))
    model_server.script("There it is.", when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    assert "There it is." in thread
    assert thread.count('class="note"') == 1


@pytest.mark.parametrize("fault", [Drop(), Cut()])
def test_a_stream_that_breaks_off_is_begun_anew_and_shown_once(owner, model_server, words, fault):
    """A drop in the middle, or an end without an end: no half answer stays beside the whole."""
    model_server.script("Half of ", Say("the answ"), fault, when=only_for(words))
    model_server.script("The whole answer.", when=only_for(words))
    chat = owner.begin(words)
    with owner.events(chat) as stream:
        thread = owner.answer(chat)
        stream.wait_for(lambda event: event.get("state") == "idle")
    assert text_of(thread).count("The whole answer.") == 1
    assert "Half of" not in text_of(thread)
    told = "".join(e.get("html", "") for _, e in stream.events)
    shown = set(re.findall(r'id="(b\d+)"', told))
    dropped = {e["id"] for _, e in stream.events if e["kind"] == "drop"}
    assert dropped
    assert dropped < shown


def test_retry_runs_the_same_message_again(owner, model_server, words):
    """Try again asks the model for the same message, once, and keeps the thread in order."""
    model_server.script(Fail(401), when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    turn = thread.split('name="turn" value="')[1].split('"')[0]
    model_server.script("Now it works.", when=only_for(words))
    owner.post(f"/chat/{chat}/retry", turn=turn)
    thread = wait_until(
        lambda: t if "Now it works." in (t := owner.thread(chat)) else "", what="the answer"
    )
    owner.post(f"/chat/{chat}/retry", turn=turn)
    owner.answer(chat)
    first, second = asked(model_server, words)
    assert first.json["messages"][0]["content"][0]["text"].startswith(words)
    assert len(second.json["messages"]) == 1
    assert text_of(thread).count(words) == 1


def test_a_form_sent_twice_is_one_message(owner, model_server, words):
    """A double click, or a retry of the browser, does not say it twice."""
    model_server.script("Once.", when=only_for(words))
    chat = owner.begin("hello " + words)
    owner.answer(chat)
    for _ in range(3):
        assert owner.send(chat, "again " + words, client_key="k1").status_code == 200
    thread = text_of(owner.answer(chat))
    assert thread.count("again " + words) == 1


def test_two_sends_at_once_make_one_turn(owner, model_server, words):
    """Messages that come at the same moment never make two turns run at once."""
    chat = owner.begin("start " + words)
    owner.answer(chat)
    threads = [
        threading.Thread(target=owner.send, args=(chat, f"number {n} {words}")) for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = wait_until(lambda: t if "Waiting" not in (t := text_of(owner.answer(chat))) else "")
    for number in range(6):
        assert shown.count(f"number {number} {words}") == 1
    for request in asked(model_server, words):
        roles = [message["role"] for message in request.json["messages"]]
        assert all(one != other for one, other in itertools.pairwise(roles))


def test_the_earlier_part_of_a_request_repeats_byte_for_byte(owner, model_server, words):
    """The provider's cache holds: system, tools and all earlier messages do not change."""
    chat = owner.begin("first " + words)
    owner.answer(chat)
    owner.send(chat, "second " + words)
    owner.answer(chat)
    owner.send(chat, "third " + words)
    owner.answer(chat)
    requests = [without_marks(request.json) for request in asked(model_server, words)]
    for one, next_one in itertools.pairwise(requests):
        assert one["system"] == next_one["system"]
        assert one["tools"] == next_one["tools"]
        assert next_one["messages"][: len(one["messages"])] == one["messages"]


def without_marks(body):
    """A request without its cache breakpoints, which move."""
    return json.loads(
        json.dumps(body),
        object_hook=lambda d: {key: value for key, value in d.items() if key != "cache_control"},
    )


def test_an_answer_cut_by_the_limit_says_so_and_can_go_on(owner, model_server, words):
    """A reply that reached its limit is marked, and offers to continue."""
    model_server.script("A long st", Stop("max_tokens"), when=only_for(words))
    chat = owner.begin(words)
    thread = owner.answer(chat)
    assert "Continue" in text_of(thread)
    assert "A long st" in thread


@pytest.mark.parametrize(
    "nonsense",
    ["", "   \n ", "\x00\x00"],
)
def test_an_empty_message_is_refused_with_a_sentence(owner, nonsense):
    """Nothing to send is said, with 422, and starts nothing."""
    answer = owner.post("/chat/send", text=nonsense)
    assert answer.status_code == 422
    assert "empty" in answer.json()["message"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "lone \ud800 surrogate",
        "nul \x00 inside",
        "\u202e right to left",
        "emoji 👩‍👩‍👧‍👦 " * 50,
        "/unknown command",
    ],
)
def test_strange_text_goes_through_whole_and_harmless(owner, model_server, words, text):
    """What a person types is shown as it was typed, never as markup, and reaches the model."""
    raw = f"{text} {words}".encode("utf-8", "surrogatepass")
    body = b"text=" + b"".join(b"%%%02X" % byte for byte in raw)
    answer = owner.http.post(
        "/chat/send",
        content=body,
        headers={
            "Accept": "application/json",
            "X-CSRFToken": owner.token(),
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    assert answer.status_code == 200, answer.text
    chat = answer.json()["conversation"]
    thread = owner.answer(chat)
    assert "<script>alert" not in thread
    assert "<img src=x" not in thread
    assert words in html_module.unescape(thread)
    assert asked(model_server, words)


def test_times_are_the_persons_own_live_and_stored(scripted, model_server, words):
    """What the worker renders shows the same clock as the page: the person's zone, not UTC."""
    made = (
        "from jenny.accounts.models import Account; "
        f"Account.objects.make_account('east', '{PASSWORD}', 'Asia/Kathmandu')"
    )
    scripted.manage("shell", "-c", made)
    person = Client(scripted.url).login("east", PASSWORD)
    model_server.script("Namaste.", when=only_for(words))
    chat = person.begin(words)
    with person.events(chat) as stream:
        thread = person.answer(chat)
        stream.wait_for(lambda event: event.get("state") == "idle")
    items = [event["html"] for _, event in stream.events if event["kind"] == "item"]
    assert items
    clocks = set(re.findall(r">(\d\d:\d\d)</time>", thread))
    for html in items:
        assert set(re.findall(r">(\d\d:\d\d)</time>", html)) <= clocks
    (request,) = asked(model_server, words)
    assert "Asia/Kathmandu, UTC+05:45" in request.texts("user")[0]
