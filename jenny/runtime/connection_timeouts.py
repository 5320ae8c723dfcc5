"""Timeouts for idle connections; uvicorn by itself keeps them for ever.

Each costs the process a file descriptor. Without a timeout, a client with thousands of slow
connections would keep everybody else out.
"""

import asyncio
import logging
from enum import Enum

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger(__name__)


class Awaited(Enum):
    """The part of a request that a connection waits for."""

    HEAD = "head"
    BODY = "body"
    # The request is complete and is being answered.
    NOTHING = "nothing"


class TimeoutProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which closes a connection whose request does not arrive."""

    # Time from the first byte (on a new connection: from its start) to the end of the head.
    head_seconds = 20.0
    head_bytes = 64 * 1024
    # A body may take any time if so many bytes arrive in each of these intervals.
    body_seconds = 20.0
    body_bytes = 1024

    _awaited = Awaited.NOTHING
    _came = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own signature
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._await(Awaited.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(Awaited.NOTHING)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Update the timeout; the data may also begin no request, such as an empty line."""
        self._came += len(data)
        super().data_received(data)
        if self._awaited is Awaited.HEAD and self._came > self.head_bytes:
            self._end()
        elif self._awaited is Awaited.NOTHING and self._is_idle:
            self._await(Awaited.HEAD)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await(Awaited.HEAD)

    def on_headers_complete(self) -> None:
        self._await(Awaited.BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._await(Awaited.NOTHING)
        super().on_message_complete()

    @property
    def _is_idle(self) -> bool:
        """True when nothing is being answered and uvicorn's keep-alive timeout is not running.

        Any data stops that timeout.
        """
        # There is no cycle before the first request.
        is_answered = getattr(self.cycle, "response_complete", True)
        return is_answered and self.timeout_keep_alive_task is None

    def _await(self, awaited: Awaited) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._awaited, self._came = awaited, 0
        if awaited is not Awaited.NOTHING and not self.transport.is_closing():
            seconds = self.head_seconds if awaited is Awaited.HEAD else self.body_seconds
            self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connection after the timeout, or wait again if enough data arrived."""
        comes = self._awaited is Awaited.BODY and self._came >= self.body_bytes
        # The server itself may have paused reading.
        if comes or self.flow.read_paused:
            self._await(self._awaited)
        else:
            self._end()

    def _end(self) -> None:
        log.info("connection.too_slow", extra={"awaited": self._awaited.value})
        self._await(Awaited.NOTHING)
        self.transport.abort()
