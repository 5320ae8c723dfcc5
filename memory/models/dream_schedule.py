"""The next scheduled Dream run of each workspace."""

from datetime import datetime
from typing import Self

from django.db import models

from jenny.accounts.models import Workspace


class DreamSchedule(models.Model):
    """A workspace's deadline, which survives restarts, and the settings from which it was
    computed."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="dream_schedule"
    )
    # ``None``: never.
    next_dream_at = models.DateTimeField(null=True, db_index=True)
    timing = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"schedule of {self.workspace_id}"

    @classmethod
    def due(cls, now: datetime, *, most: int) -> list[Self]:
        """Return rows that are due, the longest waiting first, with one indexed query."""
        rows = cls.objects.filter(next_dream_at__lte=now, workspace__deleted_at=None)
        return list(rows.select_related("workspace__owner").order_by("next_dream_at")[:most])

    def claim(self, following: datetime | None) -> bool:
        """Claim this deadline and set the *following* one. ``False``: another dispatcher has it."""
        mine = DreamSchedule.objects.filter(pk=self.pk, next_dream_at=self.next_dream_at)
        return bool(mine.update(next_dream_at=following))
