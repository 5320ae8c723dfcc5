"""What was summarised of a conversation, for the thread and for the model."""

from django.db import models
from django.db.models.functions import Now
from django.utils.functional import cached_property

from jenny.chat.entries import EntryView, Fact, facts_of, views
from jenny.workspace.errors import WorkspaceError
from memory.history import lookup


class Summary(models.Model):
    """A slice of a conversation that was summarised, or kept word for word. In the thread it
    stands behind the last message of the slice."""

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="summaries"
    )
    # The first message it is about, and the last.
    first = models.BigIntegerField()
    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="summaries")
    count = models.PositiveIntegerField()
    # The entries of the history; none when the conversation leaves no memory.
    cursors = models.JSONField(default=list)
    # What a temporary chat keeps for itself; it stands in no file.
    text = models.TextField(blank=True)
    # Whether the model gave no summary, so that it is what was said.
    is_raw = models.BooleanField(default=False)
    # Secrets that were left out: kind, count, the message that each stands in, and who spoke.
    secrets = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["conversation", "first"], name="summaries_of_conversation")]

    def __str__(self) -> str:
        """Where it stands."""
        return f"summary of {self.first} to {self.message_id}"

    @cached_property
    def entries(self) -> tuple[EntryView, ...]:
        """Its entries, as the history has them now."""
        root = self.conversation.workspace.root
        try:
            return views(self.cursors, lookup.by_cursor(root, self.cursors))
        except WorkspaceError:
            return views(self.cursors, {})

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What a temporary chat keeps for itself, fact by fact."""
        return facts_of(self.text)
