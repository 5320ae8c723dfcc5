"""The end of a run as seen from inside: told to stop, or out of time.

A ``Watch`` belongs to one run. Any thread may call ``cancel``; the run's own thread calls
``check`` between pieces of work and does all its waiting through the watch. Waiting is a
``select`` on the awaited socket *and* on a pipe that ``cancel`` writes to, so a run leaves a
silent provider at once, without a second thread and without shutting a socket down under
somebody else's feet (a pooled connection may already serve another run).
"""

import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Callable
from typing import Literal, Self

from jenny.agent.errors import Cancelled, CancelReason

type Direction = Literal["read", "write"]

# How often a run that waits looks up and asks whether it should end (``Watch.heed``).
HEED_SECONDS = 1.0


class Watch:
    """Tells one run when to end."""

    def __init__(self) -> None:
        self._reason: CancelReason | None = None
        self._deadline: float | None = None
        self._heeded: tuple[Callable[[], CancelReason | None], ...] = ()
        self._asked_at = 0.0
        self._lock = threading.Lock()
        self._woken, self._waker = os.pipe()
        self._closer = weakref.finalize(self, _close_pipe, self._woken, self._waker)

    def __enter__(self) -> Self:
        """Use it as a context manager to give its pipe back early."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the pipe back; ``cancel`` is still allowed and still heard by ``check``."""
        with self._lock:
            self._closer()

    def limit(self, seconds: float) -> None:
        """End the run *seconds* from now, with reason ``time``; the first call holds."""
        if self._deadline is None:
            self._deadline = time.monotonic() + seconds

    def heed(self, asked: Callable[[], CancelReason | None]) -> None:
        """From now on also ask *asked*, about once a second and in the run's own thread, whether
        the run should end."""
        if asked not in self._heeded:
            self._heeded = (*self._heeded, asked)
        self._asked_at = 0.0

    def cancel(self, reason: CancelReason) -> None:
        """End the run for *reason*; the first one holds. Any thread may call it, at any time."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
                if self._closer.alive:
                    os.write(self._waker, b"x")

    @property
    def reason(self) -> CancelReason | None:
        """Why the run should end, or ``None``."""
        if self._reason is None and self._deadline is not None:
            return "time" if time.monotonic() >= self._deadline else None
        return self._reason

    def check(self) -> None:
        """Raise ``Cancelled`` when the run should end."""
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
        """Wait up to *seconds* for a socket to be readable or writable; says whether it is.

        Raises ``Cancelled`` as soon as the run should end.
        """
        self.check()
        ready = self._select(fileno, direction, seconds)
        self.check()
        return ready

    def _ask(self) -> None:
        now = time.monotonic()
        is_due = now >= self._asked_at + HEED_SECONDS
        if not self._heeded or self._reason is not None or not is_due:
            return
        self._asked_at = now
        for asked in self._heeded:
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
            piece = min(left, HEED_SECONDS) if self._heeded else left
            # Rounded up, since poll counts in milliseconds and 0 would spin.
            events = poller.poll(max(int(piece * 1000) + 1, 1))
            if events or piece >= left:
                return any(ready == fileno for ready, _ in events)
            self._ask()


def _close_pipe(*filenos: int) -> None:
    for fileno in filenos:
        with contextlib.suppress(OSError):
            os.close(fileno)
