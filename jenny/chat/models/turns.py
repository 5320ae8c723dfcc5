"""Turns: the runs of the model. At most one worker claims each."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.chat.models.conversations import Conversation
from jenny.chat.models.messages import Message

# A change that the assistant proposed and may not make by itself; a person decides on it.


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


class Turn(models.Model):
    """One run of the model for the waiting messages; at most one worker ever claims it."""

    class State(models.TextChoices):
        """State of the turn; all but the first two are final."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    LIVE = (State.QUEUED, State.RUNNING)
    # Reason of a turn that its provider declined to answer: its messages are not sent again.
    REFUSED = "refused"
    # Tokens that left the context between an earlier turn's check and this turn's claim.
    tokens_gone = 0

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    # Cause of the ending: an error kind or an ending of the loop ("cut", "step_cap").
    reason = models.CharField(max_length=32, blank=True)
    message = models.TextField(blank=True)
    can_retry = models.BooleanField(default=False)
    retried = models.BooleanField(default=False)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    # All leases are compared by the database's clock, so the clocks of hosts may differ.
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=120, blank=True)
    preset = models.CharField(max_length=64, blank=True)
    is_demo = models.BooleanField(default=False)
    steps = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    # Size of the last request, as the provider counted it.
    context_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    # From which message the model saw the conversation, and where its session began. A version that
    # branches off here begins with them.
    context_from = models.BigIntegerField(default=0)
    session_from = models.BigIntegerField(default=0)
    event_number = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(state__in=("queued", "running")),
                name="one_live_turn_a_conversation",
            )
        ]
        indexes = [
            models.Index(
                fields=["heartbeat_at"],
                condition=Q(state__in=("queued", "running")),
                name="live_turns",
            ),
            models.Index(
                fields=["reason"],
                condition=Q(can_retry=True, retried=False),
                name="turns_that_wait",
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} {self.state}"

    @property
    def message_asked_again(self) -> Message | None:
        """The message that was answered more than once; ``None``: it was not, or was edited."""
        first = self.messages.filter(kind=Message.Kind.USER, versions__gt=1).first()
        return first if first is not None and first.is_asked_again else None

    @property
    def is_refused(self) -> bool:
        return self.reason == self.REFUSED

    @property
    def is_live(self) -> bool:
        return self.state in self.LIVE

    @classmethod
    def claim(cls, turn_id: int, worker: str) -> "Turn | None":
        """Claim a queued turn for *worker*, in a transaction that locks its conversation.

        ``None``: another worker has or had it, and the caller must do nothing.
        """
        queued = cls.objects.filter(pk=turn_id, state=cls.State.QUEUED)
        turn = (
            queued.select_related("conversation__workspace__owner")
            .select_for_update(of=("conversation",))
            .first()
        )
        if turn is None:
            return None
        chat = turn.conversation
        if not queued.update(
            state=cls.State.RUNNING,
            worker=worker,
            started_at=Now(),
            heartbeat_at=Now(),
            context_from=chat.context_from,
            session_from=chat.session_from,
        ):
            return None
        turn.state, turn.worker = cls.State.RUNNING, worker
        turn.context_from, turn.session_from = chat.context_from, chat.session_from
        turn.tokens_gone = chat.tokens_gone
        if turn.tokens_gone:
            rows = Conversation.objects.filter(pk=turn.conversation_id)
            rows.update(tokens_gone=F("tokens_gone") - turn.tokens_gone)
        return turn

    @classmethod
    def live_in(cls, conversation: Conversation) -> "Turn | None":
        return cls.objects.filter(conversation=conversation, state__in=cls.LIVE).first()

    def follow(self, conversation: Conversation) -> "Turn | None":
        """Return a queued turn for messages that still wait; ``None`` when there are none.

        Call it in the transaction that ended this turn, with *conversation* as it was locked.

        A turn that ended before it took any messages takes them now, so that each message belongs
        to a turn whose state says what happened. A turn from before ``/new`` is not retried, since
        the model would see no message.
        """
        conversation.rests(self.conversation.workspace.root)
        said = self.messages.filter(kind=Message.Kind.USER)
        if not said.exists():
            conversation.waiting().update(turn=self)
        if self.can_retry and not said.filter(pk__gte=conversation.context_from).exists():
            self.can_retry = False
            self.save(update_fields=["can_retry"])
        if not conversation.waiting().exists():
            if self.state != self.State.STOPPED:
                # Until somebody looks at it. Who stopped it has it before their eyes.
                Conversation.objects.filter(pk=conversation.pk).update(is_unread=True)
            return None
        return type(self).objects.create(conversation=conversation)

    def renew(self, *, unless_stopped: bool = False) -> bool:
        """Renew the lease. ``False``: it was taken away, and the holder must write nothing.

        With *unless_stopped* also ``False`` when the turn was asked to stop.
        """
        held = Turn.objects.filter(pk=self.pk, state=self.State.RUNNING, worker=self.worker)
        if unless_stopped:
            held = held.filter(cancel_requested=False)
        return bool(held.update(heartbeat_at=Now()))
