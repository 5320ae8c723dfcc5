"""What stands in a thread: messages, the blocks of answers, and drafts."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jenny.accounts.models.prepared import (
    Prepared,
    PreparedInsert,
    PreparedUpdate,
    Slot,
    number_slot,
    text_slot,
    uuid_slot,
)
from jenny.workspace.errors import WorkspaceError
from memory import remembering

if TYPE_CHECKING:
    from jenny.chat.models.turns import Turn


class Message(models.Model):
    """One thing in a thread: what the user wrote, a command's reply, a divider, or the
    answer of a turn (whose content lies in its blocks)."""

    class Kind(models.TextChoices):
        """What it is."""

        USER = "user"
        ANSWER = "answer"
        COMMAND = "command"
        REPLY = "reply"
        DIVIDER = "divider"

    id = models.BigAutoField(primary_key=True)
    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="messages"
    )
    # Where it was said, once there is more than one version; null: there is only one.
    branch = models.ForeignKey(
        "chat.Branch", null=True, on_delete=models.CASCADE, related_name="messages"
    )
    # Whether it stands in the thread: an edit puts what came after in the place of others.
    is_current = models.BooleanField(default=True)
    # Of messages that stand in one another's place: which one this is, and how many there are.
    version = models.PositiveIntegerField(default=1)
    versions = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=8, choices=Kind)
    text = models.TextField(blank=True)
    # What the model alone sees after the text (clock, zone, channel); stored when the turn
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
    # The note in the history by which a person had it remembered; null: there is none.
    remembered = models.BigIntegerField(null=True)
    # Given by the page so that a form sent twice is one message.
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
        """Kind and number."""
        return f"{self.kind} {self.pk}"

    @classmethod
    def insert(cls, **values: object) -> "Message":
        """As ``objects.create``, by a statement made once."""
        return _INSERT.create(**values)

    def give_to(self, turn: "Turn", step: int) -> None:
        """It is *turn*'s from now on, which takes it at that step."""
        self.turn, self.step = turn, step
        _GIVE.run(message=self.pk, turn=turn.pk, step=step)

    def note_context(self, context: str) -> None:
        """Store what the model alone sees behind it."""
        self.context = context
        _NOTE_CONTEXT.run(message=self.pk, context=context)

    @property
    def can_be_unremembered(self) -> bool:
        """Whether Dream has not read the note of it yet."""
        try:
            root = self.conversation.workspace.root
            return self.remembered is not None and remembering.waits(root, self.remembered)
        except WorkspaceError:
            return False


_INSERT = PreparedInsert(Message)
_GIVE = PreparedUpdate(
    lambda: Message.objects.filter(pk=number_slot("message")),
    turn=number_slot("turn"),
    step=number_slot("step"),
)
_NOTE_CONTEXT = PreparedUpdate(
    lambda: Message.objects.filter(pk=number_slot("message")), context=text_slot("context")
)


class Block(models.Model):
    """A piece of a turn's answer, in order of ``id``: text, thinking, a tool call or a note."""

    class Kind(models.TextChoices):
        """What it is."""

        TEXT = "text"
        THINKING = "thinking"
        TOOL = "tool"
        NOTE = "note"

    id = models.BigAutoField(primary_key=True)
    turn = models.ForeignKey("chat.Turn", on_delete=models.CASCADE, related_name="blocks")
    # The answer it stands in: a turn that takes in messages on its way has several.
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="blocks")
    step = models.PositiveIntegerField(default=0)
    kind = models.CharField(max_length=8, choices=Kind)
    text = models.TextField(blank=True)
    html = models.TextField(blank=True)
    # Tool calls: id, name, arguments, result, ok, seconds. Thinking: signature.
    data = models.JSONField(default=dict)
    is_open = models.BooleanField(default=True)
    # Position in the stream of the last event that this row holds.
    event_number = models.BigIntegerField(default=0)
    event_count = models.BigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["message", "id"], name="blocks_of_message")]

    def __str__(self) -> str:
        """Kind and number."""
        return f"{self.kind} {self.pk}"

    @classmethod
    def insert(cls, **values: object) -> "Block":
        """As ``objects.create``, by a statement made once."""
        return _INSERT_BLOCK.create(**values)

    def store(self) -> None:
        """Write what changes of a block while it is being written.

        :raises ObjectNotUpdated: it was deleted.
        """
        if not _STORE.run(block=self.pk, **{name: getattr(self, name) for name in _WRITTEN}):
            raise self.NotUpdated


_WRITTEN = ("text", "html", "data", "is_open", "event_number", "event_count")
_INSERT_BLOCK = PreparedInsert(Block)
_STORE = PreparedUpdate(
    lambda: Block.objects.filter(pk=number_slot("block")),
    **{
        field.name: Slot(field.name, field)
        for field in Block._meta.concrete_fields  # noqa: SLF001 - Django documents it
        if field.name in _WRITTEN
    },
)


class Draft(models.Model):
    """Text typed but not sent, kept on the server so that it survives a reload and a login."""

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
            # Null is like no other null, so the draft of a new conversation needs its own.
            models.UniqueConstraint(
                fields=["account"],
                condition=Q(conversation=None),
                name="one_draft_of_a_new_conversation",
            ),
        ]

    def __str__(self) -> str:
        """Whose it is."""
        return f"draft of {self.account_id}"

    @classmethod
    def forget(cls, account: int, conversation: UUID) -> None:
        """Drop what was typed there: it was sent. Mostly there is nothing to be written."""
        for (number,) in _TYPED.rows(account=account, conversation=conversation):
            cls.objects.filter(pk=number).delete()


_TYPED = Prepared(
    lambda: Draft.objects.filter(
        account=number_slot("account"), conversation=uuid_slot("conversation")
    ).values_list("pk")
)
