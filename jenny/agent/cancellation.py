"""Cancels a run, or ends it when its time is over.

A ``CancellationToken`` belongs to one run. Any thread may call ``cancel``; the run's own thread
calls ``check`` between pieces of work and does all its waiting through the token. It polls the
awaited socket *and* a pipe that ``cancel`` writes to, so a run leaves a silent provider at once,
without a second thread and without closing a socket in use (a pooled connection may already serve
another run).
"""

import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Literal, Self

from jenny.agent.errors import Cancelled, CancelReason

type Direction = Literal["read", "write"]

# Interval in which a waiting run asks whether it should end (``CancellationToken.add_check``).
CHECK_SECONDS = 1.0


class CancellationToken:
    def __init__(self) -> None:
        self._reason: CancelReason | None = None
        self._deadline: float | None = None
        self._checks: tuple[Callable[[], CancelReason | None], ...] = ()
        self._asked_at = 0.0
        self._lock = threading.Lock()
        self._woken, self._waker = os.pipe()
        self._closer = weakref.finalize(self, _close_pipe, self._woken, self._waker)

    def __enter__(self) -> Self:
        """Return the token; leaving the block closes its pipe."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the pipe; ``cancel`` and ``check`` still work."""
        with self._lock:
            self._closer()

    def limit(self, seconds: float) -> None:
        """End the run *seconds* from now, with reason ``time``; the first call counts."""
        if self._deadline is None:
            self._deadline = time.monotonic() + seconds

    def add_check(self, asked: Callable[[], CancelReason | None]) -> None:
        """Call *asked* about once a second, in the run's own thread; its reason ends the run."""
        if asked not in self._checks:
            self._checks = (*self._checks, asked)
        self._asked_at = 0.0

    def cancel(self, reason: CancelReason) -> None:
        """End the run for *reason*; the first one counts. Any thread may call it, at any time."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
                if self._closer.alive:
                    os.write(self._waker, b"x")

    @property
    def reason(self) -> CancelReason | None:
        """Return why the run should end, or ``None``."""
        if self._reason is None and self._deadline is not None:
            return "time" if time.monotonic() >= self._deadline else None
        return self._reason

    def check(self) -> None:
        self._ask()
        reason = self.reason
        if reason is not None:
            raise Cancelled(reason)

    def sleep(self, seconds: float) -> None:
        """Wait *seconds*; raises ``Cancelled`` as soon as the run should end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            self._select(None, "read", left)
        self.check()

    def wait(self, fileno: int, direction: Direction, seconds: float) -> bool:
        """Wait up to *seconds* until a socket is readable or writable; True when it is.

        Raises ``Cancelled`` as soon as the run should end.
        """
        self.check()
        ready = self._select(fileno, direction, seconds)
        self.check()
        return ready

    def _ask(self) -> None:
        now = time.monotonic()
        is_due = now >= self._asked_at + CHECK_SECONDS
        if not self._checks or self._reason is not None or not is_due:
            return
        self._asked_at = now
        for asked in self._checks:
            if (reason := asked()) is not None:
                self.cancel(reason)
                return

    def _select(self, fileno: int | None, direction: Direction, seconds: float) -> bool:
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - time.monotonic())
        # poll and not select: a busy worker has more than 1,024 open files.
        poller = select.poll()
        poller.register(self._woken, select.POLLIN)
        if fileno is not None:
            poller.register(fileno, select.POLLIN if direction == "read" else select.POLLOUT)
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            piece = min(left, CHECK_SECONDS) if self._checks else left
            # Rounded up, since poll counts in milliseconds and 0 would spin.
            events = poller.poll(max(int(piece * 1000) + 1, 1))
            if events or piece >= left:
                return any(ready == fileno for ready, _ in events)
            self._ask()


def _close_pipe(*filenos: int) -> None:
    for fileno in filenos:
        with contextlib.suppress(OSError):
            os.close(fileno)


class OpenTokens:
    """The tokens of this process's runs, so that its shutdown need not wait for them."""

    def __init__(self) -> None:
        self._tokens: set[CancellationToken] = set()
        self._lock = threading.Lock()
        self._is_ending = False

    @contextlib.contextmanager
    def open(self) -> Iterator[CancellationToken]:
        with CancellationToken() as token:
            with self._lock:
                self._tokens.add(token)
                is_ending = self._is_ending
            if is_ending:
                token.cancel("shutdown")
            try:
                yield token
            finally:
                with self._lock:
                    self._tokens.discard(token)

    def cancel_all(self, *, is_ending: bool = False) -> None:
        """Cancel the runs under way; *is_ending*: also those that begin later."""
        with self._lock:
            self._is_ending = self._is_ending or is_ending
            tokens = list(self._tokens)
        for token in tokens:
            token.cancel("shutdown")


OPEN_TOKENS = OpenTokens()
