"""Moves a conversation's pointers, after what they pass over is in the history."""

from django.db import transaction
from django.db.models import F, Q

from jenny.agent.errors import Cancelled
from jenny.chat.meter import meter_of
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.slices import Slice
from jenny.chat.tasks.claims import Claim
from jenny.chat.tasks.publish import Publisher
from jenny.workspace import config
from memory.history import reading


def settle(claim: Claim) -> None:
    """Entries that were added before a crash, and not noted, are noted now and not made again."""
    chat = claim.conversation
    chat.refresh_from_db()
    if chat.appending_through <= chat.summarised_through:
        return
    anchor = (chat.appending_from, chat.appending_through)
    if not reading.about(chat.workspace.root, str(chat.pk), anchor):
        return
    with transaction.atomic():
        _held(claim)
        Conversation.objects.filter(pk=chat.pk).update(summarised_through=F("appending_through"))


def session_of(claim: Claim, messages: tuple[int, int]) -> int:
    """Note that entries about these messages are about to be added; where the session begins.

    :raises Cancelled: the claim was taken away; nothing may be added.
    """
    with transaction.atomic():
        chat = _held(claim)
        Conversation.objects.filter(pk=chat.pk).update(
            appending_from=messages[0], appending_through=messages[1]
        )
    return chat.session_from


def move(claim: Claim, seen: Conversation, piece: Slice, divider: str) -> None:
    """Move the pointers past a slice that is in the history. What the model sees is left alone
    when ``/new`` or a retry changed it meanwhile.

    *seen*: the conversation when the slice was chosen; *divider*: words for the thread.
    :raises Cancelled: the claim was taken away.
    """
    row = None
    with transaction.atomic():
        chat = _held(claim)
        changes: dict[str, object] = {"summarised_through": piece.through}
        if chat.context_from == seen.context_from and not _is_needed(chat, piece.context_from):
            changes["context_from"] = piece.context_from
            changes["tokens_gone"] = F("tokens_gone") + piece.tokens_gone
            # The model would be told of nothing.
            left = Q(messages__kind=Message.Kind.USER, messages__pk__lt=piece.context_from)
            turns = chat.turns.filter(left, can_retry=True).values_list("pk", flat=True)
            Turn.objects.filter(pk__in=list(turns)).update(can_retry=False)
        Conversation.objects.filter(pk=chat.pk).update(**changes)
        if divider:
            # Not as something that happened in the conversation: its place in lists stays.
            row = Message.objects.create(
                conversation=chat,
                kind=Message.Kind.DIVIDER,
                text=divider,
                event_number=chat.next_event_number(),
            )
    publisher = Publisher(chat)
    if row is not None:
        publisher.message(row)
    chat.refresh_from_db()
    gauge = meter_of(chat, config.load(chat.workspace.root))
    publisher.meter(gauge.sentence, gauge.percent)


def _is_needed(chat: Conversation, context_from: int) -> bool:
    """Whether a turn that is to come, or is under way, was asked for by what would leave."""
    asked = chat.messages.filter(
        kind=Message.Kind.USER, pk__gte=chat.context_from, pk__lt=context_from
    )
    return asked.filter(Q(turn=None) | Q(turn__state__in=Turn.LIVE)).exists()


def _held(claim: Claim) -> Conversation:
    """Inside a transaction: the conversation, held, and still this holder's.

    :raises Cancelled: it is no longer.
    """
    chat = claim.conversation.locked()
    if chat.consolidator != claim.holder:
        raise Cancelled("lost")
    return chat
