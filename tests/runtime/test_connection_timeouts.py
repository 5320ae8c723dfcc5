"""Clients that send their requests a byte at a time, or not at all, hold no connection for long."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from jenny.runtime.connection_timeouts import TimeoutProtocol
from tests.support.waiting import wait_until

BODY = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4096\r\n\r\n"


class Impatient(TimeoutProtocol):
    """Waits for a moment only."""

    head_seconds = 0.3
    body_seconds = 0.3


class Patient(TimeoutProtocol):
    """Waits for what a busy machine needs to send a little."""

    head_seconds = 3.0
    body_seconds = 3.0


async def echo(scope, receive, send) -> None:
    """Answer with the number of bytes that came."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(size).encode()
    fields = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of little patience."""
    with served(Impatient) as port:
        yield port


@pytest.fixture(scope="module")
def patient_port() -> Iterator[int]:
    """A server that waits for what is on its way."""
    with served(Patient) as port:
        yield port


@contextlib.contextmanager
def served(protocol: type[TimeoutProtocol]) -> Iterator[int]:
    """A server with these times."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        echo, http=protocol, lifespan="off", ws="none", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    listener.close()


@contextlib.contextmanager
def line_to(port: int) -> Iterator[socket.socket]:
    """A connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        yield line


def is_ended(line: socket.socket) -> bool:
    """Whether the server has let go of the connection."""
    try:
        return line.recv(65536) == b""
    except ConnectionError:
        return True


def trickle(line: socket.socket, text: bytes, until: threading.Event) -> None:
    """Send *text* again and again, a byte at a time."""
    with contextlib.suppress(OSError):
        while True:
            for at in range(len(text)):
                line.sendall(text[at : at + 1])
                if until.wait(0.02):
                    return


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\n", b""),
        (b"GET / HTTP/1.1\r\n", b"x-slow: 1\r\n"),
        (b"", b"\r\n"),
        (BODY, b""),
        (BODY, b"x"),
    ],
    ids=["nothing", "half a head", "a head that trickles", "empty lines", "no body", "a body"],
)
def test_a_request_that_does_not_come_is_not_waited_for(port, first, then):
    """Whether it says nothing or a byte now and then, the connection is closed."""
    over = threading.Event()
    with line_to(port) as line:
        line.sendall(first)
        sender = threading.Thread(target=trickle, args=(line, then, over))
        if then:
            sender.start()
        assert is_ended(line)
        over.set()
        if then:
            sender.join()


def test_a_connection_that_was_used_well_is_not_kept_by_empty_lines(patient_port):
    """After an answer, what is no request keeps it no longer."""
    over = threading.Event()
    with line_to(patient_port) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(lambda: b"\r\n\r\n0" in line.recv(65536, socket.MSG_PEEK), what="the answer")
        line.recv(65536)
        sender = threading.Thread(target=trickle, args=(line, b"\r\n", over))
        sender.start()
        assert is_ended(line)
        over.set()
        sender.join()


def test_a_head_without_end_is_not_taken_in(port):
    """However quickly it comes."""
    with line_to(port) as line, contextlib.suppress(ConnectionError):
        line.sendall(b"GET / HTTP/1.1\r\nx-long: ")
        for _ in range(1_000):
            line.sendall(b"x" * 10_000)
        pytest.fail("ten megabytes were taken in")


def test_a_body_that_comes_slowly_is_waited_for(patient_port):
    """A person on a bad line sends a file: it takes longer than any of the times, and arrives."""
    pause = threading.Event()
    with line_to(patient_port) as line:
        line.sendall(BODY.replace(b"4096", b"24576"))
        for _ in range(12):
            line.sendall(b"x" * 2048)
            pause.wait(0.3)
        assert line.recv(65536).endswith(b"\r\n\r\n24576")


def test_the_running_product_is_as_impatient(scripted):
    """What it serves with is this."""
    with line_to(scripted.port) as line, contextlib.suppress(ConnectionError):
        line.sendall(b"GET / HTTP/1.1\r\nx-long: ")
        for _ in range(1_000):
            line.sendall(b"x" * 10_000)
        pytest.fail("ten megabytes were taken in")
