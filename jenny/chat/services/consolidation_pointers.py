"""Moves a conversation's pointers after the messages before them are in the history."""

from dataclasses import asdict

from django.db import transaction
from django.db.models import F, Q

from jenny.agent.errors import Cancelled
from jenny.chat.context_slices import Slice
from jenny.chat.models import Conversation, Message, Summary, Turn
from jenny.chat.outcomes import Kept
from jenny.chat.services.consolidation_claims import Claim
from jenny.chat.services.context_window import meter_of
from jenny.chat.services.publish import Publisher
from jenny.workspace import config
from memory.history import reader


def settle_pointers(claim: Claim) -> None:
    """Record entries that were added before a crash, so that they are not made again."""
    chat = claim.conversation
    chat.refresh_from_db()
    if chat.appending_through <= chat.summarised_through:
        return
    anchor = (chat.appending_from, chat.appending_through)
    found = reader.about(chat.workspace.root, str(chat.pk), anchor)
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
            # They are about a version that is not shown.
            return
        Conversation.objects.filter(pk=chat.pk).update(summarised_through=anchor[1])
        Summary.objects.create(
            conversation=chat,
            first=anchor[0],
            message=_latest_after(last),
            count=about.count(),
            cursors=[entry.cursor for entry in found],
            is_raw=any(entry.kind == "raw" for entry in found),
        )
    Publisher(chat).message(_latest_after(last))


def session_of(claim: Claim, messages: tuple[int, int]) -> int:
    """Record that entries about these messages are about to be added; return the session's begin.

    :raises Cancelled: the claim was taken away; nothing may be added.
    """
    with transaction.atomic():
        chat = _held(claim)
        Conversation.objects.filter(pk=chat.pk).update(
            appending_from=messages[0], appending_through=messages[1]
        )
    return chat.session_from


def move_pointers(claim: Claim, seen: Conversation, piece: Slice, kept: Kept) -> None:
    """Move the pointers past a slice whose entries are stored.

    The context stays as it is when ``/new``, a retry or an edit changed it meanwhile. *seen*: the
    conversation when the slice was chosen.

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
    gauge = meter_of(chat, config.load_config(chat.workspace.root))
    publisher.meter(gauge.message, gauge.percent)


def _move(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Move the pointers of the version that is shown, inside the transaction."""
    changes: dict[str, object] = {"summarised_through": piece.through}
    if chat.context_from == seen.context_from and not _is_needed(chat, piece.context_from):
        changes["context_from"] = piece.context_from
        changes["tokens_gone"] = F("tokens_gone") + piece.tokens_gone
        # Without this the model would get no message.
        left = Q(messages__kind=Message.Kind.USER, messages__pk__lt=piece.context_from)
        turns = chat.turns.filter(left, can_retry=True).values_list("pk", flat=True)
        Turn.objects.filter(pk__in=list(turns)).update(can_retry=False)
    Conversation.objects.filter(pk=chat.pk).update(**changes)


def _move_unseen(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Move pointers when another version is shown by now, inside the transaction.

    The summarised version keeps its own pointers for later; the shown one passes over what both
    share.
    """
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
    """Store the summary, and return the message after which the thread shows it."""
    if kept.cursors:
        # The text of a temporary chat's own summary is in the history now.
        chat.summaries.exclude(text="").delete()
    last = piece.rows[-1] if piece.rows else None
    if last is None or not kept.is_something:
        return None
    shown_after = _latest_after(Message.objects.get(pk=last.pk))
    Summary.objects.create(
        conversation=chat,
        first=piece.rows[0].pk,
        message=shown_after,
        count=kept.count,
        cursors=list(kept.cursors),
        text=kept.text,
        is_raw=bool(kept.raw),
        secrets=[asdict(one) for one in kept.secrets],
    )
    return shown_after


def _latest_after(last: Message) -> Message:
    """Return the last of the commands and replies that directly follow the slice's last message.

    One of them may have asked for the summary, which stands below it then.
    """
    rows = Message.objects.filter(
        conversation=last.conversation_id, is_current=last.is_current, pk__gt=last.pk
    )
    shown = last
    for row in rows.order_by("pk").iterator(chunk_size=20):
        if row.kind not in {Message.Kind.COMMAND, Message.Kind.REPLY}:
            break
        shown = row
    return shown


def _is_needed(chat: Conversation, context_from: int) -> bool:
    """True when a queued or running turn answers messages that would leave the context."""
    asked = chat.messages.filter(
        kind=Message.Kind.USER, pk__gte=chat.context_from, pk__lt=context_from
    )
    return asked.filter(Q(turn=None) | Q(turn__state__in=Turn.LIVE)).exists()


def _held(claim: Claim) -> Conversation:
    """Lock the conversation inside a transaction and check the claim.

    :raises Cancelled: the claim was taken away.
    """
    chat = claim.conversation.locked()
    if chat.consolidator != claim.holder:
        raise Cancelled("lost")
    return chat
