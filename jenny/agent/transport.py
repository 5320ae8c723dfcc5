"""The SDK's HTTP connections: pooled, to permitted addresses only, with a limit for each reply.

Slow to import, as it needs the SDK's HTTP library: see ``jenny.agent.client``.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
import urllib.request
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from typing import Any, override

import httpcore2
import httpx2

from jenny.agent.addresses import is_refused_number
from jenny.agent.limits import Limits

# Bytes of one reply, as protection against a server that never ends; 128,000 tokens in events of
# one token are about 16 MB.
MAX_REPLY_BYTES = 48 * 1024 * 1024

# Other headers are dropped: the SDK adds a description of this machine, and headers from an
# environment variable of its own.
_HEADERS_SENT = frozenset(
    b"host accept accept-encoding anthropic-beta anthropic-version authorization connection "
    b"content-length content-type user-agent".split()
)
_KEEP_IDLE_SECONDS = 90.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class RefusedAddress(Exception):
    """The host's name leads to addresses that are never asked, and to no other."""


class TooLong(Exception):
    """The reply is longer than any model's."""


class Deadline:
    """The time limit of one request: first for the first byte, then between two bytes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._received = 0
        self.seconds = limits.first_byte_seconds

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Raise ``TimeoutError`` when the limit is over within the block."""
        token = _deadline.set(self)
        try:
            async with asyncio.timeout(self.seconds) as self._timeout:
                yield
        finally:
            _deadline.reset(token)

    def received(self, size: int) -> None:
        """Count bytes of the reply's body, which restart the time."""
        self._received += size
        if self._received > MAX_REPLY_BYTES:
            raise TooLong
        self.seconds = self._limits.between_bytes_seconds
        self._timeout.reschedule(asyncio.get_running_loop().time() + self.seconds)


# Of the request that the current task makes.
_deadline: ContextVar[Deadline] = ContextVar("deadline")


class CheckedBackend(httpcore2.AnyIOBackend):
    """Connects to permitted addresses only.

    A name is checked here, at each connection, since it may resolve to another address each time.
    """

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        until = loop.time() + (timeout or 0)
        try:
            async with asyncio.timeout(timeout):
                found = await _look_up(host, port)
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpcore2.ConnectError from error
        permitted = [each for each in found if not is_refused_number(ipaddress.ip_address(each))]
        if found and not permitted:
            raise RefusedAddress
        failure: Exception = httpcore2.ConnectError()
        for index, address in enumerate(permitted):
            # Each address gets an equal share of the time, since the first may not answer.
            share = timeout and max(until - loop.time(), 0) / (len(permitted) - index)
            try:
                return await super().connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout, OverflowError) as error:
                failure = error
        raise httpcore2.ConnectError from failure


async def _look_up(host: str, port: int) -> list[str]:
    """Return the addresses of *host*.

    Each name has a thread of its own, since the resolver cannot be interrupted: one that says
    nothing keeps neither other names waiting nor the process from ending.
    """
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[Any]] = loop.create_future()

    def settle(rows: list[Any], error: Exception | None) -> None:
        if found.done():
            return
        if error is None:
            found.set_result(rows)
        else:
            found.set_exception(error)

    def look_up() -> None:
        rows: list[Any] = []
        failure: Exception | None = None
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, OverflowError) as error:
            failure = error
        loop.call_soon_threadsafe(settle, rows, failure)

    threading.Thread(target=look_up, daemon=True, name="look up").start()
    return [row[4][0] for row in await found]


class _Body(httpx2.AsyncByteStream):
    """A reply's body, read under the deadline of its request."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            _deadline.get().received(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class Transport(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raises ``httpcore2`` errors and ``RefusedAddress``."""
        url = request.url
        response = await self.pool(_proxy_for(url)).handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme,
                    host=url.raw_host,
                    port=url.port,
                    target=url.raw_path,
                ),
                headers=[row for row in request.headers.raw if row[0].lower() in _HEADERS_SENT],
                content=request.stream,
                extensions={"timeout": request.extensions.get("timeout", {})},
            )
        )
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Body(response.stream)
        )

    def pool(self, proxy: str) -> httpcore2.AsyncConnectionPool:
        """Return the connections through *proxy*, or with "" the direct ones.

        The first call reads the certificates.
        """
        if proxy not in self._pools:
            self._pools[proxy] = _new_pool(proxy)
        return self._pools[proxy]


def _proxy_for(url: httpx2.URL) -> str:
    """Return the proxy that the environment names for this address, or "".

    Only TLS requests use it: otherwise the proxy could read the key.
    """
    if url.scheme != "https" or url.host in _LOOPBACK or urllib.request.proxy_bypass(url.host):
        return ""
    return urllib.request.getproxies().get("https", "")


def _new_pool(proxy: str) -> httpcore2.AsyncConnectionPool:
    options: dict[str, Any] = {
        "ssl_context": httpx2.create_ssl_context(),
        "max_connections": 1000,
        "max_keepalive_connections": 100,
        "keepalive_expiry": _KEEP_IDLE_SECONDS,
        "network_backend": CheckedBackend(),
        "socket_options": [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    }
    if not proxy:
        return httpcore2.AsyncConnectionPool(**options)
    address = httpx2.Proxy(proxy)
    return httpcore2.AsyncHTTPProxy(
        str(address.url),
        proxy_auth=address.raw_auth,
        proxy_headers=address.headers.raw,
        **options,
    )
