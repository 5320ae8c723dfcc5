"""A conversation's system prompt, with what is stored of its beginning."""

from collections.abc import Mapping, Sequence
from typing import Any

from jenny.agent.prompt import SystemPrompt
from jenny.chat.models import Conversation, Summary
from jenny.chat.prompt import build
from memory.history import lookup
from memory.history import prompt as pending


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
    )


def stored_of(chat: Conversation) -> list[str]:
    """The summaries of what left the context, oldest first, but those that the prompt shows among
    what Dream has not read yet. Of what ``/new`` ended, none."""
    rows: list[Summary] = list(
        chat.summaries.filter(
            message__is_current=True, first__lt=chat.context_from, message__gte=chat.session_from
        ).order_by("message_id", "pk")
    )
    if not rows:
        return []
    root = chat.workspace.root
    numbers = {cursor for row in rows for cursor in row.cursors}
    entries = lookup.by_cursor(root, numbers - pending.shown(root))
    texts = [
        row.text
        or "\n".join(entries[cursor].content for cursor in row.cursors if cursor in entries)
        for row in rows
    ]
    return [text for text in texts if text]
