"""Conversations, their branches and tags, and the state of projects.

The database gives an *event number* together with the row that the event reports. A conversation
never uses a number twice: it is the first half of the event's position in the conversation's stream
(``jenny.chat.stream``).
"""

import contextlib
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models.consolidation import Consolidating
from jenny.chat.models.messages import Message

# Versions of a conversation: an edit or a new answer begins a branch next to what was said.
#
# Messages keep their order by id in every branch: new messages have the highest ids, and a branch
# continues after the messages that it shares with its parent.


@dataclass(frozen=True, slots=True)
class Path:
    """Selects the messages that a branch shows.

    For each branch on the way to the root: the messages before an id (0: all of them).
    """

    parts: tuple[tuple[int, int], ...]

    @property
    def condition(self) -> Q:
        found = Q(pk__in=[])
        for branch, before in self.parts:
            found |= Q(branch=branch, pk__lt=before) if before else Q(branch=branch)
        return found

    def holds(self, branch: int, message: int) -> bool:
        return any(branch == one and (not before or message < before) for one, before in self.parts)


class Branch(models.Model):
    """A version of a conversation.

    The conversation's row has the pointers of the version that is shown; this row keeps them while
    another one is shown.
    """

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="branches"
    )
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    # The parent's message that this branch's first message replaces.
    forks_at = models.BigIntegerField(default=0)
    first = models.BigIntegerField(default=0)
    summarised_through = models.BigIntegerField(default=0)
    context_from = models.BigIntegerField(default=0)
    session_from = models.BigIntegerField(default=0)
    tokens_gone = models.PositiveBigIntegerField(default=0)
    # Dream's cursor when this version was left. Later entries were read without it.
    read_to = models.BigIntegerField(default=0)
    left_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["conversation", "forks_at"], name="branches_of_conversation")
        ]

    def __str__(self) -> str:
        return f"branch {self.pk} at {self.forks_at}"

    def path(self, others: dict[int, Self]) -> Path:
        parts = [(self.pk, 0)]
        here = self
        while here.parent_id is not None:
            parts.append((here.parent_id, here.forks_at))
            here = others[here.parent_id]
        return Path(tuple(parts))


class LiveConversations(models.Manager["Conversation"]):
    def get_queryset(self) -> "models.QuerySet[Conversation]":
        return super().get_queryset().filter(deleted_at=None)


class Tag(models.Model):
    """A person's word for conversations; *key* is the name without differences of case."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)
    key = models.CharField(max_length=80)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "key"], name="one_tag_a_name")]

    def __str__(self) -> str:
        return self.name


class Conversation(Consolidating):
    """A conversation. ``objects`` has those that are not in the trash."""

    class Kind(models.TextChoices):
        """The kind of run of its turns (``jenny.agent.run_kinds``)."""

        PERSONAL = "personal"
        TEMPORARY = "temporary"
        PROJECT = "project"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="conversations")
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.PERSONAL)
    # The folder name of the wiki that a project's conversation belongs to.
    project = models.CharField(max_length=255, blank=True)
    title = models.CharField(max_length=120, blank=True)
    titled_by_hand = models.BooleanField(default=False)
    preset = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    active_at = models.DateTimeField(db_default=Now())
    # The model sees messages from this id on; /new and the Consolidator move it.
    context_from = models.BigIntegerField(default=0)
    event_number = models.BigIntegerField(default=0)
    # The branch that is shown; null: there is only one.
    branch = models.ForeignKey(Branch, null=True, on_delete=models.SET_NULL, related_name="+")
    # Names what is too big for the model and cannot be summarised away; empty: nothing is.
    overflow_note = models.TextField(blank=True)
    is_pinned = models.BooleanField(default=False)
    is_archived = models.BooleanField(default=False)
    # An answer ended while nobody was looking at it.
    is_unread = models.BooleanField(default=False)
    # When it was moved to the trash; null: it is not there.
    deleted_at = models.DateTimeField(null=True)
    tags = models.ManyToManyField(Tag, related_name="conversations", blank=True)
    # The conversation and the message that it was branched from; the message stays when the
    # conversation is deleted for good.
    source = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="copies")
    source_message = models.BigIntegerField(default=0)

    objects = LiveConversations()
    all_objects = models.Manager["Conversation"]()

    class Meta:
        default_manager_name = "all_objects"
        base_manager_name = "all_objects"
        indexes = [
            models.Index(fields=["workspace", "-active_at"], name="conversations_by_day"),
            # A condition on a boolean column is used only as the condition of an index.
            models.Index(
                fields=["workspace", "-active_at", "-id"],
                condition=Q(deleted_at=None, is_archived=False, is_pinned=False),
                name="conversations_listed",
            ),
            models.Index(
                fields=["workspace", "-active_at", "-id"],
                condition=Q(deleted_at=None, is_archived=False, is_pinned=True),
                name="conversations_pinned",
            ),
            models.Index(
                fields=["workspace", "-active_at", "-id"],
                condition=Q(deleted_at=None, is_archived=True),
                name="conversations_archived",
            ),
            models.Index(
                fields=["workspace", "kind", "project", "-active_at", "-id"],
                condition=Q(deleted_at=None, is_archived=False),
                name="conversations_of_kind",
            ),
            models.Index(
                fields=["workspace", "-active_at", "-id"],
                condition=Q(is_unread=True),
                name="conversations_unread",
            ),
            models.Index(
                fields=["workspace", "-deleted_at", "-id"],
                condition=Q(deleted_at__isnull=False),
                name="conversations_deleted",
            ),
            models.Index(
                fields=["consolidate_after"],
                condition=Q(consolidate_after__isnull=False),
                name="conversations_due",
            ),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)

    @property
    def feeds_history(self) -> bool:
        return RUN_KINDS[self.kind].feeds_history

    @property
    def may_rest(self) -> bool:
        return RUN_KINDS[self.kind].rests

    def next_event_number(self, count: int = 1) -> int:
        """Take the next event number, or the last one of the next *count*.

        Call it inside the transaction that stores what the events report.

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
        """Load the row and lock it until the transaction ends.

        Adding to a conversation, starting or ending its turns and deleting it need this lock.

        :raises Conversation.DoesNotExist: it was deleted, or is in the trash.
        """
        return Conversation.objects.select_for_update().get(pk=self.pk)

    def insert_if_new(self) -> None:
        """Store a new row, unless the same form, sent twice at once, has stored it meanwhile."""
        if self._state.adding:
            with contextlib.suppress(IntegrityError), transaction.atomic():
                self.save(force_insert=True)

    def bump(self) -> None:
        """Mark it as active now, inside a transaction; this locks it like :meth:`locked`.

        :raises Conversation.DoesNotExist: it was deleted.
        """
        row = Conversation.objects.filter(pk=self.pk)
        # Who goes on in an archived conversation needs it again.
        if not row.update(active_at=Now(), is_archived=False):
            raise self.DoesNotExist

    def has_taken(self, client_key: str) -> bool:
        """True when the form with that *client_key* was accepted before."""
        return Message.objects.filter(conversation=self.pk, client_key=client_key).exists()

    def waiting(self) -> "models.QuerySet[Message]":
        """Return the user's messages that no turn has taken yet, oldest first."""
        return Message.objects.filter(
            conversation=self.pk,
            pk__gte=self.context_from,
            kind=Message.Kind.USER,
            turn=None,
            is_current=True,
        ).order_by("pk")


def look_again(workspace: Workspace) -> None:
    """Let the sweep check every conversation that is not wholly in the history.

    Called when the idle time in the settings has changed. The sweep compares the last activity.
    """
    waiting = Message.objects.filter(
        conversation=OuterRef("pk"), pk__gt=OuterRef("summarised_through")
    )
    rows = Conversation.objects.filter(Exists(waiting), workspace=workspace)
    rows.update(consolidate_after=Now())


# The gardener waits until nobody has spoken in a project for this time, and as long after its last
# attempt.
GARDENER_IDLE = timedelta(minutes=30)
GARDENER_SPACING = timedelta(hours=6)
# Failures in a row after which a person is told.
GARDENER_FAILURES = 3


class ProjectState(models.Model):
    """The gardener's place in a project's log, and the time of its next run."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(max_length=255)
    # The line up to which each file of the log was read, by its path in the project's folder.
    read = models.JSONField(default=dict)
    attempted_at = models.DateTimeField(null=True)
    # Time of the next scheduled check; null: nothing happened since the last run.
    due_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    # The cause of the newest attempt's failure; empty: it did not fail.
    why = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_state_a_project")
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(due_at__isnull=False), name="projects_due"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, workspace: Workspace, name: str) -> Self:
        """Return the row of a project; create it when missing."""
        return cls.objects.get_or_create(workspace=workspace, name=name)[0]

    def happened(self) -> None:
        """Restart the idle time after something was said or logged."""
        type(self).objects.filter(pk=self.pk).update(due_at=Now() + GARDENER_IDLE)
