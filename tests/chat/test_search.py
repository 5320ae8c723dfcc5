"""Past conversations are found by tools and commands, and nobody sees what is not theirs."""

import sqlite3
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.urls import reverse

from jenny.accounts.models import Account, Workspace
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.prompt import turn_context
from jenny.chat.services import search, turns
from jenny.chat.services.command_replies import recall_facts
from jenny.chat.services.deletion import delete_conversation
from jenny.chat.services.model_context import Said
from jenny.chat.services.turn_claims import Claimed
from jenny.chat.tasks import update_search_index
from jenny.chat.tools import toolbox_for
from jenny.env import DataFolder
from jenny.workspace.config import load_config
from jenny.workspace.files import Actor
from memory import suppression
from memory.history import cursors, log
from memory.history.entries import NewHistoryEntry

pytestmark = pytest.mark.django_db


def say(chat: Conversation, said: str, answer: str = "") -> Message:
    """A message and its answer, as a turn stores them."""
    message = Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=said)
    if answer:
        turn = Turn.objects.create(conversation=chat, state=Turn.State.DONE)
        row = Message.objects.create(conversation=chat, kind=Message.Kind.ANSWER, turn=turn)
        Block.objects.create(turn=turn, message=row, kind=Block.Kind.TEXT, text=answer)
    chat.next_event_number()
    return message


@pytest.fixture
def workspace(settings, tmp_path):
    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.create_user("ann", password="a long password 1")
    row = Workspace.objects.create(owner=owner, name="Ann", slug="ann")
    (row.root / "wikis/bees/wiki").mkdir(parents=True)
    return row


@pytest.fixture
def chats(workspace):
    """A past conversation, one of a project, a temporary one and the present one."""
    kinds = Conversation.Kind
    make = Conversation.objects.create
    return {
        "past": make(workspace=workspace, title="Boats"),
        "project": make(workspace=workspace, kind=kinds.PROJECT, project="bees"),
        "temporary": make(workspace=workspace, kind=kinds.TEMPORARY),
        "here": make(workspace=workspace),
    }


def call(chat: Conversation, tool: str, query: str) -> str:
    """Call the tool as a turn of that conversation does."""
    box = toolbox_for(
        chat.kind,
        chat.workspace.root,
        run="turn:1",
        project=chat.project,
        search=search.search_for(chat),
    )
    return box.call(tool, {"query": query}).content


def test_past_conversations_are_found(chats):
    """By a question, with title and answer; not what the model has before its eyes anyway."""
    said = say(chats["past"], "I bought a red kayak", "A kayak! For which lake?")
    say(chats["here"], "When did I buy the kayak?")
    told = call(chats["here"], "search_chats", "When did I buy the kayak?")
    assert "conversation “Boats”" in told
    assert "You: I bought a red kayak Jenny: A kayak! For which lake?" in told
    assert "When did I buy" not in told
    assert "red kayak" in call(chats["here"], "recall", "kayaks")
    reply = recall_facts(chats["here"], "kayaks")
    assert reverse("chat:at", args=[chats["past"].pk, said.pk]) in reply


def test_a_model_is_told_what_fits_best_within_a_budget(chats):
    """However much has the words, a result takes about as many tokens, says how much it leaves
    out, and that it may be asked again."""
    for number in range(40):
        say(chats["past"], f"Kayak number {number} " + "weighs a lot " * 70)
    for tool in ("recall", "search_chats"):
        told = call(chats["here"], tool, "What does the kayak weigh?")
        assert "more are left out" in told
        assert 4_000 < len(told) < 8_000
        assert "look for each thing on its own" in told


def test_nothing_of_projects_and_temporary_chats_is_found(chats):
    """Each keeps its own; a temporary chat is in no index at all."""
    say(chats["project"], "The kayak of the project is green")
    say(chats["temporary"], "The kayak of the temporary chat is blue")
    told = call(chats["here"], "recall", "kayak") + call(chats["here"], "search_chats", "kayak")
    assert "green" not in told
    assert "blue" not in told
    found = search.search(chats["here"].workspace, "kayak", search.EVERYTHING)
    assert [hit.kind for hit in found.hits] == ["project_chat"]
    say(chats["past"], "The kayak is red")
    assert "red" not in call(chats["temporary"], "recall", "kayak")
    assert "search_chats" not in RUN_KINDS["temporary"].tools
    assert not {"recall", "search_chats"} & set(RUN_KINDS["project"].tools)


def test_the_index_follows_edits_and_deletions(chats):
    """Messages that were edited away or deleted are found no more, at once."""
    first = say(chats["past"], "The kayak is red")
    assert "red" in call(chats["here"], "search_chats", "kayak")
    Message.objects.filter(pk=first.pk).update(is_current=False)
    say(chats["past"], "The kayak is green")
    told = call(chats["here"], "search_chats", "kayak")
    assert "green" in told
    assert "red" not in told
    chats["past"].delete()
    assert "green" not in call(chats["here"], "search_chats", "kayak")


def test_forgotten_lines_and_secrets_of_conversations_are_not_shown(chats):
    """A forgotten fact is not found where it was said, and a key is never in the index."""
    key = "sk-ant-api03-" + "a1B2c3D4e5" * 9
    say(chats["past"], f"Allergic to nuts since 2011\nPlays the viola\nThe key is {key}")
    assert "nuts" in call(chats["here"], "search_chats", "nuts")
    (chats["past"].workspace.root / "USER.md").write_text("- Allergic to nuts since 2011\n")
    suppression.forget(
        chats["past"].workspace.root, "Allergic to nuts since 2011", Actor("command")
    )
    assert "nuts" not in call(chats["here"], "search_chats", "nuts allergy")
    told = call(chats["here"], "search_chats", "viola key")
    assert "viola" in told
    assert "nuts" not in told
    assert key not in told


def test_a_title_shows_nothing_forgotten(chats):
    """A past conversation is found without what its title says of a forgotten fact."""
    say(chats["past"], "The kayak is red")
    Conversation.objects.filter(pk=chats["past"].pk).update(title="Boats; allergic to nuts")
    chats["past"].next_event_number()
    assert "“Boats; allergic to nuts”" in call(chats["here"], "recall", "kayak")
    suppression.forget(chats["past"].workspace.root, "Allergic to nuts", Actor("command"))
    for tool in ("recall", "search_chats"):
        told = call(chats["here"], tool, "kayak")
        assert "The kayak is red" in told
        assert "conversation “Boats”" in told
        assert "nuts" not in told


def test_lines_that_fit_a_message_are_brought_up(chats):
    """Those that have its words, from past conversations and the history; nothing for a greeting,
    nothing of a project, nothing that is in the prompt anyway, and nothing forgotten."""
    root = chats["past"].workspace.root
    say(chats["past"], "I bought a red kayak in spring", "The kayak sails in spring")
    say(chats["project"], "I bought a green kayak in spring")
    (root / "wikis/bees/wiki/index.md").write_text("The blue kayak was bought in spring\n")
    (root / "USER.md").write_text("- The kayak sails in spring\n- Bought a red kayak in spring\n")
    log.append(root, [NewHistoryEntry("- [durable] Wants a kayak in spring for Olivia")])
    here = chats["here"]
    asked = "Which kayak came in spring?"
    say(here, asked)
    assert search.find_related(here, asked, ()) == []
    (root / "USER.md").write_text("- The kayak sails in spring\n")
    (found,) = search.find_related(here, asked, ())
    assert found.text == "You: I bought a red kayak in spring"
    cursors.set_dream_cursor(root, 1, Actor("pipeline", run="test"))
    assert {row.kind for row in search.find_related(here, asked, ())} == {"chat", "history"}
    assert search.find_related(here, "Hello, how are you today?", ()) == []
    (root / "USER.md").write_text("- Bought a red kayak in spring\n")
    suppression.forget(root, "Bought a red kayak in spring", Actor("command"))
    assert "red" not in str(search.find_related(here, asked, ()))


def test_a_message_does_not_wait_for_the_index(chats, monkeypatch):
    """While others bring it up to date, what it has is brought up."""
    say(chats["past"], "I bought a red kayak in spring")
    index = search.index_of(chats["past"].workspace)
    index.update()
    waits = []

    class Held:
        def acquire(self, *, timeout):
            waits.append(timeout)
            return False

    monkeypatch.setattr(index, "_lock", Held())
    (found,) = search.find_related(chats["here"], "Which kayak came in spring?", ())
    assert found.text == "You: I bought a red kayak in spring"
    assert max(waits) == 0


def test_little_of_a_long_conversation_is_compared_with_what_is_brought_up(chats, monkeypatch):
    """The newest of it, so that a message does not wait longer from one to the next."""
    say(
        chats["past"], "I bought a red kayak in spring", "The green kayak of Olivia sails in spring"
    )
    for _ in range(4):
        say(chats["here"], "Some words about the weather\n" * 10_000)
    say(chats["here"], "Bought a red kayak in spring")
    compared = []
    index_words = search.index_words

    def counted(lines):
        compared.append(sum(map(len, lines)))
        return index_words(lines)

    monkeypatch.setattr(search, "index_words", counted)
    (found,) = search.find_related(chats["here"], "Which kayak came in spring?", ())
    assert "Olivia" in found.text
    assert max(compared) < 300_000


def test_a_line_that_was_brought_up_is_hidden_once_it_is_forgotten(chats):
    """Later requests of the same conversation repeat the message without that line."""
    root = chats["past"].workspace.root
    context = turn_context(
        datetime.now(UTC), "UTC", "web", ["entry 1: Allergic to nuts since 2011", "Plays the viola"]
    )
    spoken = [Said("user", "Hello", context)]
    assert search.hide_forgotten(chats["here"], spoken) == spoken
    (root / "USER.md").write_text("- Allergic to nuts since 2011\n")
    suppression.forget(root, "Allergic to nuts since 2011", Actor("command"))
    (shown,) = search.hide_forgotten(chats["here"], spoken)
    assert shown.context == context.replace("- entry 1: Allergic to nuts since 2011\n", "")


def test_a_turn_goes_on_without_related_lines_when_the_search_fails(chats, monkeypatch, caplog):
    """The log names the cause."""

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(turns, "find_related", fail)
    row = say(chats["here"], "Which kayak came in spring?")
    claimed = Claimed(Turn(conversation=chats["here"]), [row])
    config = load_config(chats["here"].workspace.root)
    assert turns._add_related(claimed, config, "UTC", ()) == []
    assert "turn.related_lines_failed" in caplog.text


def test_what_left_the_context_is_found_from_its_own_conversation(chats):
    """Of one passage the older lines are found, and those that the model sees are not."""
    here = chats["here"]
    say(here, "The red kayak is in the shed")
    later = say(here, "The green kayak is on the lake")
    here.context_from = later.pk
    told = call(here, "search_chats", "kayak")
    assert "red kayak" in told
    assert "green kayak" not in told
    here.context_from = 0
    assert "kayak is" not in call(here, "search_chats", "kayak")


def test_one_task_fills_the_index_in_steps(chats, valkey, monkeypatch):
    """However often is searched meanwhile, one task is enqueued, and it enqueues the next one until
    nothing is left."""
    monkeypatch.setattr(search, "_SLICE_SECONDS", 0)
    workspace = chats["past"].workspace
    for number in range(5):
        (workspace.root / f"{number}.md").write_text("A kayak.\n")
    for _ in range(3):
        assert search.search(workspace, "kayak", seconds=0).missing
    assert valkey.llen("maintenance") == 1
    steps = 0
    while valkey.llen("maintenance"):
        valkey.delete("maintenance")
        update_search_index(str(workspace.pk))
        steps += 1
        assert steps < 500
    assert steps > 1
    assert not search.search(workspace, "kayak", seconds=0).missing
    for _ in range(2):
        search.enqueue_updates()
    assert valkey.llen("maintenance") == 1


def test_a_deleted_conversation_leaves_the_index_at_once(chats):
    """Its words are not kept until somebody searches."""
    chat = chats["past"]
    say(chat, "The xylophone is red")
    search.index_of(chat.workspace).update()
    assert ("chat", str(chat.pk)) in search.index_of(chat.workspace).places()
    delete_conversation(chat)
    assert ("chat", str(chat.pk)) not in search.index_of(chat.workspace).places()
    update_search_index(str(chat.workspace.pk))
    (file,) = settings.JENNY_DATA.cache.glob("search/*.sqlite3")
    assert b"xylophon" not in file.read_bytes()


def test_the_index_of_versions_is_kept_up_to_date_once_it_is_there(chats, valkey):
    """The hourly task also brings the index of versions up to date, from its first search on; what
    an edit replaced leaves it with its conversation."""
    chat = chats["past"]
    workspace = chat.workspace
    say(chat, "The xylophone is red")
    Conversation.objects.filter(pk=chat.pk).update(branch=chat.branches.create())
    chat.messages.update(is_current=False)
    search.enqueue_updates()
    assert valkey.llen("maintenance") == 1
    assert [hit.kind for hit in search.search_versions(workspace, "xylophone").hits]
    assert not search.search_all(workspace)("xylophone", None).hits
    valkey.flushdb()
    search.enqueue_updates()
    assert valkey.llen("maintenance") == 2
    delete_conversation(chat)
    for part in ("", "-versions"):
        update_search_index(str(workspace.pk), part)
    for file in settings.JENNY_DATA.cache.glob("search/*.sqlite3"):
        assert b"xylophon" not in file.read_bytes()
