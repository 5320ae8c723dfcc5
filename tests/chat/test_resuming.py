"""What waited for a pause or a day's limit goes on, also when its cause went by itself."""

import json

import pytest

from jenny.accounts.models import Account
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import branches, turn_recovery
from tests.support.stack import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(settings, tmp_path) -> Conversation:
    """A conversation whose question waits, since all calls were paused."""
    from jenny.env import DataFolder

    settings.JENNY_DATA = DataFolder(tmp_path)
    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    owner.current_workspace.make_folder()
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    turn = Turn.objects.create(
        conversation=chat, state=Turn.State.INTERRUPTED, reason="paused", can_retry=True
    )
    Message.objects.create(
        conversation=chat, kind=Message.Kind.USER, text="Still there?", turn=turn
    )
    return chat


def pause(chat: Conversation, *, is_on: bool) -> None:
    """Edit the settings as somebody does who opens the file."""
    written = json.dumps({"privacy": {"pauseModelCalls": is_on}})
    (chat.workspace.root / "config.json").write_text(written)


def test_a_pause_lifted_in_the_file_lets_what_waits_go_on(chat):
    """As soon as the next look comes; while it lasts nothing is asked."""
    pause(chat, is_on=True)
    turn_recovery.resume_where_possible()
    assert not chat.turns.filter(state=Turn.State.QUEUED).exists()
    pause(chat, is_on=False)
    turn_recovery.resume_where_possible()
    turn_recovery.resume_where_possible()
    assert chat.turns.filter(state=Turn.State.QUEUED).count() == 1
    assert chat.messages.get(kind=Message.Kind.USER).turn is None


def test_a_branch_does_not_answer_what_waits_in_its_source(chat):
    """Of a question that waits and was copied into a branch, only the source gets the answer."""
    pause(chat, is_on=True)
    answer = Message.objects.create(
        conversation=chat, kind=Message.Kind.ANSWER, turn=chat.turns.get()
    )
    new = branches.branch_off(chat, answer.pk)
    pause(chat, is_on=False)
    turn_recovery.resume_where_possible()
    assert chat.turns.filter(state=Turn.State.QUEUED).count() == 1
    assert not new.turns.filter(state=Turn.State.QUEUED).exists()


def test_a_new_day_lets_what_waits_go_on(chat):
    """A limit that was used up holds no longer than its day."""
    chat.turns.update(reason="spent")
    Account.objects.update(max_tokens_per_day=0)
    turn_recovery.resume_where_possible()
    assert not chat.turns.filter(state=Turn.State.QUEUED).exists()
    Account.objects.update(max_tokens_per_day=1_000)
    turn_recovery.resume_where_possible()
    assert chat.turns.filter(state=Turn.State.QUEUED).count() == 1


def test_nothing_that_waits_costs_one_query(chat, django_assert_num_queries):
    """By its own index."""
    chat.turns.update(retried=True)
    with django_assert_num_queries(1):
        turn_recovery.resume_where_possible()
    waiting = Turn.objects.filter(reason__in=("paused", "spent"), can_retry=True, retried=False)
    assert "turns_that_wait" in waiting.explain()
