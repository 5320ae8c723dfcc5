"""Conversations.

An *event number* is given by the database, together with the row that the event
tells of, and is never used twice in a conversation: it is the first half of the
event's position in the conversation's stream (``jenny.chat.stream``).
"""

import uuid
from typing import Any

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.accounts.models.prepared import (
    Prepared,
    PreparedUpdate,
    number_slot,
    text_slot,
    uuid_slot,
)
from jenny.agent.runs import RUN_KINDS
from jenny.chat.models.branches import Branch
from jenny.chat.models.consolidating import Consolidating
from jenny.chat.models.messages import Message


class Conversation(Consolidating):
    """A conversation of one workspace."""

    class Kind(models.TextChoices):
        """What kind of run its turns are (``jenny.agent.runs``)."""

        PERSONAL = "personal"
        TEMPORARY = "temporary"
        PROJECT = "project"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="conversations")
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.PERSONAL)
    # The wiki that a project's conversation belongs to: the name of its folder.
    project = models.CharField(max_length=255, blank=True)
    title = models.CharField(max_length=120, blank=True)
    titled_by_hand = models.BooleanField(default=False)
    preset = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    active_at = models.DateTimeField(db_default=Now())
    # The model sees messages from this id on; /new and the consolidator move it.
    context_from = models.BigIntegerField(default=0)
    event_number = models.BigIntegerField(default=0)
    # The version of it that is shown; null: there is only one.
    branch = models.ForeignKey(Branch, null=True, on_delete=models.SET_NULL, related_name="+")
    # What is too big for the model and cannot be summarised away, in words; empty: nothing is.
    crowded = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-active_at"], name="conversations_by_day"),
            models.Index(
                fields=["consolidate_after"],
                condition=Q(consolidate_after__isnull=False),
                name="conversations_due",
            ),
        ]

    def __str__(self) -> str:
        """The title."""
        return self.title or str(self.id)

    @property
    def feeds_history(self) -> bool:
        """Whether what is said in it reaches the memory."""
        return RUN_KINDS[self.kind].feeds_history

    @property
    def may_rest(self) -> bool:
        """Whether it is summarised for being idle."""
        return RUN_KINDS[self.kind].rests

    def next_event_number(self, count: int = 1) -> int:
        """Take the conversation's next event number, or the last one of the next *count*; call
        it inside the transaction that stores what the events tell of.

        :raises Conversation.DoesNotExist: it was deleted.
        """
        # One statement, since every event needs it; the ORM would take two.
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE chat_conversation SET event_number = event_number + %s WHERE id = %s"
                " RETURNING event_number, branch_id",
                [count, self._meta.pk.get_db_prep_value(self.pk, connection)],
            )
            row = cursor.fetchone()
        if row is None:
            raise self.DoesNotExist
        self.event_number, self.branch_id = row
        return self.event_number

    def locked(self) -> "Conversation":
        """The row as it is now, held until the transaction ends: whoever adds to a
        conversation, starts or ends its turns, or deletes it, does so one after another.

        :raises Conversation.DoesNotExist: it was deleted.
        """
        found = _LOCKED.first(conversation=self.pk)
        if found is None:
            raise self.DoesNotExist
        return found

    def bump(self) -> None:
        """It is active now; inside a transaction, which holds it then as by :meth:`locked`.

        :raises Conversation.DoesNotExist: it was deleted.
        """
        if not _BUMP.run(conversation=self.pk):
            raise self.DoesNotExist

    def has_taken(self, client_key: str) -> bool:
        """Whether the form of that *client_key* was taken in before."""
        return bool(_TAKEN.rows(conversation=self.pk, key=client_key))

    def waiting(self) -> "models.QuerySet[Message]":
        """The user's messages that no turn has taken yet, oldest first."""
        return _waiting(self.pk, self.context_from)

    def waiting_rows(self) -> list[Message]:
        """The same, read; each turn asks for them."""
        return _WAITING.rows(conversation=self.pk, context_from=self.context_from)


def _waiting(conversation: Any, context_from: Any) -> "models.QuerySet[Message]":
    return Message.objects.filter(
        conversation=conversation,
        pk__gte=context_from,
        kind=Message.Kind.USER,
        turn=None,
        is_current=True,
    ).order_by("pk")


_LOCKED = Prepared(
    lambda: Conversation.objects.select_for_update().filter(pk=uuid_slot("conversation"))
)
_BUMP = PreparedUpdate(
    lambda: Conversation.objects.filter(pk=uuid_slot("conversation")), active_at=Now()
)
_TAKEN = Prepared(
    lambda: Message.objects.filter(
        conversation=uuid_slot("conversation"), client_key=text_slot("key")
    ).values_list("pk")
)
_WAITING = Prepared(lambda: _waiting(uuid_slot("conversation"), number_slot("context_from")))


def look_again(workspace: Workspace) -> None:
    """Let the sweep look at every conversation of which something is not in the history yet:
    the settings say something else of idleness now. It decides by when they were last active."""
    waiting = Message.objects.filter(
        conversation=OuterRef("pk"), pk__gt=OuterRef("summarised_through")
    )
    rows = Conversation.objects.filter(Exists(waiting), workspace=workspace)
    rows.update(consolidate_after=Now())
