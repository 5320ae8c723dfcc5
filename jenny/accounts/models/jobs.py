"""Background jobs that a person waits for, with progress and result.

The row decides. A workspace has one open job of a kind; it is claimed once, beats while it runs,
and counts as dead after two minutes without a beat. Times are the database's own. Secrets that a
person typed are never among the arguments.
"""

import os
import secrets
import socket
import time
from datetime import timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from jenny.accounts.errors import JobLost
from jenny.accounts.models.workspace import Workspace

# Without a beat for so long, its process is dead.
DEAD_AFTER = timedelta(minutes=2)
BEAT_SECONDS = 10.0
# A queued job that nobody took is enqueued again after this.
SEND_AGAIN_AFTER = timedelta(minutes=5)
# Pages poll once a second, so it is not written more often.
_WRITE_SECONDS = 0.3
_DOING_CHARS = 300


class Job(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    OPEN = (State.QUEUED, State.RUNNING)

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="jobs")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    step = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    # The present activity, as a sentence.
    doing = models.CharField(max_length=_DOING_CHARS, blank=True)
    arguments = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    message = models.TextField(blank=True)
    holder = models.CharField(max_length=96, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    # True when ``ask`` created it; otherwise it was open already.
    is_new: ClassVar[bool] = False

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind"],
                condition=Q(state__in=("queued", "running")),
                name="one_open_job_of_a_kind",
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="jobs_of_workspace"),
            models.Index(
                fields=["state"], condition=Q(state__in=("queued", "running")), name="open_jobs"
            ),
        ]

    def __str__(self) -> str:
        return f"job {self.pk}, {self.kind}, {self.state}"

    @classmethod
    def ask(
        cls,
        workspace: Workspace,
        account: models.Model | None,
        kind: str,
        arguments: dict[str, Any],
    ) -> Self:
        """Return a new queued job (``is_new``), or the open one of that kind in the workspace."""
        while True:
            try:
                with transaction.atomic():
                    made = cls.objects.create(
                        workspace=workspace, account=account, kind=kind, arguments=arguments
                    )
            except IntegrityError:
                rows = cls.objects.filter(workspace=workspace, kind=kind, state__in=cls.OPEN)
                if (found := rows.first()) is not None:
                    return found
                continue  # it ended in this moment
            made.is_new = True  # type: ignore[misc]  # of this instance alone
            return made

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN

    @property
    def percent(self) -> int:
        return min(100 * self.step // self.steps, 100) if self.steps else 0

    def claim(self) -> bool:
        """Claim the job. ``False``: another worker has it, or it is over."""
        holder = f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"
        waiting = Job.objects.filter(pk=self.pk, state=self.State.QUEUED)
        won = waiting.update(
            state=self.State.RUNNING, holder=holder, started_at=Now(), heartbeat_at=Now()
        )
        if won:
            self.refresh_from_db()
        return bool(won)

    def beat(self) -> bool:
        """Record that its holder lives. ``False``: it was ended as dead meanwhile."""
        return bool(self._mine().update(heartbeat_at=Now()))

    def progress(self, step: int, steps: int, doing: str) -> None:
        """Store the progress; calls more frequent than a page polls only store what is new.

        :raises JobLost: it was ended as dead meanwhile; its holder must change nothing any more.
        """
        now = time.monotonic()
        last: float = getattr(self, "_written", 0.0)
        if doing == self.doing and now - last < _WRITE_SECONDS:
            return
        self.step, self.steps, self.doing = step, steps, doing[:_DOING_CHARS]
        self._written = now
        won = self._mine().update(
            step=self.step, steps=self.steps, doing=self.doing, heartbeat_at=Now()
        )
        if not won:
            raise JobLost

    def end(self, state: str, message: str, result: dict[str, Any] | None = None) -> bool:
        """Store the result. ``False``: it was ended as dead meanwhile."""
        won = self._mine().update(
            state=state, message=message, result=result or {}, doing="", ended_at=Now()
        )
        if won:
            self.refresh_from_db()
        return bool(won)

    @classmethod
    def dead(cls) -> "models.QuerySet[Self]":
        return cls.objects.filter(
            state=cls.State.RUNNING, heartbeat_at__lt=Now() - DEAD_AFTER
        ).select_related("workspace")

    @classmethod
    def unsent(cls) -> "models.QuerySet[Self]":
        """Return queued jobs that no worker knows of, or that none took for long."""
        late = Q(sent_at=None) | Q(sent_at__lt=Now() - SEND_AGAIN_AFTER)
        return cls.objects.filter(late, state=cls.State.QUEUED)

    def take_over(self, message: str) -> bool:
        """End a dead job. ``False``: it lives, or is over."""
        won = (
            Job.dead()
            .filter(pk=self.pk)
            .update(state=self.State.INTERRUPTED, message=message, doing="", ended_at=Now())
        )
        return bool(won)

    def _mine(self) -> "models.QuerySet[Job]":
        return Job.objects.filter(pk=self.pk, state=self.State.RUNNING, holder=self.holder)
