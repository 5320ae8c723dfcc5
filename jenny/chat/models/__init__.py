"""Conversations, their messages, turns and blocks.

An *event number* is given by the database, together with the row that the event
tells of, and is never used twice in a conversation: it is the first half of the
event's position in the conversation's stream (``jenny.chat.stream``).
"""

import uuid
from typing import Self

from django.db import connection, models
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.agent.runs import RUN_KINDS
from jenny.chat.models.branches import Branch, Path
from jenny.chat.models.consent import ConsentRequest
from jenny.chat.models.consolidating import Consolidating
from jenny.chat.models.messages import Block, Draft, Message
from jenny.chat.models.projects import ProjectState
from jenny.chat.models.summaries import Summary

__all__ = [
    "Block",
    "Branch",
    "ConsentRequest",
    "Conversation",
    "Draft",
    "Message",
    "Path",
    "ProjectState",
    "Summary",
    "Turn",
]


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

    def locked(self) -> Self:
        """The row as it is now, held until the transaction ends: whoever adds to a
        conversation, starts or ends its turns, or deletes it, does so one after another.

        :raises Conversation.DoesNotExist: it was deleted.
        """
        return type(self).objects.select_for_update().get(pk=self.pk)

    def waiting(self) -> "models.QuerySet[Message]":
        """The user's messages that no turn has taken yet, oldest first."""
        return Message.objects.filter(
            conversation=self,
            pk__gte=self.context_from,
            kind=Message.Kind.USER,
            turn=None,
            is_current=True,
        ).order_by("pk")


def look_again(workspace: Workspace) -> None:
    """Let the sweep look at every conversation of which something is not in the history yet:
    the settings say something else of idleness now. It decides by when they were last active."""
    waiting = Message.objects.filter(
        conversation=OuterRef("pk"), pk__gt=OuterRef("summarised_through")
    )
    rows = Conversation.objects.filter(Exists(waiting), workspace=workspace)
    rows.update(consolidate_after=Now())


class Turn(models.Model):
    """One run of the model for the messages that wait; claimed by at most one worker, ever."""

    class State(models.TextChoices):
        """Where the turn stands; all but the first two are ends."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    LIVE = (State.QUEUED, State.RUNNING)
    # How many tokens had left the context since an earlier turn looked at it, when this one was
    # claimed.
    tokens_gone = 0

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    # Why it ended as it did: an error kind or an ending of the loop ("cut", "step_cap").
    reason = models.CharField(max_length=32, blank=True)
    sentence = models.TextField(blank=True)
    can_retry = models.BooleanField(default=False)
    retried = models.BooleanField(default=False)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    # All leases are compared by the database's clock, so that hosts may disagree.
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=120, blank=True)
    preset = models.CharField(max_length=64, blank=True)
    is_demo = models.BooleanField(default=False)
    steps = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    # Size of the last request, as the provider counted it.
    context_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    # From where on the model saw the conversation, and where its session began: what a version
    # that branches off here begins with.
    context_from = models.BigIntegerField(default=0)
    session_from = models.BigIntegerField(default=0)
    event_number = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(state__in=("queued", "running")),
                name="one_live_turn_a_conversation",
            )
        ]
        indexes = [
            models.Index(
                fields=["heartbeat_at"],
                condition=Q(state__in=("queued", "running")),
                name="live_turns",
            ),
            models.Index(
                fields=["reason"],
                condition=Q(can_retry=True, retried=False),
                name="turns_that_wait",
            ),
        ]

    def __str__(self) -> str:
        """Number and state."""
        return f"turn {self.pk} {self.state}"

    @property
    def is_live(self) -> bool:
        """Whether it waits or runs."""
        return self.state in self.LIVE

    @classmethod
    def claim(cls, turn_id: int, worker: str) -> Self | None:
        """Take a queued turn for *worker*. ``None``: somebody has it, or had it; do nothing."""
        seen = Conversation.objects.filter(pk=OuterRef("conversation_id"))
        won = cls.objects.filter(pk=turn_id, state=cls.State.QUEUED).update(
            state=cls.State.RUNNING,
            worker=worker,
            started_at=Now(),
            heartbeat_at=Now(),
            context_from=Subquery(seen.values("context_from")),
            session_from=Subquery(seen.values("session_from")),
        )
        if not won:
            return None
        turn = cls.objects.select_related("conversation__workspace__owner").get(pk=turn_id)
        turn.tokens_gone = turn.conversation.tokens_gone
        if turn.tokens_gone:
            rows = Conversation.objects.filter(pk=turn.conversation_id)
            rows.update(tokens_gone=F("tokens_gone") - turn.tokens_gone)
        return turn

    def follow(self) -> Self | None:
        """Inside the transaction that ended this turn, holding its conversation: a queued turn
        for messages that still wait, ``None`` when there are none.

        A turn that ended before it took any takes them now, so that none is left without a
        turn whose end says what became of it. One that ``/new`` came after is not retried:
        the model would be told of nothing.
        """
        conversation = self.conversation.locked()
        conversation.rests(conversation.workspace.root)
        said = self.messages.filter(kind=Message.Kind.USER)
        if not said.exists():
            conversation.waiting().update(turn=self)
        if self.can_retry and not said.filter(pk__gte=conversation.context_from).exists():
            self.can_retry = False
            self.save(update_fields=["can_retry"])
        if not conversation.waiting().exists():
            return None
        return type(self).objects.create(conversation=conversation)

    def renew(self, **only_if: object) -> bool:
        """Renew the lease. ``False``: the turn was taken away; the holder must write nothing.
        Or, with *only_if*: its fields have other values."""
        held = Turn.objects.filter(
            pk=self.pk, state=self.State.RUNNING, worker=self.worker, **only_if
        )
        return bool(held.update(heartbeat_at=Now()))
