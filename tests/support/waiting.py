"""Waiting for a condition, with a deadline, in place of sleeping and hoping."""

import random
import socket
import time
from collections.abc import Callable


def wait_until[T](condition: Callable[[], T], seconds: float = 60, what: str = "") -> T:
    """The first true value of *condition*; fails after *seconds*.

    The deadline is far above what the thing takes: it ends a test that hangs and measures
    nothing.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            message = f"waited {seconds} s for {what or condition}; last seen: {value!r}"
            raise AssertionError(message)
        time.sleep(0.02)


def free_port() -> int:
    """A TCP port on loopback that nothing uses now, and that no outgoing connection is given."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
