"""Exports the conversations of a workspace as rows of a backup."""

import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.chat.backup import conversations, fields
from jenny.chat.backup.conversations import ConversationRows
from jenny.chat.models import Attachment, Block, Branch, Conversation, Message, Summary, Turn
from jenny.workspace import names
from jenny.workspace.backup.rows import Row
from jenny.workspace.errors import BackupRefused

log = logging.getLogger(__name__)

_UNDER_WAY = "It was under way when the backup was made."


def rows(workspace: Workspace, left_out: list[str] | None = None) -> Iterator[Row]:
    """Yield every conversation with its messages, versions, turns, answers and summaries.

    Temporary chats, drafts and keys are left out. One conversation is in memory at a time.
    *left_out* gets a sentence for each conversation that no import would accept.
    """
    kept = Conversation.objects.filter(workspace=workspace, kind__in=conversations.KINDS)
    for key in list(kept.order_by("created_at", "pk").values_list("pk", flat=True)):
        with contextlib.suppress(Conversation.DoesNotExist):  # deleted meanwhile
            talk = talk_of(kept.get(pk=key))
            try:
                found = list(conversations.rows(conversations.judged(talk)))
            except (BackupRefused, ValueError) as error:
                log.warning("backup.conversation_left_out", extra={"conversation": str(key)})
                if left_out is not None:
                    title = names.shown(str(talk.conversation["title"] or key))
                    left_out.append(f"The conversation {title} is left out: {error}")
                continue
            yield from found


def talk_of(chat: Conversation) -> ConversationRows:
    """Return a conversation as values, read in one transaction except for text being written.

    :raises Conversation.DoesNotExist: it was deleted.
    """
    with transaction.atomic():
        chat = chat.locked()
        messages = list(Message.objects.filter(conversation=chat).order_by("pk"))
        shown = {row.pk for row in messages}
        return ConversationRows(
            _values(
                chat,
                "conversation",
                type=chat.kind,
                tags=list(chat.tags.order_by("key").values_list("name", flat=True)),
            ),
            _all(Branch.objects.filter(conversation=chat), "branch"),
            [_turn(row) for row in Turn.objects.filter(conversation=chat).order_by("pk")],
            _messages(chat, messages),
            [
                _values(row, "block", data=fields.fit_block_data(row.kind, row.data))
                for row in Block.objects.filter(turn__conversation=chat).order_by("pk")
                if row.message_id in shown
            ],
            _listed(Summary.objects.filter(conversation=chat).order_by("pk"), "summary", shown),
        )


def _all(found: QuerySet[Any], kind: str) -> list[Row]:
    return [_values(row, kind) for row in found.order_by("pk")]


def _listed(found: Iterable[Any], kind: str, shown: set[int]) -> list[Row]:
    """Return the rows about messages that were read; others may arrive meanwhile."""
    return [_values(row, kind) for row in found if row.message_id in shown]


def _messages(chat: Conversation, rows: Iterable[Message]) -> list[Row]:
    """Return the messages' rows with their files, whose content is in the workspace."""
    files: dict[int, list[Row]] = defaultdict(list)
    sent = Attachment.objects.filter(message__conversation=chat).order_by("pk")
    for one in sent.values("message", *fields.ATTACHMENT):
        files[one.pop("message")].append(one)
    return [_values(row, "message", attachments=files[row.pk]) for row in rows]


def _turn(row: Turn) -> Row:
    """Return a turn's row; a live turn is exported as interrupted, since it cannot continue
    elsewhere.
    """
    values = _values(row, "turn")
    if row.is_live:
        values |= {"state": "interrupted", "reason": "", "message": _UNDER_WAY}
        values |= {"can_retry": False, "ended_at": timezone.now()}
    return values


def _values(row: Model, kind: str, **other: Any) -> Row:
    names = (name for name in fields.TABLE.kinds[kind] if name not in other)
    found = {name: row.serializable_value(name) for name in names}
    return found | other
