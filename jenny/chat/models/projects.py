"""State of a project beside its files: how far the gardener has read, and when it runs next."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace

# The gardener waits until nobody has spoken in a project for this time, and as long after its last
# attempt.
IDLE = timedelta(minutes=30)
SPACING = timedelta(hours=6)
# Failures in a row after which a person is told.
FAILURES = 3


class ProjectState(models.Model):
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(max_length=255)
    # The line up to which each file of the log was read, by its path in the project's folder.
    read = models.JSONField(default=dict)
    attempted_at = models.DateTimeField(null=True)
    # Time of the next scheduled check; null: nothing happened since the last run.
    due_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    # The cause of the newest attempt's failure; empty: it did not fail.
    why = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_state_a_project")
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(due_at__isnull=False), name="projects_due"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, workspace: Workspace, name: str) -> Self:
        """Return the row of a project; create it when missing."""
        return cls.objects.get_or_create(workspace=workspace, name=name)[0]

    def happened(self) -> None:
        """Restart the idle time after something was said or logged."""
        type(self).objects.filter(pk=self.pk).update(due_at=Now() + IDLE)
