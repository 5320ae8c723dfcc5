"""Unsuppresses forgotten facts that a person says again, in messages or summaries."""

import logging
from collections.abc import Iterable, Sequence

from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Conversation, Message
from jenny.workspace.errors import WorkspaceError
from memory import suppression
from memory.history.entries import HistoryEntry

log = logging.getLogger(__name__)


def unsuppress_restated(conversation: Conversation, rows: Iterable[Message]) -> None:
    """Check a person's messages before the turn that answers them.

    A temporary chat changes nothing about forgotten facts.
    """
    if RUN_KINDS[conversation.kind].feeds_history:
        for row in rows:
            _restated(conversation, row.text, row)


def unsuppress_in_entries(
    conversation: Conversation, rows: Sequence[Message], entries: Iterable[HistoryEntry]
) -> None:
    """Check summaries of *rows*.

    Their facts count as said with the person's oldest message, since a summary does not say which
    message a fact is from.
    """
    first = next((row for row in rows if row.kind == Message.Kind.USER), None)
    if first is not None:
        for entry in entries:
            if entry.kind == "summary":
                _restated(conversation, entry.content, first)


def _restated(conversation: Conversation, text: str, row: Message) -> None:
    try:
        found = suppression.restated(conversation.workspace.root, text, row.created_at)
    except WorkspaceError as error:
        log.warning("forgotten.not_lifted", extra={"cause": type(error).__name__})
        return
    if found:
        log.info("forgotten.lifted", extra={"count": len(found)})
