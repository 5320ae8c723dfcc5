"""The server's patience: uvicorn by itself keeps a connection on which nothing comes for ever.

Each costs the process an open file, of which it has so many; whoever opens thousands and sends a
byte now and then would keep everybody else out.
"""

import asyncio
import logging
from enum import Enum

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger(__name__)


class Awaited(Enum):
    """What a connection is waited on for."""

    HEAD = "head"
    BODY = "body"
    # The request is there as a whole, and is being answered.
    NOTHING = "nothing"


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which ends a connection whose request does not come."""

    # From the first byte on (of a new connection: from its beginning) to the end of the head.
    head_seconds = 20.0
    head_bytes = 64 * 1024
    # A body may take as long as it likes, if in each of these times so much of it comes.
    body_seconds = 20.0
    body_bytes = 1024

    _awaited = Awaited.NOTHING
    _came = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own signature
        """A connection was made: a request should come."""
        super().connection_made(transport)
        self._await(Awaited.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._await(Awaited.NOTHING)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something came; also what begins no request, such as an empty line."""
        self._came += len(data)
        super().data_received(data)
        if self._awaited is Awaited.HEAD and self._came > self.head_bytes:
            self._end()
        elif self._awaited is Awaited.NOTHING and self._is_idle:
            self._await(Awaited.HEAD)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._await(Awaited.HEAD)

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._await(Awaited.BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """It is there as a whole."""
        self._await(Awaited.NOTHING)
        super().on_message_complete()

    @property
    def _is_idle(self) -> bool:
        """Whether nothing is being answered, and uvicorn's own time for that is not running: it
        ends with whatever comes."""
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
        """The time is over: wait for more, if what there was came well, or end it."""
        comes = self._awaited is Awaited.BODY and self._came >= self.body_bytes
        # The server itself may be what does not read on.
        if comes or self.flow.read_paused:
            self._await(self._awaited)
        else:
            self._end()

    def _end(self) -> None:
        log.info("connection.too_slow", extra={"awaited": self._awaited.value})
        self._await(Awaited.NOTHING)
        self.transport.abort()
