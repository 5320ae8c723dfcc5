"""The process's connections to providers: pooled, never blocking, with limits for each request.

The SDK's own timeouts restart with every read, and its calls cannot be interrupted from outside. So
the sockets here never block: all waiting is done by the request's exchange,
which has the run's ``CancellationToken`` and the limits of that request. That covers every stage:
name look-up, connecting, the TLS handshake, sending, silence before the headers.

Slow to import, as it needs the SDK's HTTP library: see ``jenny.agent.client``.
"""

import contextlib
import functools
import ipaddress
import os
import select
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, override

import httpcore2
import httpx2

from jenny.agent.addresses import Address, is_refused_number
from jenny.agent.cancellation import CancellationToken, Direction
from jenny.agent.limits import Limits

# Bytes of one reply, as protection against a server that never ends; 128,000 tokens in events of
# one token are about 16 MB.
MAX_REPLY_BYTES = 48 * 1024 * 1024

# "closing": the reply is over, and only the end of the body is awaited.
type Stage = Literal["connecting", "waiting", "reading", "closing"]

# A server sends the end together with the last event, or keeps the connection open.
_CLOSING_SECONDS = 0.25


class Exchange:
    """One request and its reply: the time limit of each stage, and the present stage."""

    def __init__(self, watch: CancellationToken, limits: Limits) -> None:
        self._watch = watch
        self._limits = limits
        self._received = 0
        # The kind of fault (of FAULTS), where only this class knows it.
        self.fault = ""
        self.stage: Stage = "waiting"
        self.enter("waiting")

    def enter(self, stage: Stage) -> None:
        """Enter a stage; its time starts now."""
        self.stage = stage
        self._deadline = time.monotonic() + self.seconds

    @property
    def seconds(self) -> float:
        """Return the limit of the present stage (``reading``: from one byte to the next)."""
        if self.stage == "connecting":
            return self._limits.connect_seconds
        if self.stage == "waiting":
            return self._limits.first_byte_seconds
        if self.stage == "closing":
            return _CLOSING_SECONDS
        return self._limits.between_bytes_seconds

    def received(self, size: int) -> None:
        """Count received bytes; those of the body restart its time."""
        self._received += size
        if self._received > MAX_REPLY_BYTES:
            self.fault = "too_long"
            raise httpcore2.ReadError
        if self.stage == "reading":
            self.enter("reading")

    def wait(self, fileno: int, direction: Direction, share: float = 1.0) -> None:
        """Wait for a socket, for at most *share* of the time that the stage has left."""
        left = (self._deadline - time.monotonic()) * share
        if left <= 0 or not self._watch.wait(fileno, direction, left):
            if self.stage == "connecting":
                raise httpcore2.ConnectTimeout
            self.fault = "silent"
            raise httpcore2.ReadTimeout

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Make this thread's sockets wait through this exchange."""
        before = getattr(_bound, "exchange", None)
        _bound.exchange = self
        try:
            yield
        finally:
            _bound.exchange = before


_bound = threading.local()


def current_exchange() -> Exchange:
    exchange: Exchange = _bound.exchange
    return exchange


class Stream(httpcore2.NetworkStream):
    """A socket that never blocks; its time limits are the exchange's, not the caller's."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._attempt(functools.partial(self._sock.recv, max_bytes), "read")
        current_exchange().received(len(data))
        return data

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        while view:
            view = view[self._attempt(functools.partial(self._sock.send, view), "write") :]

    @override
    def close(self) -> None:
        self._sock.close()

    @override
    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            sock = ssl_context.wrap_socket(
                self._sock,
                server_hostname=server_hostname,
                do_handshake_on_connect=False,
            )
            secured = Stream(sock)
            current_exchange().enter("connecting")
            secured._attempt(sock.do_handshake, "read")
            current_exchange().enter("waiting")
        except BaseException:
            self.close()
            raise
        return secured

    @override
    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        if info == "is_readable":
            # Called for an idle connection: readable means that the server closed it.
            return _is_readable(self._sock)
        return self._sock if info == "socket" else None

    def _attempt(self, operation: Callable[[], Any], direction: Direction) -> Any:
        """Do *operation* as soon as the socket allows it."""
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                needed: Direction = "read"
            except ssl.SSLWantWriteError:
                needed = "write"
            except BlockingIOError:
                needed = direction
            except ssl.SSLCertVerificationError as error:
                current_exchange().fault = "insecure"
                raise httpcore2.ConnectError from error
            except OSError as error:
                raise httpcore2.ReadError from error
            current_exchange().wait(self._sock.fileno(), needed)


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


class Backend(httpcore2.NetworkBackend):
    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        exchange = current_exchange()
        exchange.enter("connecting")
        found = _resolve(host, port, exchange)
        addresses = [row for row in found if not is_refused_number(_number(row))]
        if found and not addresses:
            exchange.fault = "refused_address"
        failure: Exception = httpcore2.ConnectError()
        for index, (family, address) in enumerate(addresses):
            try:
                # Each address gets an equal share of the time, since the first may not answer.
                stream = _connect(family, address, exchange, 1 / (len(addresses) - index))
            except (OSError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                exchange.enter("waiting")
                return stream
        raise httpcore2.ConnectError from failure


def _number(row: tuple[int, Any]) -> Address:
    """Return the IP address to be asked, after checking it.

    A name is checked here, at each connection, since it may resolve to another address each time.
    """
    return ipaddress.ip_address(row[1][0])


def _connect(family: int, address: Any, exchange: Exchange, share: float) -> Stream:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with contextlib.suppress(BlockingIOError):
            sock.connect(address)
        exchange.wait(sock.fileno(), "write", share)
        _check(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except BaseException:
        sock.close()
        raise
    return Stream(sock)


def _check(error: int) -> None:
    if error:
        raise OSError(error, os.strerror(error))


def _resolve(host: str, port: int, exchange: Exchange) -> list[tuple[int, Any]]:
    """Return the host's addresses.

    A name is resolved in a thread of its own, since the resolver has no timeout and cannot be
    interrupted.
    """
    with contextlib.suppress(socket.gaierror):
        return _lookup(host, port, socket.AI_NUMERICHOST)
    found: list[tuple[int, Any]] = []
    done, finished = os.pipe()

    def look_up() -> None:
        with contextlib.suppress(OSError, UnicodeError):
            found.extend(_lookup(host, port, 0))
        os.close(finished)

    threading.Thread(target=look_up, daemon=True, name="look up").start()
    try:
        # Closing its end of the pipe makes this one readable.
        exchange.wait(done, "read")
    finally:
        os.close(done)
    return found


def _lookup(host: str, port: int, flags: int) -> list[tuple[int, Any]]:
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in rows]


# Other headers are dropped: the SDK adds a description of this machine, and headers from an
# environment variable of its own.
_HEADERS_SENT = frozenset(
    b"host accept accept-encoding anthropic-beta anthropic-version authorization connection "
    b"content-length content-type user-agent".split()
)
_KEEP_IDLE_SECONDS = 90.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Body(httpx2.SyncByteStream):
    """A reply's body, read under its exchange in every thread."""

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
            stream=_Body(response.stream, current_exchange()),
        )

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def prepare(self) -> None:
        """Create the pool without proxy, which also reads the certificates."""
        self._pool("")

    def _pool(self, proxy: str) -> httpcore2.ConnectionPool:
        with self._lock:
            pool = self._pools.get(proxy)
            if pool is None:
                pool = self._pools[proxy] = _new_pool(proxy)
        return pool


def _proxy_for(url: httpx2.URL) -> str:
    """Return the proxy that the environment names for this address, or "".

    Only TLS requests use it: otherwise the proxy could read the key.
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
