"""The conversations of a workspace as rows of a backup."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet

from jenny.accounts.models import Workspace
from jenny.chat.backup import fields, talks
from jenny.chat.backup.talks import Talk
from jenny.chat.models import Block, Branch, Conversation, Message, Summary, Turn
from jenny.workspace.backup.rows import Row

_UNDER_WAY = "It was under way when the backup was made."
_REFERENCES = frozenset({"branch", "parent", "turn", "message"})


def rows(workspace: Workspace) -> Iterator[Row]:
    """Every conversation with its messages, versions, turns, answers and summaries. Temporary
    ones, drafts and keys are not among them.

    One conversation is in memory at a time.
    """
    kept = Conversation.objects.filter(workspace=workspace, kind__in=talks.KINDS)
    for key in list(kept.order_by("created_at", "pk").values_list("pk", flat=True)):
        with contextlib.suppress(Conversation.DoesNotExist):  # deleted meanwhile
            yield from talks.rows(talk_of(kept.get(pk=key)))


def talk_of(chat: Conversation) -> Talk:
    """A conversation as values, all of one moment but for words of an answer under way.

    :raises Conversation.DoesNotExist: it was deleted.
    """
    with transaction.atomic():
        chat = chat.locked()
        messages = list(Message.objects.filter(conversation=chat).order_by("pk"))
        shown = {row.pk for row in messages}
        return Talk(
            _values(chat, "conversation", type=chat.kind),
            _all(Branch.objects.filter(conversation=chat), "branch"),
            [_turn(row) for row in Turn.objects.filter(conversation=chat).order_by("pk")],
            [_values(row, "message") for row in messages],
            _listed(Block.objects.filter(turn__conversation=chat).order_by("pk"), "block", shown),
            _listed(Summary.objects.filter(conversation=chat).order_by("pk"), "summary", shown),
        )


def _all(found: QuerySet[Any], kind: str) -> list[Row]:
    return [_values(row, kind) for row in found.order_by("pk")]


def _listed(found: Iterable[Any], kind: str, shown: set[int]) -> list[Row]:
    """Rows about messages that were read; blocks of others come meanwhile."""
    return [_values(row, kind) for row in found if row.message_id in shown]


def _turn(row: Turn) -> Row:
    """A turn; one under way is told as cut short, since it will not go on elsewhere."""
    values = _values(row, "turn")
    if row.is_live:
        values |= {"state": "interrupted", "reason": "", "sentence": _UNDER_WAY}
        values |= {"can_retry": False}
    return values


def _values(row: Model, kind: str, **other: Any) -> Row:
    """The values of a database row by the fields' names."""
    names = (name for name in fields.TABLE.kinds[kind] if name not in other)
    found = {name: getattr(row, f"{name}_id" if name in _REFERENCES else name) for name in names}
    return found | other
