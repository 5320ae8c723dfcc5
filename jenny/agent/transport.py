"""The process's connections to providers, pooled and shared by its threads.

Costly to import, as it brings the SDK's HTTP library: see ``jenny.agent.client``.
"""

import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import httpcore2
import httpx2

from jenny.agent.exchange import Exchange, current
from jenny.agent.sockets import Backend

# Only what is meant to be sent leaves: the SDK adds what describes this machine, and headers
# from an environment variable of its own.
_HEADERS_SENT = frozenset(
    b"host accept accept-encoding anthropic-beta anthropic-version authorization connection "
    b"content-length content-type user-agent".split()
)
_KEEP_IDLE_SECONDS = 90.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Body(httpx2.SyncByteStream):
    """A reply's body, read under its exchange wherever it is read."""

    def __init__(self, stream: Any, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._stream)
        while True:
            with self._exchange.bound():
                chunk = next(chunks, None)
            if chunk is None:
                return
            if self._exchange.stage == "waiting":
                self._exchange.enter("reading")
            yield chunk

    def close(self) -> None:
        self._stream.close()


class Transport(httpx2.BaseTransport):
    """The process's connections, for all its threads."""

    def __init__(self) -> None:
        self._pools: dict[str, httpcore2.ConnectionPool] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raises ``httpcore2`` errors, and ``Cancelled``."""
        url = request.url
        response = self._pool(_proxy_for(url)).handle_request(
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
            )
        )
        return httpx2.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response.stream, current()),
        )

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()

    def prepare(self) -> None:
        """Make the pool that needs no proxy, and with it read the certificates."""
        self._pool("")

    def _pool(self, proxy: str) -> httpcore2.ConnectionPool:
        with self._lock:
            pool = self._pools.get(proxy)
            if pool is None:
                pool = self._pools[proxy] = _new_pool(proxy)
        return pool


def _proxy_for(url: httpx2.URL) -> str:
    """The proxy that the environment names for this address, or "". Only TLS goes through
    one: it would read the key otherwise.
    """
    if url.scheme != "https" or url.host in _LOOPBACK or urllib.request.proxy_bypass(url.host):
        return ""
    return urllib.request.getproxies().get("https", "")


def _new_pool(proxy: str) -> httpcore2.ConnectionPool:
    options: dict[str, Any] = {
        "ssl_context": httpx2.create_ssl_context(),
        "max_connections": 1000,
        "max_keepalive_connections": 100,
        "keepalive_expiry": _KEEP_IDLE_SECONDS,
        "network_backend": Backend(),
    }
    if not proxy:
        return httpcore2.ConnectionPool(**options)
    address = httpx2.Proxy(proxy)
    return httpcore2.HTTPProxy(
        str(address.url),
        proxy_auth=address.raw_auth,
        proxy_headers=address.headers.raw,
        **options,
    )
