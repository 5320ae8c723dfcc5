"""The demo model understands what a newcomer types first."""

from datetime import UTC, datetime, timedelta

import pytest

from jenny.agent import clock, demo, loop
from jenny.agent.cancellation import CancellationToken
from jenny.agent.limits import Limits
from jenny.agent.messages import text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.tools import Toolbox, ToolContext
from jenny.agent.tools.chart_tool import PLOT
from jenny.agent.tools.file_tools import FILE_TOOLS
from jenny.agent.tools.sandbox import PYTHON_EXEC
from jenny.agent.tools.search_tools import SEARCH_TOOLS
from jenny.chat import prompt
from jenny.workspace import seed
from jenny.workspace.files import Actor, open_workspace
from memory import write_rules
from memory.history import reader
from memory.tools import MEMORY_TOOLS
from tests.agent.asking import Heard

USER = """\
# User

## Identity

- The user's name is Ana.
- The user's birthday is 3 May.

## Preferences and habits

- The user drinks green tea.
- The user has two cats.
"""
# Each with the tools that are called, and words of the answer.
SENTENCES = [
    # Names
    ("My name is Ana", "remember", "Nice to meet you, Ana."),
    ("my name's ana", "remember", "name's ana"),
    ("I'm Ana", "remember", "Nice to meet you, Ana."),
    ("I am Ana.", "remember", "Nice to meet you, Ana."),
    ("Hi, I’m Ana!", "remember", "Nice to meet you, Ana."),
    ("Hello Jenny, my name is Ana", "remember", "Nice to meet you, Ana."),
    ("Call me Ana", "remember", "The user wants to be called Ana."),
    ("You can call me Ana", "remember", "The user wants to be called Ana."),
    ("Please note that my name is Ana", "remember", "The user's name is Ana."),
    ("Please note in USER.md: my name is Ana", "remember", "The user's name is Ana."),
    # Facts
    ("I live in Prague", "remember", "The user lives in Prague."),
    ("I have two dogs", "remember", "The user has two dogs."),
    ("I was born in 1990.", "remember", "The user was born in 1990."),
    ("My wife is called Eva", "remember", "The user's wife is called Eva."),
    ("I don't eat meat", "remember", "The user does not eat meat."),
    ("I am allergic to peanuts", "remember", "The user is allergic to peanuts."),
    ("i work as a nurse", "remember", "The user works as a nurse."),
    ("I usually go to bed at ten", "remember", "The user usually goes to bed at ten."),
    ("I study law", "remember", "The user studies law."),
    ("We moved to Brno last year", "remember", "We moved to Brno last year."),
    ("Our dog is called Rex", "remember", "The user's dog is called Rex."),
    ("I live in Prague. I work as a nurse.", "remember remember", "lives in Prague"),
    ("Mein Geburtstag ist der 5. Mai 1979.", "remember", "Geburtstag ist der 5. Mai 1979."),
    ("I prefer short answers", "remember", "The user prefers short answers."),
    # Remember
    ("Remember that I drink oolong", "remember", "The user drinks oolong."),
    ("remember my dentist is Dr Novak", "remember", "The user's dentist is Dr Novak."),
    ("Please remember: the bins go out on Tuesday", "remember", "The bins go out on Tuesday."),
    ("Can you remember that I park on level 3?", "remember", "The user parks on level 3."),
    ("Don't forget that I have a dentist's appointment", "remember", "The user has a dentist's"),
    ("Keep in mind that I am left-handed", "remember", "The user is left-handed."),
    ("Note that I use metric units", "remember", "The user uses metric units."),
    ("Could you please save this: my locker is number 12", "remember", "locker is number 12."),
    # Greetings
    ("Hi", "", "Hello!"),
    ("hello there", "", "Hello!"),
    ("Hey Jenny", "", "Hello!"),
    ("Good morning!", "", "Hello!"),
    ("Nice to meet you", "", "Hello!"),
    ("How are you?", "", "Hello!"),
    ("test", "", "Hello!"),
    ("Thanks a lot", "", "You're welcome."),
    # What she knows
    ("What do you know about me?", "", "> The user has two cats."),
    ("what do you remember?", "", "> The user drinks green tea."),
    ("Do you remember me?", "", "> The user's name is Ana."),
    ("Tell me what you know about me", "", "> The user's name is Ana."),
    ("Who am I?", "", "> The user's name is Ana."),
    ("What is my name?", "", "> The user's name is Ana."),
    ("Do you know my name?", "recall", "> The user's name is Ana."),
    ("When's my birthday?", "", "> The user's birthday is 3 May."),
    ("What do I drink?", "", "> The user drinks green tea."),
    ("Where do I live?", "", "> The user's name is Ana."),
    # Help
    ("help", "", "“My name is Ana”"),
    ("?", "", "“My name is Ana”"),
    ("What can you do?", "", "What I can do by rule"),
    ("What can I ask you?", "", "What I can do by rule"),
    ("How does this work?", "", "What I can do by rule"),
    ("How do I start?", "", "What I can do by rule"),
    ("What is this?", "", "personal assistant that you host yourself"),
    ("Who are you?", "", "demo model"),
    ("Are you an AI?", "", "no language model"),
    ("Are you ChatGPT?", "", "demo model"),
    ("What's your name?", "", "demo model"),
    ("How does your memory work?", "", "every chat knows it"),
    ("Where is my data stored?", "", "on this machine"),
    ("Is this private?", "", "on this machine"),
    # Forget
    ("Forget that I drink green tea", "forget", "The user drinks green tea."),
    ("Please forget my birthday", "forget", "The user's birthday is 3 May."),
    ("Can you forget my name?", "forget", "The user's name is Ana."),
    ("forget about the cats", "forget", "The user has two cats."),
    ("Forget everything about me", "", "one thing at a time"),
    ("Delete my data", "", "one thing at a time"),
    # Other things
    ("2+2", "python_exec", "**4**"),
    ("What's 15% of 86.40?", "python_exec", "**12.96**"),
    ("Draw a chart of 3, 5 and 8", "plot", "![Bar chart: 3 numbers. Numbers: 1. 3, 2. 5, 3. 8."),
    ("plot a line chart of 1 2 4.5", "plot", "![Line chart: 3 numbers."),
    ("Show me my files", "list_dir", "USER.md"),
    ("What day is it today?", "", "10:31"),
    ("Tell me a joke", "", "That takes a language model."),
    ("What's the weather like?", "", "That takes a language model."),
    ("Write a poem about tea", "", "That takes a language model."),
]


@pytest.fixture(scope="module")
def provider():
    """The demo model as a provider; it does not take its time."""
    running = demo.serve(pace=0)
    yield Provider(Endpoint(running.url, is_demo=True), Preset(name="demo", model="demo"))
    running.close()


@pytest.fixture
def chat(provider, tmp_path):
    """Say something in a new conversation with a chat's prompt and tools; what was heard."""
    write_rules.install()
    place = open_workspace(tmp_path, Actor("setup"))
    seed.seed(place)
    place.write("USER.md", USER.encode())

    def say(text, *, kind="personal", now="Monday, 10:31 (UTC)"):
        tools = [*FILE_TOOLS.values(), *SEARCH_TOOLS.values(), PLOT, PYTHON_EXEC]
        tools += MEMORY_TOOLS.values() if kind == "personal" else [MEMORY_TOOLS["recall"]]
        box = Toolbox(tools, ToolContext(open_workspace(tmp_path, Actor("chat", run="turn:1"))))
        heard = Heard()
        loop.run(
            provider=provider,
            system=prompt.build(kind, tmp_path, tool_names=[tool.name for tool in tools]).wire(),
            history=[text_message("user", f"{text}\n\n<context>\nNow: {now}\n</context>")],
            toolbox=box,
            listener=heard,
            inbox=lambda _: [],
            watch=CancellationToken(),
            limits=Limits(),
        )
        return heard

    say.root = tmp_path
    return say


@pytest.mark.parametrize(("sentence", "tools", "answer"), SENTENCES)
def test_what_a_newcomer_types_first_is_understood(chat, sentence, tools, answer):
    """It is answered to the point, with the tools that it takes, and each of them works."""
    heard = chat(sentence)
    finished = heard.all("tool_finished")
    assert [call.name for call, _, _ in finished] == tools.split(), heard.written
    assert all(result.ok for _, result, _ in finished), heard.written
    assert answer in heard.written
    assert "no rule for that" not in heard.written


@pytest.mark.parametrize(
    "sentence", ["My dentist appointment is tomorrow.", "Remember that I see the dentist tomorrow"]
)
def test_a_day_to_come_is_noted_by_its_date(chat, sentence):
    """The line is still right when it is read later, and it is shown until that day is over."""
    now = datetime.now(UTC)
    chat(sentence, now=clock.describe_now(now, UTC))
    day = now.date() + timedelta(1)
    (note,) = reader.read_pending(chat.root).entries
    assert f"tomorrow {day}" in note.content
    assert f"dated {day}" in note.content


@pytest.mark.parametrize("text", ["Should I move to Lisbon?", "I want you to sing", "I don't know"])
def test_a_question_or_a_request_is_no_fact(chat, text):
    """Only what a person states about themselves is noted."""
    chat(text)
    assert reader.read_pending(chat.root).entries == ()


def test_where_several_lines_fit_it_asks_which_one(chat):
    """“Forget” takes out one line, never several that sound alike."""
    text = f"{USER}- The user has two dogs.\n"
    open_workspace(chat.root, Actor("setup")).write("USER.md", text.encode())
    heard = chat("Forget that I have two")
    assert "> The user has two cats.\n> The user has two dogs." in heard.written
    assert not heard.all("tool_finished")
    assert (chat.root / "USER.md").read_text() == text


def test_a_temporary_chat_says_that_it_keeps_nothing(chat):
    """What cannot be noted is not said to be noted."""
    heard = chat("My name is Ana", kind="temporary")
    assert "leaves no memory" in heard.written
    assert reader.read_pending(chat.root).entries == ()
