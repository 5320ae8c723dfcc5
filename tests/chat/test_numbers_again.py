"""A database that came back from an older state gives the numbers of messages out again."""

import html
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jenny.chat.models import Branch, Conversation, Message
from jenny.workspace import config
from memory.history import log, prompt
from memory.history.entries import NewHistoryEntry
from memory.message_sources import MessageQuery, find_source_messages
from tests.support.dreams import Dreams, finish


@pytest.fixture
def said(dreams: Dreams) -> list[Message]:
    """Two messages, said just now."""
    chat = Conversation.objects.create(workspace=dreams.workspace)
    return [
        Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=f"New words {at}")
        for at in (1, 2)
    ]


def entry(dreams: Dreams, said: list[Message], text: str, **ago: int) -> int:
    """An entry about messages with these numbers, written some time ago; its number."""
    first, last = said
    when = timezone.now() - timedelta(**ago)
    about = {"conversation": str(first.conversation_id), "messages": (first.pk, last.pk)}
    (made,) = log.append(dreams.root, [NewHistoryEntry(text, when=when, **about)]).entries
    return made.cursor


def page(dreams: Dreams, cursor: int) -> str:
    """An entry's page."""
    client = Client(headers={"Sec-Fetch-Site": "same-origin"})
    client.force_login(dreams.workspace.owner)
    answer = client.get(f"/memory/history/{cursor}/")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_an_entry_shows_no_message_that_is_younger_than_it(
    dreams: Dreams, said: list[Message]
) -> None:
    """Its page and the why-view name what was said when it was written, and nothing that came
    later under the same numbers."""
    old = entry(dreams, said, "- [durable] The barn is red.", days=1)
    new = entry(dreams, said, "- [durable] The hive is blue.")
    assert "New words" not in page(dreams, old)
    assert "not in the conversation any more" in page(dreams, old)
    assert "New words 1" in page(dreams, new)
    about = {"conversation": str(said[0].conversation_id), "messages": (said[0].pk, said[1].pk)}
    before = said[0].created_at - timedelta(seconds=1)
    for until, count in ((before, 0), (before + timedelta(minutes=1), 2), (None, 2)):
        found = find_source_messages(MessageQuery(dreams.root, until=until, **about))
        assert found is not None
        assert len(found.said) == count


def test_an_edit_takes_no_entry_along_that_is_older_than_what_it_edits(
    dreams: Dreams, said: list[Message]
) -> None:
    """The old entry is still read by Dream and shown to chats; that of the edited message is
    passed over."""
    old = entry(dreams, said, "- [durable] The barn is red.", days=1)
    new = entry(dreams, said, "- [durable] The hive is blue.")
    Branch.objects.create(conversation=said[0].conversation, first=said[0].pk)
    Message.objects.filter(pk__in=[row.pk for row in said]).update(is_current=False)
    assert "Has not read it yet" in page(dreams, old)
    assert "Leaves it out" in page(dreams, new)
    block = prompt.block(dreams.root)
    assert block is not None
    assert "barn" in block.text
    assert "hive" not in block.text
    dreams.model.script(finish(already=[old]))
    dreams.model.script("Done.")
    dreams.run()
    (request, *_) = dreams.shown()
    assert "barn is red" in "\n".join(request.texts("user"))
    assert "hive is blue" not in "\n".join(request.texts("user"))


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
def test_a_move_to_another_zone_brings_nothing_back(
    dreams: Dreams, said: list[Message], zone: str
) -> None:
    """The stamps of older entries are in the zone that was set then."""
    cursor = entry(dreams, said, "- [durable] The hive is blue.")
    Branch.objects.create(conversation=said[0].conversation, first=said[0].pk)
    Message.objects.filter(pk__in=[row.pk for row in said]).update(is_current=False)
    config.change_config(
        dreams.root, lambda data: data.update(agents={"defaults": {"timezone": zone}})
    )
    assert "Leaves it out" in page(dreams, cursor)
    assert prompt.block(dreams.root) is None
