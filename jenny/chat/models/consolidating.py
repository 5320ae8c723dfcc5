"""How far a conversation is in the history, and who is taking it there."""

from datetime import timedelta
from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jenny.workspace import config
from jenny.workspace.errors import WorkspaceError

# A holder that says nothing for so long is dead; it says something four times as often.
LEASE = timedelta(seconds=60)
# One that was begun and came to no end is begun again after this.
AGAIN_AFTER = timedelta(minutes=10)
# The same, while somebody waits for what comes of it.
ASKED_AGAIN_AFTER = timedelta(seconds=60)


class Consolidating(models.Model):
    """The pointers of a conversation, and the claim on moving them."""

    # Messages up to this id are in the history, or held nothing for it.
    summarised_through = models.BigIntegerField(default=0)
    # Messages before this id belong to a session that /new has ended.
    session_from = models.BigIntegerField(default=0)
    # First and last message of the entries that are being added. While they lie beyond
    # summarised_through, the entries may be there already.
    appending_from = models.BigIntegerField(default=0)
    appending_through = models.BigIntegerField(default=0)
    # About how many tokens left the context since the newest turn looked at it.
    tokens_gone = models.PositiveBigIntegerField(default=0)
    # When the sweep is to look at it; null: nothing waits.
    consolidate_after = models.DateTimeField(null=True)
    # The reply that is to say what came of it; 0: nobody asked.
    reply_id = models.BigIntegerField(default=0)
    consolidator = models.CharField(max_length=64, blank=True)
    consolidating_until = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def may_rest(self) -> bool:
        """Whether it is ever summarised for being idle."""
        raise NotImplementedError

    def rests(self, root: Path) -> None:
        """Inside the transaction that ended a turn: the time of idleness begins. *root* is the
        workspace's folder, whose settings say how long it is."""
        if self.may_rest and (minutes := idle_minutes(root)):
            self._row().update(consolidate_after=Now() + timedelta(minutes=minutes))

    def claim(self, holder: str) -> bool:
        """Let *holder* alone move the pointers. ``False``: somebody else does."""
        free = Q(consolidating_until=None) | Q(consolidating_until__lt=Now())
        rows = self._row().filter(free)
        return bool(rows.update(consolidator=holder, consolidating_until=Now() + LEASE))

    def seize(self, holder: str) -> None:
        """Let *holder* move the pointers, whoever does at the moment: that one moves nothing
        more."""
        self._row().update(consolidator=holder, consolidating_until=Now() + LEASE)

    def renew_claim(self, holder: str) -> bool:
        """Hold it for longer. ``False``: it was taken away, and nothing may be moved."""
        rows = self._row().filter(consolidator=holder)
        return bool(rows.update(consolidating_until=Now() + LEASE))

    def release(self, holder: str) -> None:
        """Let others have it."""
        rows = self._row().filter(consolidator=holder)
        rows.update(consolidator="", consolidating_until=None)

    def _row(self) -> "models.QuerySet[Self]":
        manager = type(self)._default_manager  # noqa: SLF001 - Django documents it
        return manager.filter(pk=self.pk)


def idle_minutes(root: Path) -> int:
    """After how many idle minutes a conversation of that workspace is summarised; 0: never."""
    try:
        return int(config.load(root).get("agents.defaults.idleCompactAfterMinutes"))
    except WorkspaceError:
        return 0
