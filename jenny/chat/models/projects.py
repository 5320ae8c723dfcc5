"""What is known of a project beside its files: how far the gardener has read, and when it looks."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace

# The gardener leaves a project alone until nobody has spoken in it for so long, and so long after
# it last tried.
IDLE = timedelta(minutes=30)
SPACING = timedelta(hours=6)
# Failures in a row after which a person is told.
FAILURES = 3


class ProjectState(models.Model):
    """One project of a workspace, by the name of its folder."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(max_length=255)
    # Up to which line each file of the log was read, by its path from the project's folder.
    read = models.JSONField(default=dict)
    attempted_at = models.DateTimeField(null=True)
    # When the gardener is to look at it by itself; null: nothing happened there since.
    due_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    # Why the newest attempt failed; empty: it did not.
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
        """Its name."""
        return self.name

    @classmethod
    def of(cls, workspace: Workspace, name: str) -> Self:
        """The row of a project, made where there is none."""
        return cls.objects.get_or_create(workspace=workspace, name=name)[0]

    def happened(self) -> None:
        """Something was said or logged there just now: the time of idleness begins."""
        type(self).objects.filter(pk=self.pk).update(due_at=Now() + IDLE)
