"""What a summariser made of raw entries, kept until Dream is done with them."""

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace


class DreamDigest(models.Model):
    """The facts found in one raw text, so that no later run pays for them again.

    ``key`` is the hash of the text that was summarised: where a part of it was changed, forgotten
    or erased since, the digest does not count. ``cursor``: the last entry that it stands for.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="dream_digests")
    key = models.CharField(max_length=64)
    cursor = models.BigIntegerField()
    text = models.TextField(blank=True)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="one_dream_digest_a_text")
        ]

    def __str__(self) -> str:
        """What it stands for."""
        return f"digest up to entry {self.cursor}"
