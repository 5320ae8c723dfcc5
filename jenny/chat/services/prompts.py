"""Builds a conversation's system prompt, with the summaries of its beginning."""

from collections.abc import Sequence

from jenny.accounts.services.prepared_statements import Prepared, number_slot, uuid_slot
from jenny.agent.prompt import SystemPrompt
from jenny.chat.models import Conversation, Summary
from jenny.chat.prompt import build
from jenny.workspace.errors import WorkspaceError
from memory.history import prompt as pending
from memory.history import reader
from memory.history.entries import HistoryEntry
from memory.suppression import without_forgotten


def prompt_of(chat: Conversation, tool_names: Sequence[str]) -> SystemPrompt:
    return build(
        chat.kind,
        chat.workspace.root,
        tool_names=tool_names,
        stored=stored_of(chat),
        project=chat.project,
        zone=chat.workspace.owner.time_zone,
    )


def stored_of(chat: Conversation) -> list[str]:
    """Return the summaries of what left the context, oldest first.

    Without those of a session before ``/new``, forgotten ones, and those that the prompt shows
    among the pending entries.
    """
    if not chat.context_from:
        return []  # nothing left the context
    rows = _STORED.rows(
        conversation=chat.pk, context_from=chat.context_from, session_from=chat.session_from
    )
    if not rows:
        return []
    root = chat.workspace.root
    numbers = {cursor for row in rows for cursor in row.cursors}
    try:
        found = reader.find_by_cursor(root, numbers - pending.shown(root))
    except WorkspaceError:
        # The block of pending entries reports an unreadable history; the chat goes on.
        found = {}
    texts = []
    for row in rows:
        own = [HistoryEntry(0, "", row.text)] if row.text else []
        entries = own or [
            found[cursor]
            for cursor in row.cursors
            if cursor in found and found[cursor].prompt_visible
        ]
        texts += [entry.content for entry in without_forgotten(root, entries)]
    return texts


_STORED = Prepared(
    lambda: Summary.objects.filter(
        conversation=uuid_slot("conversation"),
        message__is_current=True,
        first__lt=number_slot("context_from"),
        message__gte=number_slot("session_from"),
    ).order_by("message_id", "pk")
)
