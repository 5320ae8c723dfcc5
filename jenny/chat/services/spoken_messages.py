"""Gives the memory app the messages of an entry or of a turn."""

from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import QuerySet
from django.urls import reverse

from jenny.accounts.services.prepared_statements import Prepared, text_slot
from jenny.chat.models import Branch, Conversation, Message, Turn
from memory.history.edited_entries import NONE, Gone
from memory.provenance import TURN, Anchor, SourceConversation, SourceMessage

LISTED = 20
_EXCERPT = 200
_KINDS = (Message.Kind.USER, Message.Kind.ANSWER)


def speech(anchor: Anchor) -> SourceConversation | None:
    """Return those messages; ``None``: they, or their conversation, are deleted."""
    folder = settings.JENNY_DATA.workspaces
    if anchor.root.parent not in {folder, folder.resolve()}:
        # The folder belongs to no workspace of this instance.
        return None
    found = _of_turn(anchor) if anchor.run else _of_messages(anchor)
    if found is None:
        return None
    chat, rows = found
    said = list(rows.prefetch_related("blocks").order_by("pk")[:LISTED])
    told = tuple(
        SourceMessage(row.pk, row.kind, row.created_at, _excerpt(row), _url(row)) for row in said
    )
    return SourceConversation(str(chat.pk), chat.title, told, max(0, rows.count() - len(told)))


def _of_turn(anchor: Anchor) -> "tuple[Conversation, QuerySet[Message]] | None":
    number = anchor.run.removeprefix(TURN)
    if not anchor.run.startswith(TURN) or not number.isdecimal():
        return None
    turn = (
        Turn.objects.select_related("conversation")
        .filter(
            pk=int(number[:18]),
            conversation__workspace__slug=anchor.root.name,
            conversation__deleted_at=None,
        )
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
        # A person edited the line.
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


def messages_gone(root: Path) -> Gone:
    """Return the messages of the workspace at *root* that are no longer in any thread."""
    folder = settings.JENNY_DATA.workspaces
    if root.parent not in {folder, folder.resolve()}:
        # The folder belongs to no workspace of this instance.
        return NONE
    return Gone({(str(chat), pk): at for chat, pk, at in _GONE.rows(slug=root.name)})


def _gone() -> models.QuerySet[Message, tuple[UUID, int, datetime]]:
    chats = Branch.objects.filter(conversation__workspace__slug=text_slot("slug")).values(
        "conversation"
    )
    gone = Message.objects.filter(is_current=False, conversation__in=chats)
    return gone.values_list("conversation_id", "pk", "created_at")


# Prepared, since each turn asks.
_GONE = Prepared(_gone)
