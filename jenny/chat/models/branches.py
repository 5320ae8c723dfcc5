"""Versions of a conversation: an edit or a new answer begins a branch beside what was said.

Messages keep their order, by id, in every branch: what is new has the highest ids, and a branch
goes on behind the messages that it shares with its parent.
"""

from dataclasses import dataclass
from typing import Self

from django.db import models
from django.db.models import Q


@dataclass(frozen=True, slots=True)
class Path:
    """Which of a conversation's messages a branch shows: of each branch on the way to the root
    those before an id (0: all of them)."""

    parts: tuple[tuple[int, int], ...]

    @property
    def condition(self) -> Q:
        """For a query over the conversation's messages."""
        found = Q(pk__in=[])
        for branch, before in self.parts:
            found |= Q(branch=branch, pk__lt=before) if before else Q(branch=branch)
        return found

    def holds(self, branch: int, message: int) -> bool:
        """Whether a message of that branch stands in it."""
        return any(branch == one and (not before or message < before) for one, before in self.parts)


class Branch(models.Model):
    """A version of a conversation, from its first message on. The conversation's row has the
    pointers of the one that is shown; this one keeps them while another is."""

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="branches"
    )
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    # The message of the parent that its first one stands in the place of.
    forks_at = models.BigIntegerField(default=0)
    first = models.BigIntegerField(default=0)
    summarised_through = models.BigIntegerField(default=0)
    context_from = models.BigIntegerField(default=0)
    session_from = models.BigIntegerField(default=0)
    tokens_gone = models.PositiveBigIntegerField(default=0)
    # Up to which entry Dream had read when it was left; what Dream read since, it read without.
    read_to = models.BigIntegerField(default=0)
    left_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["conversation", "forks_at"], name="branches_of_conversation")
        ]

    def __str__(self) -> str:
        """Number and place."""
        return f"branch {self.pk} at {self.forks_at}"

    def path(self, others: dict[int, Self]) -> Path:
        """What it shows. *others*: the conversation's branches by id."""
        parts = [(self.pk, 0)]
        here = self
        while here.parent_id is not None:
            parts.append((here.parent_id, here.forks_at))
            here = others[here.parent_id]
        return Path(tuple(parts))
