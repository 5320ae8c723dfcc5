"""Moves a conversation's pointers, after what they pass over is in the history."""

from dataclasses import asdict

from django.db import transaction
from django.db.models import F, Q

from jenny.agent.errors import Cancelled
from jenny.chat.meter import meter_of
from jenny.chat.models import Conversation, Message, Summary, Turn
from jenny.chat.outcomes import Kept
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
    found = reading.about(chat.workspace.root, str(chat.pk), anchor)
    if not found:
        return
    with transaction.atomic():
        chat = _held(claim)
        if (chat.appending_from, chat.appending_through) != anchor:
            return
        kinds = ("user", "answer")
        about = chat.messages.filter(
            pk__gte=anchor[0], pk__lte=anchor[1], kind__in=kinds, is_current=True
        )
        last = about.order_by("-pk").first()
        if last is None or last.pk != anchor[1]:
            # They are about another version, which is not shown.
            return
        Conversation.objects.filter(pk=chat.pk).update(summarised_through=anchor[1])
        Summary.objects.create(
            conversation=chat,
            first=anchor[0],
            message=last,
            count=about.count(),
            cursors=[entry.cursor for entry in found],
            is_raw=any(entry.kind == "raw" for entry in found),
        )
    Publisher(chat).message(last)


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


def move(claim: Claim, seen: Conversation, piece: Slice, kept: Kept) -> None:
    """Move the pointers past a slice of which all that is *kept* is on record. What the model
    sees is left alone when ``/new``, a retry or an edit changed it meanwhile.

    *seen*: the conversation when the slice was chosen.
    :raises Cancelled: the claim was taken away.
    """
    with transaction.atomic():
        chat = _held(claim)
        if chat.branch_id == seen.branch_id:
            _move(chat, seen, piece)
        else:
            _move_unseen(chat, seen, piece)
        last = _noted(chat, piece, kept)
    publisher = Publisher(chat)
    if last is not None and last.is_current:
        publisher.message(last)
    chat.refresh_from_db()
    gauge = meter_of(chat, config.load(chat.workspace.root))
    publisher.meter(gauge.sentence, gauge.percent)


def _move(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Inside the transaction: the pointers of the version that is shown."""
    changes: dict[str, object] = {"summarised_through": piece.through}
    if chat.context_from == seen.context_from and not _is_needed(chat, piece.context_from):
        changes["context_from"] = piece.context_from
        changes["tokens_gone"] = F("tokens_gone") + piece.tokens_gone
        # The model would be told of nothing.
        left = Q(messages__kind=Message.Kind.USER, messages__pk__lt=piece.context_from)
        turns = chat.turns.filter(left, can_retry=True).values_list("pk", flat=True)
        Turn.objects.filter(pk__in=list(turns)).update(can_retry=False)
    Conversation.objects.filter(pk=chat.pk).update(**changes)


def _move_unseen(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Inside the transaction: another version is shown by now. The one that was summarised keeps
    its own pointers for later; this one passes over what both of them share."""
    versions = chat.branches.filter(
        Q(pk=seen.branch_id) if seen.branch_id else Q(parent=None),
        summarised_through__lt=piece.through,
    )
    versions.update(summarised_through=piece.through)
    shared = chat.messages.filter(pk=piece.rows[-1].pk if piece.rows else 0, is_current=True)
    if shared.exists():
        Conversation.objects.filter(pk=chat.pk, summarised_through__lt=piece.through).update(
            summarised_through=piece.through
        )


def _noted(chat: Conversation, piece: Slice, kept: Kept) -> Message | None:
    """Note what was kept behind the last message that it is about; that message."""
    if kept.cursors:
        # What a chat kept for itself while it was temporary is in the history now.
        chat.summaries.exclude(text="").delete()
    last = piece.rows[-1] if piece.rows else None
    if last is None or not kept.is_something:
        return None
    Summary.objects.create(
        conversation=chat,
        first=piece.rows[0].pk,
        message=last,
        count=kept.count,
        cursors=list(kept.cursors),
        text=kept.text,
        is_raw=bool(kept.raw),
        secrets=[asdict(one) for one in kept.secrets],
    )
    return Message.objects.get(pk=last.pk)


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
