"""What the model still sees of a conversation, read as values: rows of models cost many times as
much, and a long conversation has hundreds."""

from collections import defaultdict

from jenny.chat.history import Piece, Said
from jenny.chat.models import Block, Conversation, Message


def said_in(conversation: Conversation) -> list[Said]:
    """The messages that the model still sees, oldest first, with the blocks of the answers."""
    rows = Message.objects.filter(
        conversation=conversation, pk__gte=conversation.context_from, is_current=True
    )
    pieces = defaultdict(list)
    # Thinking and notes are never sent.
    blocks = Block.objects.filter(
        message__in=rows.filter(kind=Message.Kind.ANSWER).values("pk"),
        kind__in=(Block.Kind.TEXT, Block.Kind.TOOL),
    )
    for message, *piece in blocks.order_by("pk").values_list(
        "message_id", "step", "kind", "text", "data"
    ):
        pieces[message].append(Piece(*piece))
    return [
        Said(kind, text, context, state or "", bool(is_retried), pieces.get(pk, ()))
        for pk, kind, text, context, state, is_retried in rows.order_by("pk").values_list(
            "pk", "kind", "text", "context", "turn__state", "turn__retried"
        )
    ]
