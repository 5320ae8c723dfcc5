"""What was said, for the floor below: the messages of an entry or of a turn."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.urls import reverse

from jenny.chat.models import Conversation, Message, Turn
from memory.provenance.record import TURN
from memory.provenance.values import Anchor, Said, Speech

LISTED = 20
_EXCERPT = 200
_KINDS = (Message.Kind.USER, Message.Kind.ANSWER)


def speech(anchor: Anchor) -> Speech | None:
    """The messages that are meant; ``None``: they, or their conversation, are gone."""
    folder = settings.JENNY_DATA.workspaces
    if anchor.root.parent not in {folder, folder.resolve()}:
        # No workspace of this instance has its folder there.
        return None
    found = _of_turn(anchor) if anchor.run else _of_messages(anchor)
    if found is None:
        return None
    chat, rows = found
    said = list(rows.prefetch_related("blocks").order_by("pk")[:LISTED])
    told = tuple(Said(row.pk, row.kind, row.created_at, _excerpt(row), _url(row)) for row in said)
    return Speech(str(chat.pk), chat.title, told, max(0, rows.count() - len(told)))


def _of_turn(anchor: Anchor) -> "tuple[Conversation, QuerySet[Message]] | None":
    number = anchor.run.removeprefix(TURN)
    if not anchor.run.startswith(TURN) or not number.isdecimal():
        return None
    turn = (
        Turn.objects.select_related("conversation")
        .filter(pk=int(number[:18]), conversation__workspace__slug=anchor.root.name)
        .first()
    )
    if turn is None:
        return None
    return turn.conversation, turn.messages.filter(kind__in=_KINDS)


def _of_messages(anchor: Anchor) -> "tuple[Conversation, QuerySet[Message]] | None":
    rows = Conversation.objects.filter(workspace__slug=anchor.root.name)
    try:
        chat = rows.filter(pk=anchor.conversation).first()
    except (ValidationError, ValueError):
        # Somebody wrote the line by hand.
        return None
    if chat is None or anchor.messages is None:
        return None
    first, last = anchor.messages
    said = chat.messages.filter(pk__gte=first, pk__lte=last, kind__in=_KINDS, is_current=True)
    if anchor.until is not None:
        said = said.filter(created_at__lt=anchor.until)
    return chat, said


def _excerpt(row: Message) -> str:
    text = row.text or " ".join(block.text for block in row.blocks.all() if block.kind == "text")
    line = " ".join(text[: _EXCERPT * 4].split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def _url(row: Message) -> str:
    return reverse("chat:at", args=[row.conversation_id, row.pk])
