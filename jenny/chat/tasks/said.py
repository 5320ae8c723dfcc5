"""What the model still sees of a conversation, read as values: rows of models cost many times as
much, and a long conversation has hundreds."""

from itertools import groupby
from operator import itemgetter

from jenny.accounts.models.prepared import Prepared, number_slot, uuid_slot
from jenny.chat.history import Piece, Said
from jenny.chat.models import Block, Conversation, Message

# Thinking and notes are never sent.
_SENT = (Block.Kind.TEXT, Block.Kind.TOOL)
# A message, once for each block of it.
_SAID = Prepared(
    lambda: (
        Message.objects.filter(
            conversation=uuid_slot("conversation"),
            pk__gte=number_slot("context_from"),
            is_current=True,
        )
        .order_by("pk", "blocks__pk")
        .values_list(
            "pk",
            "kind",
            "text",
            "context",
            "turn__state",
            "turn__retried",
            "blocks__step",
            "blocks__kind",
            "blocks__text",
            "blocks__data",
        )
    )
)


def said_in(conversation: Conversation) -> list[Said]:
    """The messages that the model still sees, oldest first, with the blocks of the answers."""
    rows = _SAID.rows(conversation=conversation.pk, context_from=conversation.context_from)
    said = []
    for _, blocks in groupby(rows, key=itemgetter(0)):
        first, *others = blocks
        _, kind, text, context, state, is_retried, *_ = first
        pieces = tuple(Piece(*row[6:]) for row in (first, *others) if row[7] in _SENT)
        said.append(Said(kind, text, context, state or "", bool(is_retried), pieces))
    return said
