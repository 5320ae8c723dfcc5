"""Who may summarise a conversation, and what looking for idle ones costs."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jenny.agent.errors import Cancelled
from jenny.chat.models import Conversation, Message
from jenny.chat.services import consolidation
from jenny.chat.services.consolidation_state import claimed, lease_key
from jenny.chat.tasks import enqueue_due_consolidations
from memory.models import DreamRun
from memory.services import dream_runs
from tests.support.stack import PASSWORD


@pytest.fixture
def chat(db, valkey) -> Conversation:
    """A conversation."""
    from jenny.accounts.models import Account

    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    return Conversation.objects.create(workspace=owner.current_workspace)


def test_one_at_a_time(chat, valkey):
    """CON4: while somebody summarises a conversation nobody else does, and then somebody may."""
    with claimed(chat) as first:
        assert first is not None
        with claimed(chat) as second:
            assert second is None
        first.renew()
    assert not valkey.exists(lease_key(chat))
    with claimed(chat) as third:
        assert third is not None


def test_losing_redis_hands_nothing_over(chat, valkey):
    """The row decides: a lease that Redis has forgotten is not to be had by another."""
    with claimed(chat) as first:
        assert first is not None
        valkey.delete(lease_key(chat))
        with claimed(chat) as second:
            assert second is None
        first.renew()


def test_a_holder_that_was_away_too_long_may_move_nothing(chat, valkey):
    """A paused process that wakes up finds its claim taken."""
    with claimed(chat) as first:
        assert first is not None
        valkey.delete(lease_key(chat))
        Conversation.objects.update(consolidating_until=Now() - timedelta(seconds=1))
        with claimed(chat) as second:
            assert second is not None
            with pytest.raises(Cancelled):
                first.renew()
            second.renew()


def test_idle_conversations_cost_one_query(chat, django_assert_num_queries):
    """10,000 conversations whose time has not come, or that were done, are not looked at: the
    index holds those that are due, and nothing else is read."""
    later = Now() + timedelta(minutes=10)
    rows = [
        Conversation(workspace=chat.workspace, consolidate_after=later if number % 2 else None)
        for number in range(10_000)
    ]
    Conversation.objects.bulk_create(rows)
    with django_assert_num_queries(1):
        enqueue_due_consolidations()
    due = Conversation.objects.filter(consolidate_after__lte=Now()).order_by("consolidate_after")
    assert "conversations_due" in due.explain()


def test_what_is_due_is_handed_over_once(chat, valkey):
    """Two sweeps at once send a conversation once."""
    Conversation.objects.update(consolidate_after=Now() - timedelta(seconds=1))
    enqueue_due_consolidations()
    enqueue_due_consolidations()
    assert valkey.llen("memory") == 1


def test_an_update_says_what_it_did_not_take_in(chat, monkeypatch):
    """Conversations that another process holds, or for which there is no time, are named by their
    number in the run's report; nobody sends the run while it waits for them."""
    others = [Conversation.objects.create(workspace=chat.workspace) for _ in range(2)]
    Message.objects.create(conversation=others[0], kind=Message.Kind.USER, text="A viola")
    run = DreamRun.begin(chat.workspace, "manual")
    with claimed(others[0]) as claim:
        assert claim is not None
        consolidation.summarise_open_conversations(run)
    run.refresh_from_db()
    assert run.notes == [
        "What was said last in one conversation is not in this update. It follows with a later one."
    ]
    assert DreamRun.objects.filter(pk=run.pk, sent_at__gt=Now()).exists()
    Message.objects.create(conversation=others[1], kind=Message.Kind.USER, text="A cello")
    monkeypatch.setattr(consolidation, "SUMMARY_SECONDS", -1)
    DreamRun.objects.filter(pk=run.pk).update(notes=[])
    consolidation.summarise_open_conversations(run)
    dream_runs.execute_run(run.pk)
    run.refresh_from_db()
    assert "What was said last in 2 conversations is not in this update." in run.full_message
