"""Turns that no worker took: sent again for as long as it takes, and never twice at once."""

import sys
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jenny.chat.models import Conversation, Turn
from jenny.chat.services import turn_recovery
from tests.support.stack import PASSWORD


@pytest.fixture
def turn(db, valkey) -> Turn:
    """A queued turn whose message to the workers was lost, a while ago."""
    from jenny.accounts.models import Account

    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    turn = Turn.objects.create(conversation=chat)
    Turn.objects.update(created_at=Now() - timedelta(seconds=60))
    return turn


def sent(valkey) -> int:
    """How many turns wait in the queue."""
    return valkey.llen("chat")


def test_a_queued_turn_is_sent_again_each_time_that_its_message_is_lost(turn, valkey, monkeypatch):
    """The broker may lose what it had more than once; the turn is run all the same."""
    turn_recovery.recover_turns()
    assert sent(valkey) == 1
    turn_recovery.recover_turns()
    assert sent(valkey) == 1, "right after it there is nothing to send"
    # As if the time between had passed.
    monkeypatch.setattr(sys.modules["jenny.chat.services.turn_recovery"], "SECONDS_TO_QUEUE", -1)
    for count in (2, 3, 4):
        turn_recovery.recover_turns()
        assert sent(valkey) == count
