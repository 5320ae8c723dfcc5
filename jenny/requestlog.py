"""One log line a request, around the ASGI application."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from jenny.logs import request_id
from jenny.requesttimes import TIMES

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("jenny.request")

EVENT_STREAM = b"text/event-stream"
# They come in dozens and say nothing about how long a person waits.
_UNCOUNTED = ("/static/", "/health/", "/metrics")


class RequestLog:
    """Gives each request an id, sends it back as ``X-Request-ID`` and logs the outcome.

    Only method, path, status and milliseconds are logged: query strings can hold the setup
    token, bodies hold what people write. The time of an event stream is its whole life.
    """

    def __init__(self, application: Application) -> None:
        """Wrap *application*."""
        self.application = application
        self._streams: set[asyncio.Event] = set()

    def end_streams(self) -> None:
        """End the event streams that are open: the server is about to end. They would keep it
        waiting, and browsers come back by themselves."""
        for ending in self._streams:
            ending.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        identity = request_id.new()
        started = time.perf_counter()
        status, is_stream = 0, False
        ending = asyncio.Event()

        async def send_with_id(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (b"x-request-id", identity.encode())]
                message = {**message, "headers": headers}
                if any(value.startswith(EVENT_STREAM) for _, value in headers):
                    is_stream = True
                    self._streams.add(ending)
            await send(message)

        try:
            await self.application(scope, _until(ending, receive), send_with_id)
            if ending.is_set():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.discard(ending)
            seconds = time.perf_counter() - started
            if not is_stream and not scope["path"].startswith(_UNCOUNTED):
                TIMES.add(status, seconds)
            _tell(scope, status, seconds)


def _until(ending: asyncio.Event, receive: Receive) -> Receive:
    """*receive*, which says that the client has gone as soon as *ending* is set, once the body
    is there: from then on one waits for the client to go."""
    is_whole = False

    async def receive_or_end() -> Message:
        nonlocal is_whole
        if not is_whole:
            message = await receive()
            is_whole = not message.get("more_body")
            return message
        messages = asyncio.ensure_future(receive())
        end = asyncio.ensure_future(ending.wait())
        try:
            await asyncio.wait({messages, end}, return_when=asyncio.FIRST_COMPLETED)
            return messages.result() if messages.done() else {"type": "http.disconnect"}
        finally:
            messages.cancel()
            end.cancel()

    return receive_or_end


def _tell(scope: Scope, status: int, seconds: float) -> None:
    # Health checks and the files of a page come in dozens, and tell nothing while all is well.
    is_routine = scope["path"].startswith(("/health/", "/static/")) and status in (
        HTTPStatus.OK,
        HTTPStatus.NOT_MODIFIED,
    )
    log.log(
        logging.DEBUG if is_routine else logging.INFO,
        "request",
        extra={
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1000, 1),
        },
    )
