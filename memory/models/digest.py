"""Summaries of raw entries, kept until Dream has read these."""

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace


class DreamDigest(models.Model):
    """The facts of one raw text, so that no later run pays for them again.

    ``key`` is the hash of the summarised text: once a part of it is changed, forgotten or erased,
    the digest no longer counts. ``cursor`` is the last of its entries.
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
        return f"digest up to entry {self.cursor}"
