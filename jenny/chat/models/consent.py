"""A change that the assistant proposed and may not make by itself; a person decides on it."""

from django.db import models
from django.db.models.functions import Now

from jenny.accounts.models import Workspace


class ConsentRequest(models.Model):
    """One proposed change of one file. *before* and *after* are the file's bytes; null: no file."""

    class State(models.TextChoices):
        """State of the request; ``superseded``: the same conversation proposed a newer text."""

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
        return f"{self.path}, {self.state}"
