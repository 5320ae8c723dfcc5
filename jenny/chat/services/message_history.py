"""Loads the messages of a conversation that the model still sees.

They are read as values: model instances cost many times as much, and a long conversation has
hundreds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from jenny.accounts.services.prepared_statements import Prepared, number_slot, uuid_slot
from jenny.chat.attachment_texts import AttachedFile
from jenny.chat.model_messages import Piece, Said
from jenny.chat.models import Attachment, Block, Conversation, Message, Turn

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


_FILE_COLUMNS = (
    *("name", "path", "label", "form", "size", "problem", "page_count", "width", "height"),
    *("text", "picture", "picture_type"),
)
_FILES = Prepared(
    lambda: (
        Attachment.objects.filter(
            message__conversation=uuid_slot("conversation"),
            message__gte=number_slot("first"),
            message__is_current=True,
        )
        .order_by("pk")
        .values_list("message", *_FILE_COLUMNS)
    )
)


def load_files(conversation: Conversation, first: int) -> Mapping[int, Sequence[AttachedFile]]:
    """Return the files of the messages from the id *first* on, as the model gets them."""
    found: dict[int, list[AttachedFile]] = defaultdict(list)
    for message, *values in _FILES.rows(conversation=conversation.pk, first=first):
        row = dict(zip(_FILE_COLUMNS, values, strict=True))
        found[message].append(AttachedFile(**row | {"picture": bytes(row["picture"] or b"")}))
    return found


def load_history(conversation: Conversation) -> list[Said]:
    """Return the messages that the model still sees, oldest first, with the answers' blocks."""
    rows = _SAID.rows(conversation=conversation.pk, context_from=conversation.context_from)
    files = load_files(conversation, conversation.context_from)
    said = []
    for _, blocks in groupby(rows, key=itemgetter(0)):
        first, *others = blocks
        pk, kind, text, context, state, is_retried, reason, *_ = first
        pieces = tuple(Piece(*row[7:]) for row in (first, *others) if row[8] in _SENT)
        is_refused = reason == Turn.REFUSED
        said.append(
            Said(
                kind,
                text,
                context,
                state or "",
                bool(is_retried),
                pieces,
                pk,
                is_refused,
                files.get(pk, ()),
            )
        )
    return said
