"""Versions of a conversation: an edit or a new answer begins a branch next to what was said.

Messages keep their order by id in every branch: new messages have the highest ids, and a branch
continues after the messages that it shares with its parent.
"""

from dataclasses import dataclass
from typing import Self

from django.db import models
from django.db.models import Q


@dataclass(frozen=True, slots=True)
class Path:
    """Selects the messages that a branch shows.

    For each branch on the way to the root: the messages before an id (0: all of them).
    """

    parts: tuple[tuple[int, int], ...]

    @property
    def condition(self) -> Q:
        found = Q(pk__in=[])
        for branch, before in self.parts:
            found |= Q(branch=branch, pk__lt=before) if before else Q(branch=branch)
        return found

    def holds(self, branch: int, message: int) -> bool:
        return any(branch == one and (not before or message < before) for one, before in self.parts)


class Branch(models.Model):
    """A version of a conversation.

    The conversation's row has the pointers of the version that is shown; this row keeps them while
    another one is shown.
    """

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="branches"
    )
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    # The parent's message that this branch's first message replaces.
    forks_at = models.BigIntegerField(default=0)
    first = models.BigIntegerField(default=0)
    summarised_through = models.BigIntegerField(default=0)
    context_from = models.BigIntegerField(default=0)
    session_from = models.BigIntegerField(default=0)
    tokens_gone = models.PositiveBigIntegerField(default=0)
    # Dream's cursor when this version was left. Later entries were read without it.
    read_to = models.BigIntegerField(default=0)
    left_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["conversation", "forks_at"], name="branches_of_conversation")
        ]

    def __str__(self) -> str:
        return f"branch {self.pk} at {self.forks_at}"

    def path(self, others: dict[int, Self]) -> Path:
        parts = [(self.pk, 0)]
        here = self
        while here.parent_id is not None:
            parts.append((here.parent_id, here.forks_at))
            here = others[here.parent_id]
        return Path(tuple(parts))
