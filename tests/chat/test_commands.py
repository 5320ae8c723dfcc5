"""Slash commands: answered at once, shown in the thread, never sent to the model."""

import itertools

import pytest

from jenny.chat.services import commands
from tests.model_server import Gate, Silence
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.waiting import wait_until

COUNTER = itertools.count(1)


@pytest.fixture
def words() -> str:
    """Words that no other test says."""
    return f"command test {next(COUNTER)} {id(COUNTER)}"


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/help", "/help", ""),
        ("  /HELP  ", "/help", ""),
        ("/Model  fast one ", "/model", "fast one"),
        ("/history 20", "/history", "20"),
    ],
)
def test_a_whole_message_in_any_case_is_a_command(text, name, argument):
    """Case and outer white space do not matter."""
    call = commands.parse(text)
    assert call is not None
    assert (call.command.name, call.argument) == (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "help",
        "/unknown",
        "/help me with this",
        "say /help",
        "/model a\nb",
        "/",
        "",
        "/new chat please",
    ],
)
def test_anything_else_is_for_the_model(text):
    """An unknown word, or more than the command takes, is said to the model as it stands."""
    assert commands.parse(text) is None


def test_every_command_has_one_function():
    """The row of a command names the function that carries it out, and one only."""
    for command in commands.COMMANDS:
        assert (command.reply is None) != (command.start is None), command.name


def test_help_lists_every_command(owner):
    """/help and the palette of the page show the same table."""
    chat = owner.begin("/help")
    page = owner.page(chat)
    for command in commands.COMMANDS:
        assert f"<code>{commands.usage(command)}</code>" in page
        assert f'data-name="{command.name}"' in page


def test_commands_never_reach_the_model(owner, model_server, words):
    """Neither a command nor its reply is part of what the model is told."""
    chat = owner.begin("/status")
    owner.send(chat, "/history 5")
    owner.send(chat, words)
    owner.answer(chat)
    (request,) = asked(model_server, words)
    assert [message["role"] for message in request.json["messages"]] == ["user"]
    assert b"/status" not in request.body.split(b'"messages"')[1]


def test_stop_and_status_work_while_a_turn_runs(owner, model_server, words):
    """/status says that an answer is written; /stop ends it."""
    model_server.script("Words", Silence(), when=lambda r: any(words in t for t in r.texts("user")))
    chat = owner.begin(words)
    wait_until(lambda: "Words" in owner.thread(chat), what="the first words")
    owner.send(chat, "/status")
    assert "an answer is being written" in text_of(owner.thread(chat))
    owner.send(chat, "/stop")
    assert "Stopped" in text_of(owner.answer(chat))
    owner.send(chat, "/stop")
    assert "Nothing runs here." in text_of(owner.thread(chat))


def test_new_starts_afresh_and_keeps_the_thread(owner, model_server, words):
    """After /new the model is told nothing of what was said before; the page still shows it."""
    chat = owner.begin(f"before {words}")
    owner.answer(chat)
    owner.send(chat, "/new")
    owner.send(chat, f"after {words}")
    thread = text_of(owner.answer(chat))
    assert f"before {words}" in thread
    assert "New session started." in thread
    (request,) = asked(model_server, f"after {words}")
    assert f"before {words}".encode() not in request.body


def test_new_empties_the_meter(owner, words):
    """After /new the line below the composer says at once that nothing fills the context."""
    chat = owner.begin(words)
    with owner.events(chat) as stream:
        owner.answer(chat)
        filled = stream.wait_for(lambda event: event["kind"] == "meter", "the answer's meter")
        assert not filled["text"].startswith("0 of")
        owner.send(chat, "/new")
        stream.wait_for(lambda event: event.get("text", "").startswith("0 of"), "an empty meter")


def test_new_stops_what_runs_and_passes_over_what_waits(owner, model_server, words):
    """/new in the middle of a turn: it ends, and what waited for it is not read later."""
    model_server.script(Silence(), when=lambda r: any(words in t for t in r.texts("user")))
    chat = owner.begin(words)
    wait_until(lambda: asked(model_server, words), what="the request")
    owner.send(chat, f"waits {words}")
    owner.send(chat, "/new")
    thread = text_of(owner.answer(chat))
    assert "Waiting" not in thread
    owner.send(chat, f"fresh {words}")
    owner.answer(chat)
    assert not asked(model_server, f"waits {words}")
    (request,) = asked(model_server, f"fresh {words}")
    assert len(request.json["messages"]) == 1


@pytest.mark.parametrize("command", ["/help", "/new"])
def test_a_command_that_is_sent_twice_is_one(owner, command):
    """The same form twice, as after a lost answer, leaves one command in the thread."""
    chat = owner.begin("/status")
    for _ in range(2):
        assert owner.send(chat, command, client_key=f"twice {command}").status_code == 200
    page = owner.thread(chat)
    assert page.count('class="item divider"') + page.count('class="item reply"') == 2


def test_stop_that_is_sent_again_stops_no_later_turn(owner, model_server, words):
    """A browser that lost the answer sends the form again; another answer may have begun."""
    chat = owner.begin("/status")
    owner.send(chat, "/stop", client_key=words)
    model_server.script(
        "Before. ",
        Gate(words),
        "After.",
        when=lambda r: any(words in text for text in r.texts("user")),
    )
    owner.send(chat, words)
    wait_until(lambda: "Before." in owner.thread(chat), what="the first words")
    owner.send(chat, "/stop", client_key=words)
    model_server.open(words)
    assert "Before. After." in text_of(owner.answer(chat))


@pytest.mark.parametrize("argument", ["x", "-1", "1.5", "٣", "9" * 400])
def test_history_takes_nonsense_with_a_sentence(owner, argument):
    """Whatever is asked for, an answer comes: a sentence, or at most fifty messages."""
    chat = owner.begin(f"/history {argument}")
    thread = text_of(owner.thread(chat))
    assert "takes a number" in thread or "Nothing has been said" in thread


def test_history_shows_text_as_text(owner, words):
    """What was said stands in /history as it was typed, never as markup."""
    chat = owner.begin(f"**bold** <b>x</b> | `code` {words}")
    owner.answer(chat)
    owner.send(chat, "/history")
    reply = owner.thread(chat).rsplit('class="item reply"', 1)[1]
    assert f"**bold** &lt;b&gt;x&lt;/b&gt; | `code` {words}" in reply


def test_an_unknown_preset_changes_nothing(owner):
    """/model with a wrong name names those that exist."""
    chat = owner.begin("/model no-such-thing")
    thread = text_of(owner.thread(chat))
    assert "There is no model" in thread
    owner.send(chat, "/model DEMO")
    assert "answers in this conversation" in text_of(owner.thread(chat))


def test_a_conversation_is_titled_by_its_first_message(owner, model_server, words):
    """A command that stands before it gives no title."""
    chat = owner.begin(f"/remember {words}")
    assert "<title>New chat · Jenny</title>" in owner.page(chat)
    model_server.script("Yes.", when=lambda asked: f"more {words}" in str(asked.texts("user")))
    owner.send(chat, f"more {words}")
    assert f"<title>more {words}" in owner.page(chat) or "<title>A title" in owner.page(chat)
    owner.answer(chat)
