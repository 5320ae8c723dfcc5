"""A conversation's system prompt, with what is stored of its beginning."""

from collections.abc import Mapping, Sequence
from typing import Any

from jenny.accounts.models.prepared import Prepared, number_slot, uuid_slot
from jenny.agent.prompt import SystemPrompt
from jenny.chat.models import Conversation, Summary
from jenny.chat.prompt import build
from jenny.workspace.errors import WorkspaceError
from memory.forgotten import without_forgotten
from memory.history import lookup
from memory.history import prompt as pending
from memory.history.entries import Entry


def prompt_of(
    chat: Conversation, tool_names: Sequence[str], schemas: Sequence[Mapping[str, Any]]
) -> SystemPrompt:
    """The prompt of a turn in *chat*, with these tools."""
    return build(
        chat.kind,
        chat.workspace.root,
        tool_names=tool_names,
        schemas=schemas,
        stored=stored_of(chat),
        project=chat.project,
    )


def stored_of(chat: Conversation) -> list[str]:
    """The summaries of what left the context, oldest first, but those that the prompt shows among
    what Dream has not read yet. Of what ``/new`` ended none, and nothing that is forgotten."""
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
        found = lookup.by_cursor(root, numbers - pending.shown(root))
    except WorkspaceError:
        # A history that cannot be read is told of among the pending entries; chat goes on.
        found = {}
    texts = []
    for row in rows:
        own = [Entry(0, "", row.text)] if row.text else []
        entries = own or [found[cursor] for cursor in row.cursors if cursor in found]
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
