"""A change that the assistant asked for and may not make by itself: it waits for the person."""

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace


class ConsentRequest(models.Model):
    """One change of one file, as it was proposed. *before* and *after* are the file's bytes, null
    where there is no file."""

    class State(models.TextChoices):
        """What became of it; ``superseded``: the same conversation proposed another text."""

        WAITING = "waiting"
        ALLOWED = "allowed"
        DECLINED = "declined"
        SUPERSEDED = "superseded"

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="consent_requests"
    )
    turn = models.ForeignKey("chat.Turn", on_delete=models.CASCADE, related_name="consent_requests")
    # The note in the answer that shows it.
    block = models.ForeignKey(
        "chat.Block", null=True, on_delete=models.SET_NULL, related_name="consent_requests"
    )
    path = models.CharField(max_length=255)
    before = models.BinaryField(null=True)
    after = models.BinaryField(null=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    asked_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["workspace"],
                condition=models.Q(state="waiting"),
                name="waiting_consents",
            )
        ]

    def __str__(self) -> str:
        """The file and what became of it."""
        return f"{self.path}, {self.state}"
