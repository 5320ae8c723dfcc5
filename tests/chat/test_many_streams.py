"""Many pages at once: every one of them has its stream."""

import contextlib
import resource
import selectors
import socket

import psutil

from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack
from tests.support.waiting import wait_until

# More than a pool of connections usually holds, and, with a connection to Valkey for each, more
# than the number of open files that a shell allows.
PAGES = 140
FEW_FILES = 200


def opened(stack: Stack, chat: str, person: Client) -> socket.socket:
    """An open event source of *chat*, read by nobody."""
    cookies = "; ".join(f"{name}={value}" for name, value in person.http.cookies.items())
    line = socket.create_connection(("127.0.0.1", stack.port), timeout=60)
    request = (
        f"GET /chat/{chat}/events?after={person.position(chat)} HTTP/1.1\r\n"
        f"Host: 127.0.0.1\r\nCookie: {cookies}\r\nAccept: text/event-stream\r\n\r\n"
    )
    line.sendall(request.encode())
    return line


def received(lines: dict[socket.socket, bytes], selector: selectors.BaseSelector) -> None:
    """Read what has come in so far."""
    for key, _ in selector.select(0):
        assert isinstance(key.fileobj, socket.socket)
        lines[key.fileobj] += key.fileobj.recv(65536)


def test_each_of_many_pages_hears_what_is_said(start_stack):
    """A chat that is open in 140 tabs and windows shows a new message in every one, also where
    a process may open few files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, hard))
    try:
        stack = start_stack(has_owner=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    person = Client(stack.url).login(OWNER, PASSWORD)
    chat = person.begin("/help")
    with contextlib.ExitStack() as open_lines, selectors.DefaultSelector() as selector:
        lines: dict[socket.socket, bytes] = {}
        for _ in range(PAGES):
            line = open_lines.enter_context(opened(stack, chat, person))
            lines[line] = b""
            selector.register(line, selectors.EVENT_READ)

        def told(words: bytes) -> bool:
            received(lines, selector)
            return all(words in text for text in lines.values())

        wait_until(lambda: told(b"retry:"), what="every stream to open")
        person.send(chat, "/status")
        wait_until(lambda: told(b"/status"), what="every page to hear of the message")
        web = psutil.Process(stack.pids()["web"])
        assert web.num_fds() > FEW_FILES
        # None of them keeps a thread that waits with it.
        wait_until(lambda: web.num_threads() < PAGES / 4, what="the threads to be given back")
