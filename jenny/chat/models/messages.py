"""Messages of a thread, the blocks of answers, and drafts."""

from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jenny.workspace.errors import WorkspaceError
from memory import notes


class Message(models.Model):
    """An item of a thread: a user's message, a command's reply, a divider, or a turn's answer.

    The content of an answer is in its blocks.
    """

    class Kind(models.TextChoices):
        USER = "user"
        ANSWER = "answer"
        COMMAND = "command"
        REPLY = "reply"
        DIVIDER = "divider"

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="messages"
    )
    # The branch in which it was said; null: the conversation has only one.
    branch = models.ForeignKey(
        "chat.Branch", null=True, on_delete=models.CASCADE, related_name="messages"
    )
    # False when an edit replaced it: it is not in the thread.
    is_current = models.BooleanField(default=True)
    # The number of this version, and how many versions of the message there are.
    version = models.PositiveIntegerField(default=1)
    versions = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=8, choices=Kind)
    text = models.TextField(blank=True)
    # Clock, time zone and channel, which only the model sees after the text. Stored when the turn
    # takes the message, so that later requests repeat the same bytes.
    context = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    # The turn that took the message, or whose answer it is; null: it waits.
    turn = models.ForeignKey(
        "chat.Turn", null=True, blank=True, on_delete=models.SET_NULL, related_name="messages"
    )
    # The step at which the turn took it (0: at its start).
    step = models.PositiveIntegerField(default=0)
    event_number = models.BigIntegerField(default=0)
    # The history note that a person made of it; null: there is none.
    remembered = models.BigIntegerField(null=True)
    # Given by the page so that a form sent twice makes one message.
    client_key = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(fields=["conversation", "id"], name="messages_of_conversation")]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "client_key"],
                condition=~Q(client_key=""),
                name="one_message_per_client_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_asked_again(self) -> bool:
        """True when its versions say the same: the answers differ, and the switch is theirs."""
        branch = self.branch
        if self.versions == 1 or branch is None:
            return False
        parent, forks_at = branch.pk, self.pk
        if branch.parent_id is not None and branch.first == self.pk:
            parent, forks_at = branch.parent_id, branch.forks_at
        others = self.conversation.branches.filter(parent=parent, forks_at=forks_at)
        texts = self.conversation.messages.filter(
            Q(pk=forks_at) | Q(pk__in=others.values("first"))
        ).values_list("text", flat=True)
        return len(set(texts)) == 1

    @property
    def can_be_unremembered(self) -> bool:
        """True while Dream has not read the note of it."""
        try:
            root = self.conversation.workspace.root
            return self.remembered is not None and notes.waits(root, self.remembered)
        except WorkspaceError:
            return False


class Block(models.Model):
    """A part of a turn's answer, in order of ``id``: text, thinking, a tool call or a note."""

    class Kind(models.TextChoices):
        TEXT = "text"
        THINKING = "thinking"
        TOOL = "tool"
        NOTE = "note"

    id = models.BigAutoField(primary_key=True)
    turn = models.ForeignKey("chat.Turn", on_delete=models.CASCADE, related_name="blocks")
    # The answer that contains it. A turn that takes in messages while it runs has several.
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="blocks")
    step = models.PositiveIntegerField(default=0)
    kind = models.CharField(max_length=8, choices=Kind)
    text = models.TextField(blank=True)
    html = models.TextField(blank=True)
    # Tool calls: id, name, arguments, result, ok, seconds. Thinking: signature.
    data = models.JSONField(default=dict)
    is_open = models.BooleanField(default=True)
    # Position in the stream of the last event that this row includes.
    event_number = models.BigIntegerField(default=0)
    event_count = models.BigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["message", "id"], name="blocks_of_message")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    def store(self) -> None:
        """Store the fields that change while the block is written.

        :raises ObjectNotUpdated: it was deleted.
        """
        self.save(update_fields=_WRITTEN)


_WRITTEN = ("text", "html", "data", "is_open", "event_number", "event_count")


class Draft(models.Model):
    """Text typed but not sent. The server keeps it, so it survives a reload and a login."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts"
    )
    conversation = models.ForeignKey(
        "chat.Conversation", null=True, on_delete=models.CASCADE, related_name="drafts"
    )
    text = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "conversation"], name="one_draft_a_conversation"
            ),
            # Nulls are never equal, so the draft of a new conversation needs its own constraint.
            models.UniqueConstraint(
                fields=["account"],
                condition=Q(conversation=None),
                name="one_draft_of_a_new_conversation",
            ),
        ]

    def __str__(self) -> str:
        return f"draft of {self.account_id}"

    @classmethod
    def forget(cls, account: int, conversation: UUID) -> None:
        """Delete the draft after it was sent. Mostly there is none."""
        rows = cls.objects.filter(account=account, conversation=conversation)
        if rows.exists():
            rows.delete()
