"""Loads the messages of a conversation that the model still sees.

They are read as values: model instances cost many times as much, and a long conversation has
hundreds.
"""

from itertools import groupby
from operator import itemgetter

from jenny.accounts.services.prepared_statements import Prepared, number_slot, uuid_slot
from jenny.chat.model_messages import Piece, Said
from jenny.chat.models import Block, Conversation, Message, Turn

# Thinking and notes are never sent.
_SENT = (Block.Kind.TEXT, Block.Kind.TOOL)
# A message appears once for each of its blocks.
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
            "turn__reason",
            "blocks__step",
            "blocks__kind",
            "blocks__text",
            "blocks__data",
        )
    )
)


def load_history(conversation: Conversation) -> list[Said]:
    """Return the messages that the model still sees, oldest first, with the answers' blocks."""
    rows = _SAID.rows(conversation=conversation.pk, context_from=conversation.context_from)
    said = []
    for _, blocks in groupby(rows, key=itemgetter(0)):
        first, *others = blocks
        pk, kind, text, context, state, is_retried, reason, *_ = first
        pieces = tuple(Piece(*row[7:]) for row in (first, *others) if row[8] in _SENT)
        is_refused = reason == Turn.REFUSED
        said.append(
            Said(kind, text, context, state or "", bool(is_retried), pieces, pk, is_refused)
        )
    return said
