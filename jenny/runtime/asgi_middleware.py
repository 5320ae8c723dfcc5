"""ASGI middleware of the web server: request log, body limit, stream threads, proxy headers.

``BodyLimit``: Django stores a body on disk before the view checks who sent it: without this,
anybody could fill the disk.

``StreamThreads``: Django keeps a thread for each request's synchronous code until the response is
over: five hundred open pages would be five hundred idle threads.

``ProxyHeaders``: a proxy appends its client's address to ``X-Forwarded-For``: only the last entry
is the proxy's own, all before it may be forged. Servers that skip entries from private networks
take a client on the same network for a further proxy, and trust forged entries.
"""

import asyncio
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from jenny.env import Network
from jenny.logs import request_id

# A time of creation for each figure would double them.
disable_created_metrics()  # type: ignore[no-untyped-call]
# The requests of this web process, for ``/metrics``.
REQUESTS = CollectorRegistry()
_ENDINGS = Counter(
    "jenny_http_requests_total",
    "Requests to this web process, by status.",
    ["status"],
    registry=REQUESTS,
)
_SECONDS = Histogram(
    "jenny_http_request_seconds",
    "Requests to this web process, without streams, files and health checks.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    registry=REQUESTS,
)

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("jenny.request")

EVENT_STREAM = b"text/event-stream"
# These are frequent and no person waits for them.
_UNCOUNTED = ("/static/", "/health/", "/metrics")


class RequestLog:
    """Gives each request an id, sends it back as ``X-Request-ID`` and logs the outcome.

    Only method, path, status and milliseconds are logged: query strings can have the setup token,
    bodies have what people write. The time of an event stream is its whole duration.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self._streams: set[asyncio.Event] = set()

    def end_streams(self) -> None:
        """End the open event streams before the server ends.

        The server would wait for them, and browsers reconnect by themselves.
        """
        for ending in self._streams:
            ending.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
                _ENDINGS.labels(f"{status // 100}xx" if status else "none").inc()
                _SECONDS.observe(seconds)
            _tell(scope, status, seconds)


def _until(ending: asyncio.Event, receive: Receive) -> Receive:
    """Wrap *receive* to report a disconnect once *ending* is set, after the whole body is
    received.
    """
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
    # Health checks and static files are frequent, and of no interest unless they fail.
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


# Bytes of a refused body that are read and dropped first, since a browser that is still sending
# shows no answer. Beyond them the connection is closed.
DROPPED = 64 * 1024 * 1024
SENTENCE = (
    "This is too large to be sent at once. Nothing was stored: go back, put the text into a "
    "file, or send it in parts."
)


class BodyLimit:
    """Answers 413 to a body of more than *limit* bytes."""

    def __init__(self, application: Application, limit: int) -> None:
        self.application = application
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) <= self.limit:
            counted = _Counted(receive, self.limit)
            try:
                await self.application(scope, counted, send)
            except TooLarge:
                await _refuse(headers, receive, send)
            return
        await _refuse(headers, receive, send)


class TooLarge(Exception):
    pass


class _Counted:
    """Passes a body on up to the limit; one sent in chunks has no declared length."""

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
    body = json.dumps({"message": SENTENCE}) if wants_json else SENTENCE + "\n"
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


class StreamThreads:
    """Releases the thread as soon as a stream begins; later synchronous code gets another one."""

    def __init__(self, application: Application, leave: Callable[[], None]) -> None:
        """Wrap *application*; *leave* cleans up the thread's own state in that thread."""
        self.application = application
        self.leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                await self._free()
            await send(message)

        await self.application(scope, receive, send_on)

    async def _free(self) -> None:
        context = SyncToAsync.thread_sensitive_context.get(None)
        if context is None or context not in SyncToAsync.context_to_thread_executor:
            return
        await sync_to_async(self.leave)()
        SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)


def _is_stream(message: Message) -> bool:
    return any(value.startswith(EVENT_STREAM) for _, value in message.get("headers", ()))


type _Headers = Iterable[tuple[bytes, bytes]]


class ProxyHeaders:
    """ASGI middleware that puts the client's address and scheme into the request."""

    def __init__(self, app: Any, trusted: Sequence[Network]) -> None:
        self.app = app
        self.trusted = trusted

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_http = scope["type"] == "http" and scope["client"]
        if is_http and self._is_trusted(scope["client"][0]):
            _believe(scope)
        await self.app(scope, receive, send)

    def _is_trusted(self, client: str) -> bool:
        address = _address(client)
        return address is not None and any(address in network for network in self.trusted)


def _believe(scope: dict[str, Any]) -> None:
    client = _address(_last(scope["headers"], b"x-forwarded-for"))
    if client is not None:
        scope["client"] = (str(client), 0)
    scheme = _last(scope["headers"], b"x-forwarded-proto")
    if scheme in {"http", "https"}:
        scope["scheme"] = scheme


def _last(headers: _Headers, name: bytes) -> str:
    values = [value for key, value in headers if key == name]
    return b",".join(values).rpartition(b",")[2].decode("latin-1").strip()


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address, also one in brackets or with a port, as some proxies write it."""
    host = text.removeprefix("[").partition("]")[0] if text.startswith("[") else text
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
