"""Who may move a conversation's pointers: one holder, in the whole installation.

The Redis lease turns others away without asking the database; the row's claim decides. Without
Redis the row alone does. A claim is renewed for as long as its holder's process lives.
"""

import contextlib
import logging
import secrets
import threading
from collections.abc import Iterator

import redis
from django.db import DatabaseError, connections
from redis.lock import Lock

from jenny.agent.errors import Cancelled
from jenny.agent.watch import Watch
from jenny.chat.models import Conversation
from jenny.chat.models.consolidating import LEASE
from jenny.chat.tasks.publish import redis_client

log = logging.getLogger(__name__)


class Claim:
    """The right to move one conversation's pointers."""

    def __init__(self, conversation: Conversation, holder: str, lease: Lock | None) -> None:
        self.conversation = conversation
        self.holder = holder
        self._lease = lease

    def renew(self) -> None:
        """Hold it for longer. :raises Cancelled: it was taken away."""
        if not self.conversation.renew_claim(self.holder):
            raise Cancelled("lost")
        if self._lease is not None:
            with contextlib.suppress(redis.RedisError):
                self._lease.reacquire()


@contextlib.contextmanager
def claimed(conversation: Conversation) -> Iterator[Claim | None]:
    """The claim, while the block runs; ``None``: somebody else has it."""
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
    """The claim, at once, for what takes a moment and waits for no model. Whoever had it moves
    nothing more."""
    holder = secrets.token_hex(8)
    conversation.seize(holder)
    try:
        yield Claim(conversation, holder, None)
    finally:
        conversation.release(holder)


@contextlib.contextmanager
def _kept_up(claim: Claim) -> Iterator[None]:
    """Renew the claim now and then while the block runs, in a thread of its own."""
    is_over = threading.Event()
    thread = threading.Thread(target=_renew, args=(claim, is_over), name="claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(timeout=LEASE.total_seconds())


def _renew(claim: Claim, is_over: threading.Event) -> None:
    """The thread's work; when the claim is lost, its holder finds out by itself."""
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
    """The name of its lease in Redis."""
    return f"jenny:consolidate:{conversation.workspace_id}:{conversation.pk}"


class Watches:
    """The questions of this process that are under way, so that its end need not wait for them."""

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self._lock = threading.Lock()
        self._is_ending = False

    @contextlib.contextmanager
    def one(self, seconds: float) -> Iterator[Watch]:
        """A watch for one question of at most *seconds*."""
        with Watch() as watch:
            watch.limit(seconds)
            with self._lock:
                self._watches.add(watch)
                is_ending = self._is_ending
            if is_ending:
                watch.cancel("shutdown")
            try:
                yield watch
            finally:
                with self._lock:
                    self._watches.discard(watch)

    def end(self) -> None:
        """The process is to end."""
        with self._lock:
            self._is_ending = True
            watches = list(self._watches)
        for watch in watches:
            watch.cancel("shutdown")


WATCHES = Watches()
