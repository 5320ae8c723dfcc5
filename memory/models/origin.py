from django.db import models

from jenny.accounts.models import Workspace


class LineOrigin(models.Model):
    """A line's part in a write: added, moved, reworded, replaced another, or removed.

    It is found by the digest of its normal form, whichever file it is in now. It holds no text.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="origins")
    # One write of one file, as noted in the workspace; a repeated note is one row.
    act = models.CharField(max_length=24)
    number = models.PositiveIntegerField()
    path = models.CharField(max_length=512)
    digest = models.CharField(max_length=64)
    relation = models.CharField(max_length=12)
    # Digests of the lines that it replaces, and their file, if another.
    was = models.JSONField(default=list)
    was_path = models.CharField(max_length=512, blank=True)
    actor = models.CharField(max_length=16)
    account = models.BigIntegerField(null=True)
    run = models.CharField(max_length=128, blank=True)
    # Entries on which the write rests, and named entries that the history lacks.
    sources = models.JSONField(default=list)
    missing = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["act", "number"], name="one_origin_a_line_of_an_act")
        ]
        indexes = [
            models.Index(fields=["workspace", "digest"], name="origins_of_line"),
            models.Index(fields=["workspace", "run"], name="origins_of_run"),
        ]

    def __str__(self) -> str:
        return f"{self.relation} {self.digest[:12]} in {self.path}"


class TurnChange(models.Model):
    """Changes of one chat turn or one form to one memory file: contents before its first and after
    its last write.

    It holds texts: a search for every copy of a text includes this table.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="turn_changes")
    run = models.CharField(max_length=128)
    path = models.CharField(max_length=512)
    # Null: there is no file.
    before = models.BinaryField(null=True)
    after = models.BinaryField(null=True)
    at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "run", "path"], name="one_change_of_a_file_a_turn"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run} in {self.path}"
