"""Sockets that never block: they wait through the exchange that this thread works for."""

import contextlib
import functools
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, override

import httpcore2

from jenny.agent.exchange import Exchange, current
from jenny.agent.watch import Direction


class Stream(httpcore2.NetworkStream):
    """A socket that never blocks; its time limits are the exchange's, not the caller's."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._attempt(functools.partial(self._sock.recv, max_bytes), "read")
        current().received(len(data))
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
            current().enter("connecting")
            secured._attempt(sock.do_handshake, "read")
            current().enter("waiting")
        except BaseException:
            self.close()
            raise
        return secured

    @override
    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        if info == "is_readable":
            # Asked of an idle connection: readable means that the server closed it.
            return _is_readable(self._sock)
        return self._sock if info == "socket" else None

    def _attempt(self, operation: Callable[[], Any], direction: Direction) -> Any:
        """Do *operation* as soon as the socket lets it."""
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
                current().fault = "insecure"
                raise httpcore2.ConnectError from error
            except OSError as error:
                raise httpcore2.ReadError from error
            current().wait(self._sock.fileno(), needed)


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


class Backend(httpcore2.NetworkBackend):
    """Opens connections, under the exchange's limits."""

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        exchange = current()
        exchange.enter("connecting")
        addresses = _resolve(host, port, exchange)
        failure: Exception = httpcore2.ConnectError()
        for index, (family, address) in enumerate(addresses):
            try:
                # Each address gets a fair share of the time: the first may lead nowhere.
                stream = _connect(family, address, exchange, 1 / (len(addresses) - index))
            except (OSError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                exchange.enter("waiting")
                return stream
        raise httpcore2.ConnectError from failure


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
    """The host's addresses. A name is looked up in a thread of its own, since the resolver can
    neither be given a time limit nor be interrupted.
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
