"""What a conversation's prompt holds of its own beginning."""

import pytest

from jenny.chat import prompt
from jenny.chat.models import Conversation, Message, Summary
from jenny.chat.services.model_context import stored_of
from jenny.workspace.write_rules import Actor
from memory.history import cursors, log
from memory.history.entries import NewHistoryEntry
from memory.suppression import forget
from tests.support.stack import PASSWORD


@pytest.fixture
def chat(db) -> Conversation:
    """A conversation of four messages, of which the model sees the last two."""
    from jenny.accounts.models import Account

    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    owner.current_workspace.make_folder()
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    for number in range(4):
        Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=f"said {number}")
    chat.context_from = list(chat.messages.values_list("pk", flat=True))[2]
    chat.save()
    return chat


def summarised(chat: Conversation, *facts: str) -> int:
    """Two messages that are summarised as *facts*; the entry's number."""
    first, last = list(chat.messages.values_list("pk", flat=True))[:2]
    new = NewHistoryEntry("\n".join(facts), conversation=str(chat.pk), messages=(first, last))
    (entry,) = log.append(chat.workspace.root, [new]).entries
    message = chat.messages.get(pk=last)
    Summary.objects.create(
        conversation=chat, first=first, message=message, count=2, cursors=[entry.cursor]
    )
    return entry.cursor


def test_nothing_is_shown_twice_and_nothing_that_is_forgotten(chat):
    """An entry stands among what Dream has not read or in the conversation's own summary, never
    in both; what is forgotten in neither, and what /new ended in none."""
    root = chat.workspace.root
    cursor = summarised(chat, "- [durable] Ana keeps bees.", "- [durable] Ana fears spiders.")
    assert stored_of(chat) == []
    cursors.set_dream_cursor(root, cursor, Actor("pipeline", run="test"))
    assert stored_of(chat) == ["- [durable] Ana keeps bees.\n- [durable] Ana fears spiders."]
    forget(root, "Ana fears spiders.", Actor("command", run="test"))
    assert stored_of(chat) == ["- [durable] Ana keeps bees."]
    chat.session_from = chat.context_from
    assert stored_of(chat) == []


def test_the_newest_summaries_have_room(chat):
    """However long a conversation becomes, the block stays small; it says that older parts are
    left out, and one that is too long by itself is cut."""
    texts = [f"- [durable] Fact {number}. " + "x" * 3_000 for number in range(20)]
    block = prompt.block(texts)
    assert block is not None
    assert "Fact 19" in block.text
    assert "Fact 1." not in block.text
    assert "Older parts are left out" in block.text
    assert len(prompt.block(["y" * 100_000]).text) < 20_000
    assert prompt.block([]) is None
    short = prompt.shortened("[RAW] 2 messages\n" + "z" * 50_000)
    assert short.startswith("[RAW] 2 messages")
    assert len(short) < 1_000
