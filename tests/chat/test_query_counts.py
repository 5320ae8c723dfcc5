"""How often the way of a message asks the database."""

import pytest
from django.core.exceptions import ObjectNotUpdated
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jenny.accounts.models import Account
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.chat.services import send_message, turns
from tests.model_server import Request
from tests.support.stack import PASSWORD

_QUERIES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@pytest.fixture
def chat(db, valkey, settings, model_server) -> Conversation:
    """A conversation whose model is the scripted one."""
    settings.JENNY_API_BASE_URL = model_server.url
    settings.JENNY_API_KEY, settings.JENNY_MODEL = "sk-test", "scripted-model"
    owner = Account.objects.make_owner("ana", PASSWORD, "UTC")
    owner.current_workspace.make_folder()
    return Conversation.objects.create(workspace=owner.current_workspace)


@pytest.mark.django_db(transaction=True)
def test_few_queries_lie_between_a_message_and_its_model(chat, model_server):
    """Each costs the person who waits up to a millisecond. The first turn also has its window
    estimated from the rows, the later ones do not."""
    words = "count what this asks"
    log = connection.queries_log
    counts: list[int] = []

    def is_ours(request: Request) -> bool:
        if request.path != "/v1/messages" or not request.json.get("tools"):
            return False
        counts.append(sum(row["sql"].startswith(_QUERIES) for row in log))
        return any(words in text for text in request.texts("user"))

    with CaptureQueriesContext(connection):
        for most in (20, 16):
            model_server.script("Counted.", when=is_ours)
            accepted = send_message.accept_message(chat, words, start=lambda _: None)
            assert accepted.turn is not None
            log.clear()
            turn = turns.run_turn(accepted.turn.pk)
            assert turn is not None
            assert turn.state == Turn.State.DONE
            assert counts.pop() <= most


def test_a_block_that_was_deleted_is_not_written(chat):
    """The worker that writes it hears of it, and stops."""
    turn = Turn.objects.create(conversation=chat)
    message = Message.objects.create(conversation=chat, kind="answer", turn=turn)
    block = Block.objects.create(turn=turn, message=message, kind="text")
    block.text, block.data = "words", {"done": 2}
    block.store()
    stored = Block.objects.get(pk=block.pk)
    assert (stored.text, stored.data) == ("words", {"done": 2})
    stored.delete()
    with pytest.raises(ObjectNotUpdated):
        block.store()
