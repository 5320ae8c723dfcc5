"""The demo model: enough to walk through the product, by rules, and it says so."""

import json
import urllib.error
import urllib.request

import pytest

from jenny.agent import demo, loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, Text, Thinking, text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.tools import Toolbox
from jenny.agent.tools.file_tools import FILE_TOOLS
from jenny.agent.tools.sandbox import PYTHON_EXEC
from jenny.agent.tools.search_tools import SEARCH_TOOLS
from tests.agent.asking import Heard, ask


@pytest.fixture(scope="module")
def server():
    """A demo model that does not take its time."""
    running = demo.serve(pace=0)
    yield running
    running.close()


@pytest.fixture
def source(server):
    """The demo model as a provider."""
    return Provider(Endpoint(server.url, is_demo=True), Preset(name="demo", model="demo"))


@pytest.fixture
def chat(source, context):
    """Say something in a conversation with all tools; gives what was heard."""
    history = []

    def say(text):
        history.append(
            text_message("user", f"{text}\n\n<context>\nNow: Monday, 10:31 (UTC)\n</context>")
        )
        heard = Heard()
        tools = [*FILE_TOOLS.values(), *SEARCH_TOOLS.values(), PYTHON_EXEC]
        outcome = loop.run(
            provider=source,
            system=[
                {
                    "type": "text",
                    "text": "## USER.md\n\n```markdown\n- Likes green tea from Uji.\n```",
                }
            ],
            history=history,
            toolbox=Toolbox(tools, context),
            listener=heard,
            inbox=lambda _: [],
            watch=CancellationToken(),
            limits=Limits(),
        )
        assert outcome.ending == "done"
        history.append(Message("assistant", (Text(heard.written),)))
        return heard

    return say


def _called(heard):
    return [(call.name, result.ok) for call, result, _ in heard.all("tool_finished")]


@pytest.mark.parametrize("words", ["Hello!", "hi", "Good morning Jenny", "Who are you?", "help"])
def test_it_says_what_it_is(chat, words):
    """Nobody takes the rules for a language model."""
    answer = chat(words).written
    assert "demo model" in answer
    assert "no language model" in answer
    assert "Settings → Models" in answer


def test_what_it_has_no_rule_for_it_says(chat):
    """It makes nothing up."""
    answer = chat("Should I move to Lisbon?").written
    assert "I have no rule for that" in answer
    assert "Should I move to Lisbon?" in answer


def test_it_explains_jenny(chat):
    """A visitor learns what the product is about."""
    assert "plain text" in chat("What is Jenny?").written


@pytest.mark.parametrize(
    ("words", "tool", "answer"),
    [
        ("Please list my files", "list_dir", "USER.md"),
        ("what files are in memory?", "list_dir", "MEMORY.md"),
        ("Read USER.md", "read_file", "Likes “short” answers."),
        ("show me memory/MEMORY.md please", "read_file", "Hive two is weak"),
        ("search my files for hive", "grep", "memory/MEMORY.md"),
        ("find files named *.md", "find_files", "USER.md"),
        ("What is 12 * 37?", "python_exec", "**444**"),
        ("calculate (2 + 3) ^ 2", "python_exec", "**25**"),
        ("Run this:\n```python\nprint(sorted('hive'))\n```", "python_exec", "['e', 'h', 'i', 'v']"),
    ],
)
def test_it_uses_the_tools(chat, words, tool, answer):
    """Calls and their results can be seen at work, and the answer holds what they gave."""
    heard = chat(words)
    assert _called(heard) == [(tool, True)]
    assert answer in heard.written


def test_it_writes_a_note(chat, root):
    """A file appears in the workspace, with the person's words."""
    heard = chat("Write a note: water the plants on Friday")
    assert _called(heard) == [("write_file", True)]
    (note,) = (root / "output" / "notes").iterdir()
    assert "water the plants on Friday" in note.read_text()
    assert str(note.relative_to(root)) in heard.written
    assert "<context>" not in note.read_text()


def test_a_call_that_fails_is_told_as_it_is(chat):
    """It does not pretend that something worked."""
    heard = chat("Read nothing-there.md")
    assert _called(heard) == [("read_file", False)]
    assert "did not work" in heard.written


def test_what_a_file_says_cannot_break_out_of_its_frame(chat, root):
    """Text that was read stays marked as such, whatever fences it holds."""
    (root / "fences.md").write_text("````\n# not a heading\n````\n")
    answer = chat("Read fences.md").written
    assert "`````text" in answer


def test_without_a_tool_it_says_so(source):
    """It calls nothing that it was not offered."""
    end = ask(source, "list my files")[-1]
    assert end.stop_reason == "end_turn"
    assert "is off here" in end.parts[0].text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("show me a table", "|:---"),
        ("show me some code", "```python"),
        ("show me a formula", "$$"),
        ("show me all formatting", "- [x]"),
        ("give me a long answer", "### Part 20"),
        ("what time is it?", "10:31"),
        ("what do you know about tea?", "Likes green tea from Uji."),
        ("thank you", "welcome"),
    ],
)
def test_it_shows_what_there_is_to_see(chat, words, shown):
    """Each kind of content can be seen without a model."""
    assert shown in chat(words).written


def test_it_shows_where_thinking_would_be(source):
    """The place of thinking can be seen, signature and all."""
    thinking, text = ask(source, "think about it")[-1].parts
    assert isinstance(thinking, Thinking)
    assert thinking.signature
    assert text.text


def test_it_finds_what_was_said_before(chat):
    """The conversation reaches the model, and can be asked about."""
    chat("My bicycle is in the cellar.")
    answer = chat("What did I say about the bicycle?").written
    assert "> My bicycle is in the cellar." in answer


CONVERSATION = """\
[2026-03-02 09:00] User: Hello Jenny, I'm Ana. My flat has a balcony. Can you list my files?
[2026-03-02 09:01] Jenny: I am a set of rules. I like balconies.
[2026-03-02 09:02] User: I no longer work at the library. Tomorrow I have a dentist's appointment!
"""


def test_asked_to_summarise_it_extracts_what_was_stated(source):
    """Facts come from what the person states; questions and the assistant's words give none."""
    system = [{"type": "text", "text": "Summarise the conversation as facts to remember."}]
    (text,) = ask(source, CONVERSATION, system=system)[-1].parts
    assert text.text.splitlines() == [
        "- [durable] The user is Ana.",
        "- [durable] The user's flat has a balcony.",
        "- [correction] The user no longer works at the library.",
        "- [dated 2026-03-03] Tomorrow 2026-03-03 the user has a dentist's appointment.",
    ]


def test_a_weekday_in_old_letters_is_a_day(source):
    """A long s in a day's name does not end the answer."""
    system = [{"type": "text", "text": "Summarise the conversation as facts to remember."}]
    said = "[2026-03-02 09:00] User: I have a dentist's appointment on Thurſday."
    (text,) = ask(source, said, system=system)[-1].parts
    assert text.text.startswith("- [dated 2026-03-05]")


def test_asked_to_summarise_nothing_it_says_so(source):
    """A conversation without facts leaves nothing behind."""
    system = [{"type": "text", "text": "Summarise the conversation."}]
    (text,) = ask(source, "User: Can you help me?\nJenny: Yes, I can.", system=system)[-1].parts
    assert text.text == "(nothing)"


@pytest.mark.parametrize(
    ("said_first", "title"),
    [
        ("Could you help me plan a trip to Porto in May?", "Help me plan a trip"),
        ("hello", "Conversation"),
        ("# Bees\nWhat do they eat?", "Bees"),
    ],
)
def test_asked_for_a_title_it_gives_a_short_one(source, said_first, title):
    """Conversations get names that tell them apart."""
    system = [{"type": "text", "text": "Give the conversation below a title."}]
    exchange = f"User: {said_first}\n\nJenny: Let me see."
    (text,) = ask(source, exchange, system=system)[-1].parts
    assert text.text == title


def test_it_streams_in_small_pieces(source):
    """Words appear one after another, as with a model, and nothing of them is lost."""
    events = ask(source, "show me all formatting")
    deltas = [event.text for event in events if hasattr(event, "text")]
    assert len(deltas) > 100
    assert "".join(deltas) == events[-1].parts[0].text


def test_it_counts(source):
    """The meter and the counters have something to show."""
    short, long = (ask(source, "x" * size)[-1].usage for size in (10, 4000))
    assert long.input > short.input + 900
    assert short.output > 10
    counted = source.count_tokens(
        system=[],
        messages=[text_message("user", "x" * 4000)],
        tools=[],
        watch=CancellationToken(),
        limits=Limits(),
    )
    assert counted > 900


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"nonsense", 400),
        (b"[]", 400),
        (b"{}", 400),
        (b'{"model": "demo", "messages": 3}', 400),
        (b'{"model": "demo", "messages": [{"role": "assistant", "content": "a"}]}', 400),
        (b'{"model": "demo", "messages": [{"role": "user", "content": []}]}', 400),
        (
            json.dumps(
                {
                    "model": "demo",
                    "messages": [
                        {"role": "user", "content": "a"},
                        {
                            "role": "assistant",
                            "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}],
                        },
                    ],
                }
            ).encode(),
            400,
        ),
    ],
)
def test_it_refuses_what_a_provider_refuses(server, body, status):
    """What would fail with a real model fails here as well, and not only there."""
    request = urllib.request.Request(f"{server.url}/v1/messages", data=body)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=20)
    with caught.value as answer:
        assert answer.code == status
        assert json.loads(answer.read())["error"]["type"] == "invalid_request_error"


def test_it_listens_on_loopback_only(server):
    """Nobody else can ask it."""
    assert server.url.startswith("http://127.0.0.1:")
