"""Earlier lines that fit a message of a personal chat are put behind it for the model."""

import json

import pytest

from jenny.workspace.files import Actor
from memory import suppression
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import SETTINGS, answers


@pytest.fixture(autouse=True)
def is_on(place):
    """The setting as it is by default."""
    _settings(place, SETTINGS | {"relatedLines": True})


def _settings(place, defaults) -> None:
    (place.root / "config.json").write_text(json.dumps({"agents": {"defaults": defaults}}))


def say(place, said: str, **form: str) -> tuple[str, str]:
    """Begin a conversation with a message; what the model got as it, and the thread."""
    place.model.script("Noted.", when=answers(said))
    answer = place.owner.post("/chat/send", text=said, **form)
    thread = text_of(place.owner.answer(str(answer.json()["conversation"])))
    return asked(place.model, said)[0].texts("user")[-1], thread


def test_lines_of_other_conversations_come_with_the_message_and_are_named(place):
    """Below the answer a note names them; nothing comes with a greeting."""
    say(place, "The zeppelin Hilda landed near Bregenz at noon")
    got, thread = say(place, "Where had the zeppelin Hilda landed?")
    assert "landed near Bregenz at noon" in got
    assert "Also looked at" in thread
    assert "landed near Bregenz" in thread
    got, thread = say(place, "Hello, how are you today?")
    assert "On record" not in got
    assert "Also looked at" not in thread


def test_the_setting_turns_them_off(place):
    say(place, "The airship Norge crossed the pole in spring")
    _settings(place, SETTINGS | {"relatedLines": False})
    got, thread = say(place, "When had the airship Norge crossed the pole?")
    assert "in spring" not in got
    assert "Also looked at" not in thread


def test_a_forgotten_line_and_another_projects_never_come(place):
    """Neither what was forgotten nor what was said or written in a project."""
    (place.root / "wikis/bees/wiki").mkdir(parents=True)
    (place.root / "wikis/bees/wiki/index.md").write_text("The queen Beatrix hatched in hive nine\n")
    say(place, "The queen Beatrix hatched in the seventh hive", project="bees")
    line = "The queen Beatrix hatched in the fourth hive"
    say(place, line)
    (place.root / "USER.md").write_text(f"- {line}\n")
    suppression.forget(place.root, line, Actor("command"))
    got, _ = say(place, "Where was the queen Beatrix hatched?")
    assert not any(word in got for word in ("seventh", "fourth", "nine"))


def test_a_chat_goes_on_without_an_index(place):
    """Where the index is no file that can be opened, the answer comes all the same."""
    say(place, "The comet Encke comes back in three years")
    files = list((place.stack.data.cache / "search").glob("*.sqlite3*"))
    assert files
    for file in files:
        file.unlink()
        file.mkdir()
    _, thread = say(place, "Which comet has the longest tail?")
    assert "Noted." in thread
