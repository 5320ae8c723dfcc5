"""``/dream``: answered at once, and once more when it is known what came of the run.

The run is the memory's; what links it to the conversation is the asker's words in its row. The
outcome's key makes it one message, however often it is told.
"""

import contextlib
from uuid import UUID

from django.db import IntegrityError, transaction

from jenny.accounts.management.gate import why_calls_wait
from jenny.chat import commands
from jenny.chat.models import Conversation, Message
from jenny.chat.tasks import accept
from jenny.chat.tasks.publish import Publisher
from memory import tasks
from memory.dream.reporting import outcomes
from memory.management.dreaming import asking, running
from memory.models import DreamRun

PREFIX = "chat"


def ask_for(chat: Conversation, call: commands.Call, client_key: str = "") -> None:
    """Answer ``/dream``, and hand the run to the workers.

    The same *client_key* twice is one command.
    """
    run, _ = _begun(chat, call, client_key)
    if run is not None:
        tasks.start(run.pk)


def carry_out(chat: Conversation, call: commands.Call) -> str:
    """Answer ``/dream`` in this process; what came of it, as the chat is told."""
    run, sentence = _begun(chat, call, "")
    if run is None:
        return sentence
    running.execute(run.pk)
    return running.outcome_of(run).told


def tell(asker: str, sentence: str) -> None:
    """Say what came of a run where it was asked for."""
    _, conversation, reply = asker.split(":")
    for chat in Conversation.objects.select_related("workspace").filter(pk=conversation):
        _say(chat, sentence, f"dream:{reply}")


def announce(workspace: str, key: str, sentence: str) -> None:
    """Say what a person should know in the conversation that they were in last."""
    rows = Conversation.objects.filter(workspace=UUID(workspace), kind=Conversation.Kind.PERSONAL)
    newest = rows.select_related("workspace").order_by("-active_at").first()
    if newest is not None:
        _say(newest, sentence, key)


def _begun(chat: Conversation, call: commands.Call, client_key: str) -> tuple[DreamRun | None, str]:
    """The run that was begun, or the sentence that says why there is none."""
    if call.argument:
        accept.accept_command(chat, call, outcomes.NO_ARGUMENT, client_key)
        return None, outcomes.NO_ARGUMENT
    if waits := outcomes.waits(why_calls_wait(chat.workspace)):
        accept.accept_command(chat, call, waits, client_key)
        return None, waits
    run = None
    try:
        # All or none: "Dreaming…" never stands there without somebody who will say more.
        with transaction.atomic():
            command = accept.add(chat, Message.Kind.COMMAND, call.command.name, client_key)
            reply = accept.add(chat, Message.Kind.REPLY, outcomes.BEGUN)
            asker = f"{PREFIX}:{chat.pk}:{reply.pk}"
            run = DreamRun.begin(chat.workspace, "manual", asker)
    except IntegrityError:
        return None, outcomes.IS_RUNNING  # sent twice; the first time it was answered
    publisher = Publisher(chat)
    publisher.message(command)
    publisher.message(reply)
    if run is not None:
        return run, ""
    asked = asking.ask(chat.workspace, "manual", asker)
    if asked.run is None:
        _say(chat, asked.sentence, f"dream:{reply.pk}")
    return asked.run, asked.sentence


def _say(chat: Conversation, sentence: str, key: str) -> None:
    """A reply that is there once, whatever happens."""
    with contextlib.suppress(IntegrityError):
        message = accept.add(chat, Message.Kind.REPLY, sentence, key[:64])
        Publisher(chat).message(message)
