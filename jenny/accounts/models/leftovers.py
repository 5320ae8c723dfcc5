"""What is left of workspaces that went with their account: a slug that is never used again, and
folders that are still to be cleared."""

from django.db import models
from django.db.models.functions import Now


class Leftover(models.Model):
    """A workspace, or the uploads of an account, whose rows are gone."""

    # Empty: an account's uploads.
    slug = models.SlugField(max_length=64, blank=True)
    # Names of folders below those of snapshots, trash and uploads.
    name = models.CharField(max_length=64)
    deleted_at = models.DateTimeField(db_default=Now())
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=~models.Q(slug=""), name="one_leftover_a_slug"
            )
        ]

    def __str__(self) -> str:
        """The slug."""
        return self.slug or self.name

    @classmethod
    def has_slug(cls, slug: str) -> bool:
        """Whether a workspace that is gone had that slug."""
        return cls.objects.filter(slug=slug).exists()
