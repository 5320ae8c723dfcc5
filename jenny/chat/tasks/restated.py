"""What a person says again is not forgotten any more: listened for in their new messages, and in
what the summariser makes of them."""

import logging
from collections.abc import Iterable, Sequence

from jenny.agent.runs import RUN_KINDS
from jenny.chat.models import Conversation, Message
from jenny.workspace.errors import WorkspaceError
from memory import forgotten
from memory.history.entries import Entry

log = logging.getLogger(__name__)


def hear(conversation: Conversation, rows: Iterable[Message]) -> None:
    """Listen to a person's messages, before the turn that answers them. A chat that leaves no
    memory changes nothing about what is forgotten."""
    if RUN_KINDS[conversation.kind].feeds_history:
        for row in rows:
            _restated(conversation, row.text, row)


def hear_entries(
    conversation: Conversation, rows: Sequence[Message], entries: Iterable[Entry]
) -> None:
    """Listen to summaries of *rows*. They count as said with the oldest message of the person's:
    a summary does not tell which message it has a fact from."""
    first = next((row for row in rows if row.kind == Message.Kind.USER), None)
    if first is not None:
        for entry in entries:
            if entry.kind == "summary":
                _restated(conversation, entry.content, first)


def _restated(conversation: Conversation, text: str, row: Message) -> None:
    try:
        found = forgotten.restated(conversation.workspace.root, text, row.created_at)
    except WorkspaceError as error:
        log.warning("forgotten.not_lifted", extra={"cause": type(error).__name__})
        return
    if found:
        log.info("forgotten.lifted", extra={"count": len(found)})
