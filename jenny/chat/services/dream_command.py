"""Answers ``/dream`` at once, and again when the run's outcome is known. What was just said is
taken in before the run.

The memory app owns the run; its row names the conversation in *asker*. The outcome's key makes it
one message, however often it is reported.
"""

import contextlib
from uuid import UUID

from django.db import IntegrityError, transaction

from jenny.accounts.services.usage import why_calls_wait
from jenny.chat.models import Conversation, Message
from jenny.chat.services import consolidation, send_message
from jenny.chat.services.publish import Publisher
from memory.dream import report
from memory.models import DreamRun
from memory.services import dream_runs, dream_scheduler

PREFIX = "chat"
_NAME = "/dream"


def run_dream(
    chat: Conversation, argument: str, client_key: str = "", /, *, in_process: bool = False
) -> str:
    """Answer ``/dream``, and enqueue the run or execute it *in_process*.

    Returns the last sentence that is known by then. The same *client_key* twice is one command.
    """
    run, message = _begun(chat, argument, client_key)
    if run is None:
        return message
    if not in_process:
        consolidation.enqueue_update(run.pk)
        return report.BEGUN
    consolidation.take_in(run)
    dream_runs.execute_run(run.pk)
    return dream_runs.outcome_of(run).told


def post_outcome(asker: str, message: str, **_: object) -> None:
    """Post the outcome of a run in the conversation that asked for it, if one did."""
    if asker.partition(":")[0] != PREFIX:
        return
    _kind, conversation, reply = asker.split(":")
    for chat in Conversation.objects.select_related("workspace").filter(pk=conversation):
        _say(chat, message, f"dream:{reply}")


def announce(workspace: str, key: str, message: str, **_: object) -> None:
    """Post a notice in the conversation that was active last."""
    rows = Conversation.objects.filter(workspace=UUID(workspace), kind=Conversation.Kind.PERSONAL)
    newest = rows.select_related("workspace").order_by("-active_at").first()
    if newest is not None:
        _say(newest, message, key)


def _begun(chat: Conversation, argument: str, client_key: str) -> tuple[DreamRun | None, str]:
    """Return the started run, or the sentence that says why there is none."""
    if argument:
        typed = f"{_NAME} {argument}"
        send_message.accept_command(chat, typed, report.NO_ARGUMENT, client_key)
        return None, report.NO_ARGUMENT
    if waits := report.waits(why_calls_wait(chat.workspace)):
        send_message.accept_command(chat, _NAME, waits, client_key)
        return None, waits
    run = None
    try:
        # One transaction, so that "Dreaming…" never appears without a run that reports its outcome.
        with transaction.atomic():
            command = send_message.add_message(chat, Message.Kind.COMMAND, _NAME, client_key)
            reply = send_message.add_message(chat, Message.Kind.REPLY, report.BEGUN)
            asker = f"{PREFIX}:{chat.pk}:{reply.pk}"
            run = DreamRun.begin(chat.workspace, "manual", asker)
    except IntegrityError:
        return None, report.IS_RUNNING  # a repeated form, answered the first time
    publisher = Publisher(chat)
    publisher.message(command)
    publisher.message(reply)
    if run is not None:
        return run, ""
    asked = dream_scheduler.start_run(chat.workspace, "manual", asker)
    if asked.run is None:
        _say(chat, asked.message, f"dream:{reply.pk}")
    return asked.run, asked.message


def _say(chat: Conversation, sentence: str, key: str) -> None:
    with contextlib.suppress(IntegrityError):
        message = send_message.add_message(chat, Message.Kind.REPLY, sentence, key[:64])
        Publisher(chat).message(message)
