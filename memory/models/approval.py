"""Dream's changes that wait for a decision, and runs that removed much from a file."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from memory.models.dream import DreamRun


class StagedHunk(models.Model):
    """A change that a run would make until a person decides on it, and the decision.

    It holds texts: a search for every copy of a text includes this table.
    """

    class State(models.TextChoices):
        """As ``memory.approvals.values.State``; a conflict is stored as waiting."""

        WAITING = "waiting"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        NEVER = "never"
        SETTLED = "settled"
        SUPERSEDED = "superseded"
        VOID = "void"

    # The actor of a line that goes because a person asked in a conversation to forget it.
    WISH = "command"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="staged_hunks")
    # The run that staged it, or the last one that changed it.
    run = models.ForeignKey(DreamRun, on_delete=models.SET_NULL, null=True, related_name="hunks")
    # ``dream``, ``review``, or ``WISH``.
    actor = models.CharField(max_length=16)
    path = models.CharField(max_length=512)
    # ``memory.approvals.values.Piece`` without its order among the file's others.
    kind = models.CharField(max_length=8)
    piece = models.JSONField()
    number = models.PositiveIntegerField(default=0)
    # Cursors of the history.
    sources = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    state = models.CharField(max_length=12, choices=State, default=State.WAITING)
    # What a person had written instead, or asked in a conversation to have forgotten.
    is_edited = models.BooleanField(default=False)
    text = models.TextField(blank=True)
    # Entries that Dream is shown again because of the decision.
    offered = models.JSONField(default=list)
    # The lines that an accepted change took the place of, for its undo.
    replaced = models.JSONField(null=True)
    decided_by = models.BigIntegerField(null=True)
    staged_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["workspace", "path", "number"],
                condition=Q(state="waiting"),
                name="waiting_hunks_of_workspace",
            ),
            models.Index(fields=["workspace", "state", "-id"], name="hunks_by_state"),
        ]

    def __str__(self) -> str:
        return f"hunk {self.pk} of {self.path}, {self.state}"

    @property
    def is_wish(self) -> bool:
        """True for a line that goes because a person asked in a conversation to forget it."""
        return self.actor == self.WISH


class LargePrune(models.Model):
    """A run that removed much from one file, until a person has decided."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="large_prunes")
    run = models.ForeignKey(DreamRun, on_delete=models.CASCADE, related_name="prunes")
    path = models.CharField(max_length=512)
    # Characters removed, and the file's length before.
    chars = models.PositiveIntegerField()
    size = models.PositiveIntegerField()
    # For each line: text, heading, kind, archive_id.
    lines = models.JSONField(default=list)
    noted_at = models.DateTimeField(db_default=Now())
    dismissed_at = models.DateTimeField(null=True)
    brought_back_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "path"], name="one_prune_a_file_a_run")
        ]
        indexes = [
            models.Index(
                fields=["workspace"],
                condition=Q(dismissed_at=None, brought_back_at=None),
                name="open_prunes_of_workspace",
            )
        ]

    def __str__(self) -> str:
        return f"prune of {self.path} in {self.run_id}"
