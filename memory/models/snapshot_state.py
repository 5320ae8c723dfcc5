"""Results of the periodic scans for snapshots."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models

from jenny.accounts.models import Workspace
from jenny.workspace.snapshots.create import Activity

# Less than the five minutes between two scans, so that each scan finds every workspace due.
SCAN_EVERY = timedelta(minutes=4)


class SnapshotState(models.Model):
    """Results of the last scan of a workspace, and the state of its snapshots."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="snapshot_state"
    )
    fingerprint = models.CharField(max_length=64, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    taken_at = models.DateTimeField(null=True, blank=True)
    next_scan_at = models.DateTimeField(db_index=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(blank=True)
    # The retention that a person confirmed; nothing is deleted under a shorter one.
    agreed_keep_for = models.CharField(max_length=16, blank=True)
    pruned_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"snapshots of {self.workspace_id}"

    @classmethod
    def of(cls, workspace: Workspace, now: datetime) -> Self:
        """Return the row of *workspace*, created when missing."""
        row, _ = cls.objects.get_or_create(workspace=workspace, defaults={"next_scan_at": now})
        return row

    @staticmethod
    def make_missing(now: datetime, *, most: int) -> None:
        without = Workspace.objects.filter(snapshot_state=None).exclude(folder_made_at=None)
        rows = [SnapshotState(workspace=row, next_scan_at=now) for row in without[:most]]
        SnapshotState.objects.bulk_create(rows, ignore_conflicts=True)

    @classmethod
    def due(cls, now: datetime, *, most: int) -> list[Self]:
        """Return rows that are due for a scan, the longest waiting first."""
        rows = cls.objects.filter(next_scan_at__lte=now, workspace__deleted_at=None)
        return list(rows.select_related("workspace").order_by("next_scan_at")[:most])

    def claim(self, now: datetime) -> bool:
        """Claim this scan. ``False``: another worker has it."""
        mine = SnapshotState.objects.filter(pk=self.pk, next_scan_at=self.next_scan_at)
        if not mine.update(next_scan_at=now + SCAN_EVERY):
            return False
        self.next_scan_at = now + SCAN_EVERY
        return True

    @property
    def seen(self) -> Activity:
        return Activity(self.fingerprint, self.changed_at, self.taken_at)

    def note(self, seen: Activity) -> None:
        """Store the result of a scan unless nothing is new."""
        if seen == self.seen:
            return
        self.fingerprint, self.changed_at = seen.fingerprint, seen.changed_at
        self.taken_at = seen.taken_at
        self.save(update_fields=["fingerprint", "changed_at", "taken_at"])

    def note_failure(self, message: str, now: datetime) -> None:
        """Store why there was no snapshot; empty for success."""
        if message or self.failure:
            self.failed_at, self.failure = (now if message else None), message
            self.save(update_fields=["failed_at", "failure"])
