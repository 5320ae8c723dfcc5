"""What the looks at a workspace for snapshots saw."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models

from jenny.accounts.models import Workspace
from jenny.workspace.snapshots.timing import Seen

# Less than the five minutes between two scans, so that each scan finds every workspace due.
LOOK_EVERY = timedelta(minutes=4)


class SnapshotState(models.Model):
    """What the looks at a workspace saw, and how its snapshots fare."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="snapshot_state"
    )
    fingerprint = models.CharField(max_length=64, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    taken_at = models.DateTimeField(null=True, blank=True)
    next_look = models.DateTimeField(db_index=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(blank=True)
    # The horizon under which nothing is deleted that a person was not told of.
    agreed_keep_for = models.CharField(max_length=16, blank=True)
    pruned_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        """Whose it is."""
        return f"snapshots of {self.workspace_id}"

    @classmethod
    def of(cls, workspace: Workspace, now: datetime) -> Self:
        """The row of *workspace*, made when missing."""
        row, _ = cls.objects.get_or_create(workspace=workspace, defaults={"next_look": now})
        return row

    @staticmethod
    def make_missing(now: datetime, *, most: int) -> None:
        """Rows for workspaces that have a folder and no row yet."""
        without = Workspace.objects.filter(snapshot_state=None).exclude(folder_made_at=None)
        rows = [SnapshotState(workspace=row, next_look=now) for row in without[:most]]
        SnapshotState.objects.bulk_create(rows, ignore_conflicts=True)

    @classmethod
    def due(cls, now: datetime, *, most: int) -> list[Self]:
        """Rows whose workspace is to be looked at, the longest waiting first."""
        rows = cls.objects.filter(next_look__lte=now, workspace__deleted_at=None)
        return list(rows.select_related("workspace").order_by("next_look")[:most])

    def claim(self, now: datetime) -> bool:
        """Take this look; ``False``: another worker has it."""
        mine = SnapshotState.objects.filter(pk=self.pk, next_look=self.next_look)
        if not mine.update(next_look=now + LOOK_EVERY):
            return False
        self.next_look = now + LOOK_EVERY
        return True

    @property
    def seen(self) -> Seen:
        """What the last looks saw."""
        return Seen(self.fingerprint, self.changed_at, self.taken_at)

    def note(self, seen: Seen) -> None:
        """Keep what a look saw, unless nothing is new."""
        if seen == self.seen:
            return
        self.fingerprint, self.changed_at = seen.fingerprint, seen.changed_at
        self.taken_at = seen.taken_at
        self.save(update_fields=["fingerprint", "changed_at", "taken_at"])

    def note_failure(self, sentence: str, now: datetime) -> None:
        """Keep why there was no snapshot; empty: there was one."""
        if sentence or self.failure:
            self.failed_at, self.failure = (now if sentence else None), sentence
            self.save(update_fields=["failed_at", "failure"])
