"""Turns: the runs of the model, each claimed by at most one worker."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from jenny.accounts.models.prepared import (
    Prepared,
    PreparedInsert,
    PreparedUpdate,
    number_slot,
    text_slot,
    uuid_slot,
)
from jenny.chat.models.conversations import Conversation
from jenny.chat.models.messages import Message


class Turn(models.Model):
    """One run of the model for the messages that wait; claimed by at most one worker, ever."""

    class State(models.TextChoices):
        """Where the turn stands; all but the first two are ends."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    LIVE = (State.QUEUED, State.RUNNING)
    # How many tokens had left the context since an earlier turn looked at it, when this one was
    # claimed.
    tokens_gone = 0

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    # Why it ended as it did: an error kind or an ending of the loop ("cut", "step_cap").
    reason = models.CharField(max_length=32, blank=True)
    sentence = models.TextField(blank=True)
    can_retry = models.BooleanField(default=False)
    retried = models.BooleanField(default=False)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    # All leases are compared by the database's clock, so that hosts may disagree.
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
    # From where on the model saw the conversation, and where its session began: what a version
    # that branches off here begins with.
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
        """Number and state."""
        return f"turn {self.pk} {self.state}"

    @property
    def is_live(self) -> bool:
        """Whether it waits or runs."""
        return self.state in self.LIVE

    @classmethod
    def insert(cls, **values: object) -> "Turn":
        """As ``objects.create``, by a statement made once."""
        return _INSERT.create(**values)

    @classmethod
    def claim(cls, turn_id: int, worker: str) -> "Turn | None":
        """Take a queued turn for *worker*, in a transaction that holds its conversation from then
        on. ``None``: somebody has it, or had it; do nothing."""
        turn = _TO_CLAIM.first(turn=turn_id)
        if turn is None:
            return None
        chat = turn.conversation
        seen = {"context_from": chat.context_from, "session_from": chat.session_from}
        if not _CLAIM.run(turn=turn_id, worker=worker, **seen):
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
        """The conversation's turn that waits or runs."""
        return _LIVE.first(conversation=conversation.pk)

    def follow(self) -> "Turn | None":
        """Inside the transaction that ended this turn, holding its conversation: a queued turn
        for messages that still wait, ``None`` when there are none.

        A turn that ended before it took any takes them now, so that none is left without a
        turn whose end says what became of it. One that ``/new`` came after is not retried:
        the model would be told of nothing.
        """
        conversation = self.conversation.locked()
        conversation.rests(conversation.workspace.root)
        said = self.messages.filter(kind=Message.Kind.USER)
        if not said.exists():
            conversation.waiting().update(turn=self)
        if self.can_retry and not said.filter(pk__gte=conversation.context_from).exists():
            self.can_retry = False
            self.save(update_fields=["can_retry"])
        if not conversation.waiting().exists():
            return None
        return self.insert(conversation=conversation)

    def renew(self, *, unless_stopped: bool = False) -> bool:
        """Renew the lease. ``False``: the turn was taken away; the holder must write nothing.
        Or, with *unless_stopped*, it was asked to end."""
        statement = _RENEW_UNLESS_STOPPED if unless_stopped else _RENEW
        return bool(statement.run(turn=self.pk, worker=self.worker))


_INSERT = PreparedInsert(Turn)
_TO_CLAIM = Prepared(
    lambda: (
        Turn.objects.select_related("conversation__workspace__owner")
        .select_for_update(of=("conversation",))
        .filter(pk=number_slot("turn"), state=Turn.State.QUEUED)
    )
)
_CLAIM = PreparedUpdate(
    lambda: Turn.objects.filter(pk=number_slot("turn"), state=Turn.State.QUEUED),
    state=Turn.State.RUNNING,
    worker=text_slot("worker"),
    started_at=Now(),
    heartbeat_at=Now(),
    context_from=number_slot("context_from"),
    session_from=number_slot("session_from"),
)


def _held() -> models.QuerySet[Turn]:
    """The turn, as long as that worker has it."""
    return Turn.objects.filter(
        pk=number_slot("turn"), state=Turn.State.RUNNING, worker=text_slot("worker")
    )


_RENEW = PreparedUpdate(_held, heartbeat_at=Now())
_RENEW_UNLESS_STOPPED = PreparedUpdate(
    lambda: _held().filter(cancel_requested=False), heartbeat_at=Now()
)
_LIVE = Prepared(
    lambda: Turn.objects.filter(conversation=uuid_slot("conversation"), state__in=Turn.LIVE)
)
