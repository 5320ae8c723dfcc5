"""Dream runs and their entries: one run at a time in each workspace.

A run is claimed under a unique constraint, carries the workspace's next epoch, and is alive while
its heartbeat is recent; times are the database's own, so that hosts need not agree. A dead run is
taken over under the workspace's lock, under which every write asks ``may_write``: a holder that
was paused and wakes up writes nothing.
"""

from datetime import datetime, timedelta
from typing import Self

from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.agent.tokens import Usage

BEAT_SECONDS = 3.0
# A holder without a heartbeat for this long is dead.
DEAD_AFTER = timedelta(seconds=30)
# A queued run that nobody claimed is sent again after this.
SEND_AGAIN_AFTER = timedelta(minutes=5)
RUN_PREFIX = "dream:"
_MAY_WRITE = """
SELECT 1 FROM memory_dreamrun JOIN memory_dreamstate
  ON memory_dreamstate.workspace_id = memory_dreamrun.workspace_id
  AND memory_dreamstate.epoch = memory_dreamrun.epoch
WHERE memory_dreamrun.id = %s AND memory_dreamrun.state = %s
  AND memory_dreamrun.holder = %s AND memory_dreamrun.epoch = %s
"""


class DreamState(models.Model):
    """State that the runs of one workspace leave to the next."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="dream_state"
    )
    # The epoch of the newest run.
    epoch = models.BigIntegerField(default=0)
    # Largest batch: halved when one batch has failed twice in a row.
    batch_most = models.PositiveIntegerField(default=0)
    batch_key = models.CharField(max_length=64, blank=True)
    batch_failures = models.PositiveIntegerField(default=0)
    # Alarms shown on every page until their cause is gone: kind, message.
    alarms = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"dream state of {self.workspace_id}"

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Return the row of *workspace*, created when missing."""
        row, _ = cls.objects.get_or_create(workspace=workspace)
        return row


class DreamEntry(models.Model):
    """A history entry that a run could not process, by number."""

    class Place(models.TextChoices):
        """The entry comes back by itself, is requeued though Dream's cursor is past it, or was
        set aside and waits for a person."""

        WAITING = "waiting"
        REOFFERED = "reoffered"
        SET_ASIDE = "set_aside"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="dream_entries")
    cursor = models.BigIntegerField()
    place = models.CharField(max_length=16, choices=Place, default=Place.WAITING)
    # Runs from which it came back, since it has this state.
    tries = models.PositiveIntegerField(default=0)
    last_status = models.CharField(max_length=24, blank=True)
    why = models.TextField(blank=True)
    # How often a raw entry could not be summarised.
    digest_failures = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "cursor"], name="one_dream_entry_a_cursor")
        ]

    def __str__(self) -> str:
        return f"entry {self.cursor}, {self.place}"


class DreamRun(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        ENDED = "ended"

    LIVE = (State.QUEUED, State.RUNNING)
    # The status of a run without entries.
    NOTHING = "nothing_pending"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="dream_runs")
    trigger = models.CharField(max_length=16)
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    # How it ended (``memory.dream.values.Status``); empty until then.
    status = models.CharField(max_length=24, blank=True)
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=96, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    # The heartbeat is not renewed after this, whatever the holder does.
    deadline_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # The recipient of the outcome, in the requester's words; and whether it was notified.
    asker = models.CharField(max_length=200, blank=True)
    is_reported = models.BooleanField(default=False)

    message = models.TextField(blank=True)
    why = models.TextField(blank=True)
    cursor_from = models.BigIntegerField(null=True)
    cursor_to = models.BigIntegerField(null=True)
    # Entries with their outcomes, attempted writes, what was set aside, versions, archive ids.
    entries = models.JSONField(default=list)
    writes = models.JSONField(default=list)
    set_aside = models.JSONField(default=list)
    commits = models.JSONField(default=list)
    archived = models.JSONField(default=list)
    snapshot = models.CharField(max_length=64, blank=True)
    # Sentences about problems beside the outcome and other news for a person.
    notes = models.JSONField(default=list)
    report = models.JSONField(default=dict)
    # The review pass (``memory.dream.review``); empty without one.
    review = models.JSONField(default=dict)
    model = models.CharField(max_length=200, blank=True)
    preset = models.CharField(max_length=64, blank=True)
    is_demo = models.BooleanField(default=False)
    steps = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    seconds = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"],
                condition=Q(state__in=("queued", "running")),
                name="one_live_dream_run_a_workspace",
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="dream_runs_of_workspace"),
            models.Index(fields=["state"], condition=~Q(state="ended"), name="live_dream_runs"),
            models.Index(
                fields=["is_reported"],
                condition=Q(state="ended", is_reported=False),
                name="unreported_dream_runs",
            ),
        ]

    def __str__(self) -> str:
        return f"dream run {self.pk}, {self.status or self.state}"

    @property
    def name(self) -> str:
        return f"{RUN_PREFIX}{self.pk}"

    @property
    def full_message(self) -> str:
        """The message to the requester: the review, the outcome, notes, and the changes."""
        review = self.review.get("full_message", "") if isinstance(self.review, dict) else ""
        markdown = self.report.get("markdown", "") if isinstance(self.report, dict) else ""
        page = f"[Run {self.pk}](/memory/runs/{self.pk}/) on the Memory page." if markdown else ""
        # One cause may have stopped several steps.
        notes = [note for note in dict.fromkeys(self.notes) if note not in self.message]
        parts = (review, self.message, *notes, markdown, page)
        return "\n\n".join(part for part in parts if part)

    @property
    def tokens(self) -> int:
        """All tokens, as counted by the provider."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )

    @classmethod
    def begin(cls, workspace: Workspace, trigger: str, asker: str = "") -> Self | None:
        try:
            with transaction.atomic():
                return cls.objects.create(
                    workspace=workspace, trigger=trigger, asker=asker, is_reported=not asker
                )
        except IntegrityError:
            return None

    @classmethod
    def live_of(cls, workspace: Workspace) -> Self | None:
        return cls.objects.filter(workspace=workspace, state__in=cls.LIVE).first()

    @classmethod
    def claim(cls, pk: int, holder: str, seconds: float) -> Self | None:
        """Claim a queued run for at most *seconds*; ``None``: it is claimed already, or over."""
        with transaction.atomic():
            won = cls.objects.filter(pk=pk, state=cls.State.QUEUED).update(
                state=cls.State.RUNNING,
                holder=holder,
                started_at=Now(),
                heartbeat_at=Now(),
                deadline_at=Now() + timedelta(seconds=seconds),
            )
            if not won:
                return None
            run = cls.objects.select_related("workspace__owner").get(pk=pk)
            DreamState.of(run.workspace)
            state = DreamState.objects.filter(workspace=run.workspace)
            state.update(epoch=F("epoch") + 1)
            run.epoch = state.values_list("epoch", flat=True).get()
            run.save(update_fields=["epoch"])
        return run

    def beat(self) -> bool:
        """Renew the heartbeat. ``False``: the run was taken over, or its time is over."""
        mine = self._mine().filter(deadline_at__gt=Now())
        return bool(mine.update(heartbeat_at=Now()))

    def may_write(self) -> bool:
        """True while the run is its holder's; asked under the workspace's lock."""
        # Plain SQL, since it is asked several times for each write.
        with connection.cursor() as cursor:
            cursor.execute(_MAY_WRITE, [self.pk, self.State.RUNNING, self.holder, self.epoch])
            return cursor.fetchone() is not None

    @classmethod
    def dead(cls) -> "models.QuerySet[Self]":
        """Return running runs whose holder is dead."""
        return cls.objects.filter(state=cls.State.RUNNING, heartbeat_at__lt=Now() - DEAD_AFTER)

    def take_over(self) -> bool:
        """End a dead run under the workspace's lock. ``False``: it is alive, or has ended."""
        won = (
            type(self)
            .dead()
            .filter(pk=self.pk)
            .update(state=self.State.ENDED, status="interrupted", ended_at=Now())
        )
        if won:
            DreamState.objects.filter(workspace=self.workspace_id).update(epoch=F("epoch") + 1)
        return bool(won)

    def note(self, **facts: object) -> None:
        """Store the present state; nothing once the run was taken over."""
        self._mine().update(**facts)

    def spend(self, usage: Usage) -> None:
        self.note(
            **{f"{name}_tokens": F(f"{name}_tokens") + getattr(usage, name) for name in _TOKENS}
        )

    def end(self, **facts: object) -> bool:
        """Store how it ended. ``False``: it was taken over, and nothing was stored."""
        won = self._mine().update(state=self.State.ENDED, ended_at=Now(), **facts)
        if won:
            self.refresh_from_db()
        return bool(won)

    def _mine(self) -> "models.QuerySet[DreamRun]":
        return DreamRun.objects.filter(
            pk=self.pk, state=self.State.RUNNING, holder=self.holder, epoch=self.epoch
        )


_TOKENS = ("input", "output", "cache_read", "cache_write")


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


class DreamSchedule(models.Model):
    """A workspace's deadline, which survives restarts, and the settings from which it was
    computed."""

    workspace = models.OneToOneField(
        Workspace, primary_key=True, on_delete=models.CASCADE, related_name="dream_schedule"
    )
    # ``None``: never.
    next_dream_at = models.DateTimeField(null=True, db_index=True)
    timing = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"schedule of {self.workspace_id}"

    @classmethod
    def due(cls, now: datetime, *, most: int) -> list[Self]:
        """Return rows that are due, the longest waiting first, with one indexed query."""
        rows = cls.objects.filter(next_dream_at__lte=now, workspace__deleted_at=None)
        return list(rows.select_related("workspace__owner").order_by("next_dream_at")[:most])

    def claim(self, following: datetime | None) -> bool:
        """Claim this deadline and set the *following* one. ``False``: another dispatcher has it."""
        mine = DreamSchedule.objects.filter(pk=self.pk, next_dream_at=self.next_dream_at)
        return bool(mine.update(next_dream_at=following))
