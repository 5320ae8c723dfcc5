"""Refuses requests whose body is larger than anything a page sends, around the application.

The framework below takes a body in whole, onto the disk, before it asks who sent it: without
this a stranger could fill the disk.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Bytes of a refused body that are read and dropped first: a browser that is still sending
# shows no answer. Whoever sends more is cut off.
DROPPED = 64 * 1024 * 1024
SENTENCE = (
    "This is too large to be sent at once. Nothing was stored: go back, put the text into a "
    "file, or send it in parts."
)


class BodyLimit:
    """Answers 413 to a body of more than *limit* bytes."""

    def __init__(self, application: Application, limit: int) -> None:
        """Wrap *application*."""
        self.application = application
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        told = headers.get(b"content-length", b"0")
        if not told.isdigit() or int(told) <= self.limit:
            counted = _Counted(receive, self.limit)
            try:
                await self.application(scope, counted, send)
            except TooLarge:
                await _refuse(headers, receive, send)
            return
        await _refuse(headers, receive, send)


class TooLarge(Exception):
    """The body went on beyond the limit."""


class _Counted:
    """Hands on a body piece by piece, up to the limit: one sent in chunks tells no length."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLarge
        return message


async def _refuse(headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
    seen = 0
    while seen < DROPPED:
        message = await receive()
        seen += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            break
    wants_json = (
        headers.get(b"accept", b"").startswith(b"application/json") or b"hx-request" in headers
    )
    body = json.dumps({"sentence": SENTENCE}) if wants_json else SENTENCE + "\n"
    kind = b"application/json" if wants_json else b"text/plain; charset=utf-8"
    fields = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": fields})
    await send({"type": "http.response.body", "body": body.encode()})
