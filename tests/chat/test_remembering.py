"""What is remembered, forgotten and looked up in a chat: tools, commands, the button."""

import pytest

from jenny.agent.tools import Toolbox, ToolContext
from jenny.chat.tools import toolbox_for
from jenny.workspace import config, seed
from jenny.workspace.files import Actor, open_workspace
from memory import suppression, write_rules
from memory.history import log, reader
from memory.history.entries import NewHistoryEntry
from memory.history.prompt import block
from memory.tools import MEMORY_TOOLS

USER = b"# User\n\n## Home\n\n- Lives in Bern since 2011\n- Has two cats called Kit and Kat\n"


@pytest.fixture
def root(tmp_path):
    """A workspace with two facts."""
    write_rules.install()
    place = open_workspace(tmp_path, Actor("setup"))
    seed.seed(place)
    place.write("USER.md", USER)
    return place.root


@pytest.fixture
def box(root):
    """The tools as a turn of a personal chat has them."""
    place = open_workspace(root, Actor("chat", run="turn:1"))
    return Toolbox(list(MEMORY_TOOLS.values()), ToolContext(place, zone="Europe/Zurich"))


def test_what_is_remembered_is_in_every_prompt_at_once(root, box):
    """A note tagged permanent, without the secret in it; and nothing that says nothing."""
    key = "sk-ant-api03-" + "a1B2c3D4e5" * 9
    done = box.call("remember", {"text": f"Allergic to nuts.\nThe key is {key}"})
    assert done.ok
    (entry,) = reader.read_pending(root).entries
    assert entry.kind == "note"
    assert entry.content.startswith("- [permanent] Allergic to nuts. The key is ")
    assert key not in entry.content
    assert "A secret was left out" in done.content
    assert "Allergic to nuts" in block(root).text
    for text in ("", " .", "x" * 2_001):
        assert not box.call("remember", {"text": text}).ok
    assert len(reader.read_pending(root).entries) == 1


def test_the_model_cannot_bring_back_what_was_forgotten(root, box):
    """Forgetting takes the line out and keeps it out: it is refused to the model with the reason,
    is not recalled, and hides what waits in the history; other lines stay."""
    log.append(root, [NewHistoryEntry("- [durable] Lives in Bern since 2011")])
    done = box.call("forget", {"text": "Lives in Bern since 2011"})
    assert done.ok
    assert "USER.md: “Lives in Bern since 2011”" in done.content
    assert (root / "USER.md").read_bytes() == USER.replace(b"- Lives in Bern since 2011\n", b"")
    assert block(root) is None
    again = box.call("remember", {"text": "Lives in Bern since 2011."})
    assert not again.ok
    assert "that this be forgotten" in again.content
    assert "What was forgotten is not shown" in box.call("recall", {"query": "Bern"}).content


def test_words_that_mean_too_much_forget_nothing(root, box):
    """Where the words stand in many lines, the lines are named and nothing is done."""
    lines = b"".join(b"- Cat number %d is grey\n" % number for number in range(9))
    open_workspace(root, Actor("chat")).write("USER.md", USER + lines)
    done = box.call("forget", {"text": "grey"})
    assert not done.ok
    assert "stand in 9 lines" in done.content
    assert "(/memory/lines/forget?words=grey)" in done.content
    assert suppression.list_tombstones(root) == ()
    assert (root / "USER.md").read_bytes() == USER + lines


def test_what_left_is_recalled_and_brought_back(root, box):
    """An archived fact is found by words and by id, and comes back by id; a temporary chat only
    looks."""
    place = open_workspace(root, Actor("chat", run="turn:2"))
    place.edit("USER.md", lambda data: data.replace(b"- Lives in Bern since 2011\n", b""))
    found = box.call("recall", {"query": "bern"})
    assert "Lives in Bern since 2011" in found.content
    (name,) = found.data["ids"]
    assert name in box.call("recall", {"query": name[:6]}).content
    done = box.call("recall", {"query": name, "bring_back": True})
    assert done.ok
    assert b"- Lives in Bern since 2011\n" in (root / "USER.md").read_bytes()
    assert not box.call("recall", {"query": "x" * 501}).ok


def test_a_full_file_refuses_no_turn(root, box):
    """Budgets bind Dream alone: a chat writes into a file that is over its budget."""
    config.change_config(
        root,
        lambda doc: doc.setdefault("agents", {}).update(
            {"defaults": {"dream": {"userBudgetChars": 50}}}
        ),
    )
    place = open_workspace(root, Actor("chat", run="turn:3"))
    place.write("USER.md", USER + b"- One more\n" * 50)
    assert box.call("forget", {"text": "Lives in Bern since 2011"}).ok


def test_no_tool_of_the_chat_shows_what_was_forgotten(root):
    """Not the list of what is forgotten, the history, its segments, the archive, or a file in which
    a line was written again by hand; not by reading, searching, editing beside it, or code. Other
    lines are shown under their own numbers, and wikis are not searched."""
    place = open_workspace(root, Actor("setup"))
    place.write("wikis/sport/index.md", b"# Sport\n\nAna plays golf.\n")
    chat = open_workspace(root, Actor("chat"))
    chat.write("USER.md", USER + b"- Plays golf on Sundays\n- Sings in a choir\n")
    chat.write("USER.md", USER + b"- Sings in a choir\n")
    said = "- [durable] On Sundays the user plays golf\n- [durable] Sings in a choir"
    log.append(root, [NewHistoryEntry(said)])
    segment = root / "memory" / "archive" / "history-2026-10.jsonl"
    segment.write_bytes((root / "memory" / "history.jsonl").read_bytes())
    suppression.forget(root, "Plays golf on Sundays", Actor("command"))
    (root / "USER.md").write_bytes(USER + b"- Golf: she plays it on Sundays\n- Sings in a choir\n")
    box = toolbox_for("personal", root, run="turn:1")
    calls = [
        ("grep", {"pattern": "(?i)golf|choir", "path": "memory"}),
        ("grep", {"pattern": "(?i)golf|choir", "path": "USER.md", "lines_around": 2}),
        ("read_file", {"path": "memory/.forgotten.jsonl"}),
        ("read_file", {"path": "memory/history.jsonl"}),
        ("read_file", {"path": "memory/archive/history-2026-10.jsonl"}),
        ("read_file", {"path": "USER.md"}),
        ("edit_file", {"path": "USER.md", "old_text": "- Golf: plays", "new_text": "- x"}),
        ("edit_file", {"path": "USER.md", "old_text": "a choir", "new_text": "two choirs"}),
        ("python_exec", {"code": "print(open('memory/history.jsonl').read())"}),
        *(("read_file", {"path": f"memory/archive/{file.name}"}) for file in facts_of(root)),
    ]
    assert len(calls) == 10
    shown = [box.call(name, arguments).content for name, arguments in calls if name in box.names]
    assert [text for text in shown if "golf" in text.lower().replace("(?i)golf|choir", "")] == []
    assert "Sings in a choir" in shown[0]
    assert "    8\t- Sings in a choir" in shown[5]
    assert "golf" in box.call("grep", {"pattern": "golf", "path": "wikis"}).content
    found = box.call("recall", {"query": "golf on Sundays"}).content
    assert "wikis/sport/index.md" in found
    assert "Sundays" not in found


def facts_of(root):
    """The archived texts."""
    return sorted((root / "memory" / "archive").glob("*.md"))
