"""Where lines of memory files come from, and what turns of chats changed in them."""

from django.db import models

from jenny.accounts.models import Workspace


class LineOrigin(models.Model):
    """A line's part in a write: it came, moved, was reworded, took another's place, or left.

    It is found by the digest of its normal form, whichever file it stands in by now. No text.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="origins")
    # One act on one file, as it was noted in the workspace; the same note twice is one row.
    act = models.CharField(max_length=24)
    number = models.PositiveIntegerField()
    path = models.CharField(max_length=512)
    digest = models.CharField(max_length=64)
    relation = models.CharField(max_length=12)
    # Digests of the lines it stands for, and the file they stood in, if another.
    was = models.JSONField(default=list)
    was_path = models.CharField(max_length=512, blank=True)
    actor = models.CharField(max_length=16)
    account = models.BigIntegerField(null=True)
    run = models.CharField(max_length=128, blank=True)
    # Cursors of the history that the write rests on, and those named that it does not have.
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
        """What came of which line."""
        return f"{self.relation} {self.digest[:12]} in {self.path}"


class TurnChange(models.Model):
    """What one turn of a chat did to one memory file: before its first write, and after its last.

    It holds texts: whoever looks for every copy of one looks here, too.
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
        """Run and file."""
        return f"{self.run} in {self.path}"
