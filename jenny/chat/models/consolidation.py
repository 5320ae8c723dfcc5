"""The pointers of a conversation into its messages, and the claim on moving them."""

from datetime import timedelta
from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.functional import cached_property

from jenny.chat.entry_views import EntryView, Fact, facts_of, views
from jenny.workspace import config
from jenny.workspace.errors import WorkspaceError
from memory.history import reader

# Summaries of parts of a conversation, for the thread and for the model.


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


# A claim that is not renewed for so long has expired. It is renewed four times as often.
LEASE = timedelta(seconds=60)
# A consolidation that began and did not finish is started again after this time.
AGAIN_AFTER = timedelta(minutes=10)
# The same, while a person waits for the outcome.
ASKED_AGAIN_AFTER = timedelta(seconds=60)


class Consolidating(models.Model):
    """The pointers of a conversation, and the claim on moving them."""

    # Messages up to this id are in the history, or held nothing for it.
    summarised_through = models.BigIntegerField(default=0)
    # Messages before this id belong to a session that /new has ended.
    session_from = models.BigIntegerField(default=0)
    # First and last message of the entries that are being added. While they are beyond
    # summarised_through, the entries may exist already.
    appending_from = models.BigIntegerField(default=0)
    appending_through = models.BigIntegerField(default=0)
    # About how many tokens left the context since the newest turn checked it.
    tokens_gone = models.PositiveBigIntegerField(default=0)
    # Time at which the sweep checks the conversation; null: nothing waits.
    consolidate_after = models.DateTimeField(null=True)
    # The reply that will report the outcome; 0: nobody asked.
    reply_id = models.BigIntegerField(default=0)
    consolidator = models.CharField(max_length=64, blank=True)
    consolidating_until = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def may_rest(self) -> bool:
        raise NotImplementedError

    def rests(self, root: Path) -> None:
        """Start the idle time. Call it in the transaction that ends a turn.

        *root* is the workspace's folder, whose settings say how long the idle time is.
        """
        if self.may_rest and (minutes := idle_minutes(root)):
            self._row().update(consolidate_after=Now() + timedelta(minutes=minutes))

    def claim(self, holder: str) -> bool:
        """Let only *holder* move the pointers. ``False``: somebody else holds the claim."""
        free = Q(consolidating_until=None) | Q(consolidating_until__lt=Now())
        rows = self._row().filter(free)
        return bool(rows.update(consolidator=holder, consolidating_until=Now() + LEASE))

    def seize(self, holder: str) -> None:
        """Let *holder* move the pointers, and take the claim from its present holder."""
        self._row().update(consolidator=holder, consolidating_until=Now() + LEASE)

    def renew_claim(self, holder: str) -> bool:
        """Renew the claim. ``False``: it was taken away, and nothing may be moved."""
        rows = self._row().filter(consolidator=holder)
        return bool(rows.update(consolidating_until=Now() + LEASE))

    def release(self, holder: str) -> None:
        rows = self._row().filter(consolidator=holder)
        rows.update(consolidator="", consolidating_until=None)

    def _row(self) -> "models.QuerySet[Self]":
        manager = type(self)._default_manager  # noqa: SLF001 - Django documents it
        return manager.filter(pk=self.pk)


def idle_minutes(root: Path) -> int:
    """Return the idle minutes after which that workspace summarises a conversation; 0: never."""
    try:
        return int(config.load_config(root).agents.defaults.idle_compact_after_minutes)
    except WorkspaceError:
        return 0
