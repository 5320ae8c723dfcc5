"""Renders messages and blocks as HTML for pages that follow a conversation."""

from collections.abc import Sequence
from datetime import date, tzinfo

from django.template.loader import render_to_string
from django.utils import timezone

from jenny.accounts.services.prepared_statements import Prepared, number_slot, uuid_slot
from jenny.chat import thread
from jenny.chat.models import Block, Message
from jenny.chat.prompt import zone_of


def render_item(message: Message) -> str:
    """Return a message as HTML as the page shows it, without the parts that need a request.

    :raises Message.DoesNotExist: it was deleted.
    """
    fresh = _SHOWN.first(message=message.pk)
    if fresh is None:
        raise Message.DoesNotExist
    zone = zone_of(fresh.conversation.workspace.owner.time_zone)
    is_last, blocks = True, []
    if fresh.kind == Message.Kind.ANSWER:
        blocks = _BLOCKS.rows(message=fresh.pk)
        is_last = fresh.turn_id is None or not _LATER.rows(
            conversation=fresh.conversation_id, message=fresh.pk, turn=fresh.turn_id
        )
    item = thread.item(fresh, day=_new_day(fresh, zone), is_last=is_last, blocks=blocks)
    with timezone.override(zone):
        return render_to_string("chat/thread.html#item", {"item": item})


_SHOWN = Prepared(
    lambda: Message.objects.select_related("turn", "conversation__workspace__owner").filter(
        pk=number_slot("message")
    )
)
_BLOCKS = Prepared(lambda: Block.objects.filter(message=number_slot("message")).order_by("pk"))
# Later answers of the same turn.
_LATER = Prepared(
    lambda: Message.objects.filter(
        conversation=uuid_slot("conversation"),
        is_current=True,
        pk__gt=number_slot("message"),
        turn=number_slot("turn"),
        kind=Message.Kind.ANSWER,
    ).values_list("pk")[:1]
)


def render_newest(message: Message, blocks: Sequence[Block]) -> str:
    """Render the thread's newest message, which was just stored with these *blocks*."""
    zone = zone_of(message.conversation.workspace.owner.time_zone)
    item = thread.item(message, day=_new_day(message, zone), blocks=blocks, summaries=())
    with timezone.override(zone):
        return render_to_string("chat/thread.html#item", {"item": item})


# The time of the message before one.
_BEFORE = Prepared(
    lambda: (
        Message.objects.filter(
            conversation=uuid_slot("conversation"), is_current=True, pk__lt=number_slot("message")
        )
        .order_by("-pk")
        .values_list("created_at")[:1]
    )
)


def _new_day(message: Message, zone: tzinfo) -> date | None:
    """Return the day of *message* when it differs from that of the message before it."""
    before = _BEFORE.first(conversation=message.conversation_id, message=message.pk)
    day = message.created_at.astimezone(zone).date()
    return None if before is not None and before[0].astimezone(zone).date() == day else day


def render_block(block: Block) -> str:
    return render_to_string("chat/thread.html#block", {"block": thread.block_view(block)})
