"""Summaries of parts of a conversation, for the thread and for the model."""

from django.db import models
from django.db.models.functions import Now
from django.utils.functional import cached_property

from jenny.chat.entry_views import EntryView, Fact, facts_of, views
from jenny.workspace.errors import WorkspaceError
from memory.history import reader


class Summary(models.Model):
    """A slice of a conversation that was summarised, or kept word for word.

    The thread shows it after the last message of the slice, or after the command that asked for it.
    """

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="summaries"
    )
    # The first message of the slice, and the one that the summary is shown after.
    first = models.BigIntegerField()
    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="summaries")
    count = models.PositiveIntegerField()
    # The history entries; none when the conversation leaves no memory.
    cursors = models.JSONField(default=list)
    # The summary of a temporary chat; it is in no file.
    text = models.TextField(blank=True)
    # True when the model gave no summary, so that the text is word for word.
    is_raw = models.BooleanField(default=False)
    # Redacted secrets: kind, count, message and speaker of each.
    secrets = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["conversation", "first"], name="summaries_of_conversation")]

    def __str__(self) -> str:
        return f"summary of {self.first} to {self.message_id}"

    @cached_property
    def entries(self) -> tuple[EntryView, ...]:
        root = self.conversation.workspace.root
        try:
            return views(self.cursors, reader.find_by_cursor(root, self.cursors))
        except WorkspaceError:
            return views(self.cursors, {})

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts of a temporary chat's summary."""
        return facts_of(self.text)
