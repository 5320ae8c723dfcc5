"""The state of a conversation's consolidation: its claim, its pointers, and its outcome.

One holder in the whole installation has the right to move the pointers. The Redis lease turns
others away without a query; the row's claim decides, also without Redis. A claim is renewed while
its holder's process lives.

Pointers move after the messages before them are in the history.
"""

import contextlib
import logging
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

import redis
from django.db import DatabaseError, connections, transaction
from django.db.models import F, Q
from redis.lock import Lock

from jenny.agent.errors import Cancelled
from jenny.broker import redis_client
from jenny.chat.models import Conversation, Message, Summary, Turn
from jenny.chat.models.consolidation import LEASE
from jenny.chat.services.context_window import Slice, meter_of
from jenny.chat.services.publish import Publisher
from jenny.workspace import config
from jenny.workspace.redact import redact
from memory.history import reader, transcript
from memory.history.transcript import Spoken

# Formats the outcome of a consolidation in words. Plain.


type Ending = Literal["done", "nothing", "busy", "claimed", "failed"]

_SENTENCES: dict[Ending, str] = {
    "nothing": "There is nothing to summarise: what was said here was summarised already.",
    "busy": "An answer is being written. Nothing was summarised; try again when it is there.",
    "claimed": "This conversation is being summarised already.",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Redacted secrets of one *kind* in one message of *speaker* (``user`` or ``assistant``)."""

    kind: str
    count: int
    message: int
    speaker: str


def left_out(said: Sequence[Spoken]) -> tuple[LeftOut, ...]:
    """Return the secrets in what was said, message by message."""
    return tuple(
        LeftOut(hit.kind, hit.count, message.id, message.speaker)
        for message in said
        for hit in redact(transcript.raw([message])).hits
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored result of a slice of *count* messages.

    *cursors* are its history entries; *text* is the summary of a conversation that leaves no
    memory. *untagged* counts facts without a fact tag.
    """

    count: int = 0
    cursors: tuple[int, ...] = ()
    text: str = ""
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()
    untagged: int = 0

    @property
    def is_something(self) -> bool:
        return bool(self.cursors or self.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a consolidation.

    *summaries* and *raw* count the added entries; *secrets* were redacted before. *own*: the
    summaries belong to the conversation and are in no file.
    """

    ending: Ending = "nothing"
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()
    own: bool = False
    problem: str = ""
    untagged: int = 0

    @classmethod
    def of(cls, kept: Kept) -> Self:
        return cls(
            "done",
            kept.summaries,
            kept.raw,
            kept.secrets,
            bool(kept.text),
            untagged=kept.untagged,
        )

    def plus(self, other: Self) -> Self:
        return replace(
            other,
            summaries=self.summaries + other.summaries,
            raw=self.raw + other.raw,
            secrets=self.secrets + other.secrets,
            own=self.own or other.own,
            untagged=self.untagged + other.untagged,
        )

    @property
    def message(self) -> str:
        if self.ending == "failed":
            return self.problem
        if self.ending != "done":
            return _SENTENCES[self.ending]
        added = " ".join(self._added()) or "Nothing in it was worth a note."
        return f"{added} The thread stays as it is; Jenny goes on with its last messages."

    def _added(self) -> list[str]:
        parts = []
        whose = "this chat alone" if self.own else "Jenny’s memory"
        if self.summaries:
            parts.append(f"Summarised for {whose}: {_entries(self.summaries)}.")
        if self.raw:
            how = "In short" if self.own else "Kept word for word"
            parts.append(f"{how} for {whose}: {_entries(self.raw)}. The model gave no summary.")
        if self.untagged:
            parts.append(
                "The model gave 1 fact no tag; it counts as durable."
                if self.untagged == 1
                else f"The model gave {self.untagged:,} facts no tag; they count as durable."
            )
        if parts and self.secrets:
            kinds = ", ".join(sorted({hit.kind for hit in self.secrets}))
            parts.append(f"Secrets were left out: {kinds}.")
        return parts


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


log = logging.getLogger(__name__)


class Claim:
    def __init__(self, conversation: Conversation, holder: str, lease: Lock | None) -> None:
        self.conversation = conversation
        self.holder = holder
        self._lease = lease

    def renew(self) -> None:
        """Renew the claim. :raises Cancelled: it was taken away."""
        if not self.conversation.renew_claim(self.holder):
            raise Cancelled("lost")
        if self._lease is not None:
            with contextlib.suppress(redis.RedisError):
                self._lease.reacquire()


@contextlib.contextmanager
def claimed(conversation: Conversation) -> Iterator[Claim | None]:
    """Claim the conversation while the block runs; ``None``: somebody else has the claim."""
    holder = secrets.token_hex(8)
    lease: Lock | None = redis_client().lock(
        lease_key(conversation), timeout=LEASE.total_seconds(), blocking=False, thread_local=False
    )
    try:
        if lease is not None and not lease.acquire():
            yield None
            return
    except redis.RedisError:
        lease = None
    try:
        if not conversation.claim(holder):
            yield None
            return
        claim = Claim(conversation, holder, lease)
        try:
            with _kept_up(claim):
                yield claim
        finally:
            conversation.release(holder)
    finally:
        if lease is not None:
            with contextlib.suppress(redis.RedisError):
                lease.release()


@contextlib.contextmanager
def seized(conversation: Conversation) -> Iterator[Claim]:
    """Take the claim at once, from its holder if there is one, who can move nothing any more.

    For short work that waits for no model.
    """
    holder = secrets.token_hex(8)
    conversation.seize(holder)
    try:
        yield Claim(conversation, holder, None)
    finally:
        conversation.release(holder)


@contextlib.contextmanager
def _kept_up(claim: Claim) -> Iterator[None]:
    """Renew the claim from a thread of its own while the block runs."""
    is_over = threading.Event()
    thread = threading.Thread(target=_renew, args=(claim, is_over), name="claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(timeout=LEASE.total_seconds())


def _renew(claim: Claim, is_over: threading.Event) -> None:
    """Run the thread. When the claim is lost, its holder notices at its next renewal."""
    while not is_over.wait(LEASE.total_seconds() / 4):
        try:
            claim.renew()
        except Cancelled:
            return
        except DatabaseError as error:
            log.warning("claim.not_renewed", extra={"cause": type(error).__name__})
        finally:
            connections.close_all()


def lease_key(conversation: Conversation) -> str:
    return f"jenny:consolidate:{conversation.workspace_id}:{conversation.pk}"


# Moves a conversation's pointers after the messages before them are in the history.


def settle_pointers(claim: Claim) -> None:
    """Record entries that were added before a crash, so that they are not made again."""
    chat = claim.conversation
    chat.refresh_from_db()
    if chat.appending_through <= chat.summarised_through:
        return
    anchor = (chat.appending_from, chat.appending_through)
    found = reader.about(chat.workspace.root, str(chat.pk), anchor)
    if not found:
        return
    with transaction.atomic():
        chat = _held(claim)
        if (chat.appending_from, chat.appending_through) != anchor:
            return
        kinds = ("user", "answer")
        about = chat.messages.filter(
            pk__gte=anchor[0], pk__lte=anchor[1], kind__in=kinds, is_current=True
        )
        last = about.order_by("-pk").first()
        if last is None or last.pk != anchor[1]:
            # They are about a version that is not shown.
            return
        Conversation.objects.filter(pk=chat.pk).update(summarised_through=anchor[1])
        Summary.objects.create(
            conversation=chat,
            first=anchor[0],
            message=_latest_after(last),
            count=about.count(),
            cursors=[entry.cursor for entry in found],
            is_raw=any(entry.kind == "raw" for entry in found),
        )
    Publisher(chat).message(_latest_after(last))


def session_of(claim: Claim, messages: tuple[int, int]) -> int:
    """Record that entries about these messages are about to be added; return the session's begin.

    :raises Cancelled: the claim was taken away; nothing may be added.
    """
    with transaction.atomic():
        chat = _held(claim)
        Conversation.objects.filter(pk=chat.pk).update(
            appending_from=messages[0], appending_through=messages[1]
        )
    return chat.session_from


def move_pointers(claim: Claim, seen: Conversation, piece: Slice, kept: Kept) -> None:
    """Move the pointers past a slice whose entries are stored.

    The context stays as it is when ``/new``, a retry or an edit changed it meanwhile. *seen*: the
    conversation when the slice was chosen.

    :raises Cancelled: the claim was taken away.
    """
    with transaction.atomic():
        chat = _held(claim)
        if chat.branch_id == seen.branch_id:
            _move(chat, seen, piece)
        else:
            _move_unseen(chat, seen, piece)
        last = _noted(chat, piece, kept)
    publisher = Publisher(chat)
    if last is not None and last.is_current:
        publisher.message(last)
    chat.refresh_from_db()
    gauge = meter_of(chat, config.load_config(chat.workspace.root))
    publisher.meter(gauge.message, gauge.percent)


def _move(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Move the pointers of the version that is shown, inside the transaction."""
    changes: dict[str, object] = {"summarised_through": piece.through}
    if chat.context_from == seen.context_from and not _is_needed(chat, piece.context_from):
        changes["context_from"] = piece.context_from
        changes["tokens_gone"] = F("tokens_gone") + piece.tokens_gone
        # Without this the model would get no message.
        left = Q(messages__kind=Message.Kind.USER, messages__pk__lt=piece.context_from)
        turns = chat.turns.filter(left, can_retry=True).values_list("pk", flat=True)
        Turn.objects.filter(pk__in=list(turns)).update(can_retry=False)
    Conversation.objects.filter(pk=chat.pk).update(**changes)


def _move_unseen(chat: Conversation, seen: Conversation, piece: Slice) -> None:
    """Move pointers when another version is shown by now, inside the transaction.

    The summarised version keeps its own pointers for later; the shown one passes over what both
    share.
    """
    versions = chat.branches.filter(
        Q(pk=seen.branch_id) if seen.branch_id else Q(parent=None),
        summarised_through__lt=piece.through,
    )
    versions.update(summarised_through=piece.through)
    shared = chat.messages.filter(pk=piece.rows[-1].pk if piece.rows else 0, is_current=True)
    if shared.exists():
        Conversation.objects.filter(pk=chat.pk, summarised_through__lt=piece.through).update(
            summarised_through=piece.through
        )


def _noted(chat: Conversation, piece: Slice, kept: Kept) -> Message | None:
    """Store the summary, and return the message after which the thread shows it."""
    if kept.cursors:
        # The text of a temporary chat's own summary is in the history now.
        chat.summaries.exclude(text="").delete()
    last = piece.rows[-1] if piece.rows else None
    if last is None or not kept.is_something:
        return None
    shown_after = _latest_after(Message.objects.get(pk=last.pk))
    Summary.objects.create(
        conversation=chat,
        first=piece.rows[0].pk,
        message=shown_after,
        count=kept.count,
        cursors=list(kept.cursors),
        text=kept.text,
        is_raw=bool(kept.raw),
        secrets=[asdict(one) for one in kept.secrets],
    )
    return shown_after


def _latest_after(last: Message) -> Message:
    """Return the last of the commands and replies that directly follow the slice's last message.

    One of them may have asked for the summary, which stands below it then.
    """
    rows = Message.objects.filter(
        conversation=last.conversation_id, is_current=last.is_current, pk__gt=last.pk
    )
    shown = last
    for row in rows.order_by("pk").iterator(chunk_size=20):
        if row.kind not in {Message.Kind.COMMAND, Message.Kind.REPLY}:
            break
        shown = row
    return shown


def _is_needed(chat: Conversation, context_from: int) -> bool:
    """True when a queued or running turn answers messages that would leave the context."""
    asked = chat.messages.filter(
        kind=Message.Kind.USER, pk__gte=chat.context_from, pk__lt=context_from
    )
    return asked.filter(Q(turn=None) | Q(turn__state__in=Turn.LIVE)).exists()


def _held(claim: Claim) -> Conversation:
    """Lock the conversation inside a transaction and check the claim.

    :raises Cancelled: the claim was taken away.
    """
    chat = claim.conversation.locked()
    if chat.consolidator != claim.holder:
        raise Cancelled("lost")
    return chat
