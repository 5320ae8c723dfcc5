"""What is sent to the workers, and when; and how conversations from before are found."""

import importlib
import sqlite3

import pytest
from django.apps import apps
from django.db import connection
from django.db.models.functions import Now

from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import send_message
from jenny.chat.tasks import enqueue_due_consolidations
from tests.support.stack import PASSWORD


@pytest.fixture
def chat(transactional_db, valkey) -> Conversation:
    """A conversation."""
    from jenny.accounts.models import Account

    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    return Conversation.objects.create(workspace=owner.current_workspace)


def test_a_turn_is_sent_when_everybody_can_see_it(chat):
    """CHA5: message and turn are committed before a worker hears of them, so that the quickest
    worker finds them; when nothing was stored, nothing is sent."""
    seen = []

    def start(turn: int) -> None:
        with sqlite3.connect(connection.settings_dict["NAME"]) as other:
            query = "select count(*) from chat_turn where id = ?"
            seen.append(other.execute(query, [turn]).fetchone()[0])

    send_message.accept_message(chat, "Hello", "key", start=start)
    send_message.accept_message(chat, "Hello", "key", start=start)
    assert seen == [1]
    gone = Conversation.objects.create(workspace=chat.workspace)
    Conversation.objects.filter(pk=gone.pk).delete()
    with pytest.raises(Conversation.DoesNotExist):
        send_message.accept_message(gone, "Hello", start=start)
    assert seen == [1]


def test_conversations_from_before_are_found(chat, valkey):
    """What was said before there was a history, or a stamp for the sweep, is looked at by the
    next sweep after the upgrade; conversations in which nothing waits are not."""
    turn = Turn.objects.create(conversation=chat, state=Turn.State.DONE)
    Message.objects.create(conversation=chat, kind=Message.Kind.USER, text="Hello", turn=turn)
    empty = Conversation.objects.create(workspace=chat.workspace)
    enqueue_due_consolidations()
    assert valkey.llen("memory") == 0
    importlib.import_module("jenny.chat.migrations.0003_branches_and_summaries").look_at_old_ones(
        apps, None
    )
    assert Conversation.objects.filter(consolidate_after__lte=Now()).get() == chat
    enqueue_due_consolidations()
    assert valkey.llen("memory") == 1
    empty.refresh_from_db()
    assert empty.consolidate_after is None
