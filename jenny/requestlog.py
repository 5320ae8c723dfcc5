"""One log line a request, around the ASGI application."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from jenny.logs import request_id

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("jenny.request")


class RequestLog:
    """Gives each request an id, sends it back as ``X-Request-ID`` and logs the outcome.

    Only method, path, status and milliseconds are logged: query strings can hold the setup
    token, bodies hold what people write. The time of an event stream is its whole life.
    """

    def __init__(self, application: Application) -> None:
        """Wrap *application*."""
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        identity = request_id.new()
        started = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (b"x-request-id", identity.encode())]
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self.application(scope, receive, send_with_id)
        finally:
            # Health checks come every few seconds, and tell nothing while all is well.
            is_routine = scope["path"].startswith("/health/") and status == HTTPStatus.OK
            log.log(
                logging.DEBUG if is_routine else logging.INFO,
                "request",
                extra={
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "ms": round((time.perf_counter() - started) * 1000, 1),
                },
            )
