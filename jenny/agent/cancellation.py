"""Cancels a run, or ends it when its time is over.

A ``CancellationToken`` belongs to one run. Any thread may call ``cancel``; the run's own thread
calls ``check`` between pieces of work and does all its waiting through the token, so that it leaves
a silent provider at once.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from jenny.agent.errors import Cancelled, CancelReason

# Interval in which a waiting run asks whether it should end (``CancellationToken.add_check``).
CHECK_SECONDS = 1.0


class CancellationToken:
    def __init__(self) -> None:
        self._reason: CancelReason | None = None
        self._deadline: float | None = None
        self._checks: tuple[Callable[[], CancelReason | None], ...] = ()
        self._asked_at = 0.0
        self._changed = threading.Condition()

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
        with self._changed:
            self._reason = self._reason or reason
            self._changed.notify_all()

    def notify(self) -> None:
        """Let the run's thread look again at what it waits for. Any thread may call it."""
        with self._changed:
            self._changed.notify_all()

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
        self.wait_for(lambda: False, seconds)

    def wait_for(self, is_ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until *is_ready* or *seconds* are over; return what it said last.

        It is asked after each ``notify``. Raises ``Cancelled`` as soon as the run should end.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            self.check()
            with self._changed:
                if is_ready():
                    return True
                left = self._seconds_left(until)
                if left is not None and left <= 0:
                    break
                if self._reason is None:
                    self._changed.wait(left)
        self.check()
        return False

    def _seconds_left(self, until: float | None) -> float | None:
        """Return the time to the next event that nobody notifies of."""
        now = time.monotonic()
        times = [at - now for at in (until, self._deadline) if at is not None]
        if until is not None and until <= now:
            return 0.0
        if self._checks:
            times.append(CHECK_SECONDS)
        return max(min(times), 0.001) if times else None

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


class OpenTokens:
    """The tokens of this process's runs, so that its shutdown need not wait for them."""

    def __init__(self) -> None:
        self._tokens: set[CancellationToken] = set()
        self._lock = threading.Lock()
        self._is_ending = False

    @contextlib.contextmanager
    def open(self) -> Iterator[CancellationToken]:
        token = CancellationToken()
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
