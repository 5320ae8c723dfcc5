"""Gives the right to move a conversation's pointers to one holder in the whole installation.

The Redis lease turns others away without a query; the row's claim decides, also without Redis. A
claim is renewed while its holder's process lives.
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
from jenny.broker import redis_client
from jenny.chat.models import Conversation
from jenny.chat.models.consolidation import LEASE

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
