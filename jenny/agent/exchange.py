"""One request and its reply: how long each stage may take, and waiting within that.

The SDK's own time limits start anew with every read, and nothing of it can be interrupted
from outside. So the sockets of ``jenny.agent.sockets`` never block: all waiting goes through
the exchange of the request, which holds the run's ``Watch`` and the limits of that request.
That covers every stage: name look-up, connecting, the TLS handshake, sending, silence before
the headers.

Costly to import, as it brings the SDK's HTTP library: see ``jenny.agent.client``.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Literal

import httpcore2

from jenny.agent.limits import Limits
from jenny.agent.watch import Direction, Watch

# Bytes of one reply, as a wall against a server that never ends; 128,000 tokens in events of
# one token are about 16 MB.
MAX_REPLY_BYTES = 48 * 1024 * 1024

# "closing": the reply is over, and only the end of the body is awaited.
type Stage = Literal["connecting", "waiting", "reading", "closing"]

# A server sends the end together with the last event, or keeps the connection open.
_CLOSING_SECONDS = 0.25


class Exchange:
    """One request and its reply: how long each stage may take, and which one it is in."""

    def __init__(self, watch: Watch, limits: Limits) -> None:
        self._watch = watch
        self._limits = limits
        self._received = 0
        # Why it failed, where that can be told only here: a kind of FAULTS.
        self.fault = ""
        self.stage: Stage = "waiting"
        self.enter("waiting")

    def enter(self, stage: Stage) -> None:
        """Go on to a stage; its time starts now."""
        self.stage = stage
        self._deadline = time.monotonic() + self.seconds

    @property
    def seconds(self) -> float:
        """What the present stage may take (``reading``: from one byte to the next)."""
        if self.stage == "connecting":
            return self._limits.connect_seconds
        if self.stage == "waiting":
            return self._limits.first_byte_seconds
        if self.stage == "closing":
            return _CLOSING_SECONDS
        return self._limits.between_bytes_seconds

    def received(self, size: int) -> None:
        """Count bytes that came in; those of the body start its time anew."""
        self._received += size
        if self._received > MAX_REPLY_BYTES:
            self.fault = "too_long"
            raise httpcore2.ReadError
        if self.stage == "reading":
            self.enter("reading")

    def wait(self, fileno: int, direction: Direction, share: float = 1.0) -> None:
        """Wait for a socket, for at most *share* of the time that the stage has left."""
        left = (self._deadline - time.monotonic()) * share
        if left <= 0 or not self._watch.wait(fileno, direction, left):
            if self.stage == "connecting":
                raise httpcore2.ConnectTimeout
            self.fault = "silent"
            raise httpcore2.ReadTimeout

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Make this thread's sockets wait through this exchange."""
        before = getattr(_bound, "exchange", None)
        _bound.exchange = self
        try:
            yield
        finally:
            _bound.exchange = before


_bound = threading.local()


def current() -> Exchange:
    """The exchange that this thread works for."""
    exchange: Exchange = _bound.exchange
    return exchange
