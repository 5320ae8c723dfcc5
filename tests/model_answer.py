"""A request to the tests' model server, and its answer on its way out."""

import json
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

# A gate that no test opens ends the script, so that no thread of the server stays.
GATE_SECONDS = 180.0


@dataclass(eq=False)
class Request:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    # Set when the client let go of the connection before the answer was over.
    left: threading.Event = field(default_factory=threading.Event)
    # Set when the script was played to its end.
    answered: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body."""
        return json.loads(self.body)

    @property
    def system(self) -> str:
        """The system prompt's text."""
        blocks = self.json.get("system") or []
        return blocks if isinstance(blocks, str) else "\n\n".join(b["text"] for b in blocks)

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        return [tool["name"] for tool in self.json.get("tools", [])]

    def texts(self, role: str | None = None) -> list[str]:
        """All texts of the messages, or of one side's."""
        return [
            block["text"]
            for message in self.json["messages"]
            if role in (None, message["role"])
            for block in message["content"]
            if block["type"] == "text"
        ]

    def results(self) -> list[dict[str, Any]]:
        """The results of calls in the last message."""
        return [b for b in self.json["messages"][-1]["content"] if b["type"] == "tool_result"]


class Over(Exception):
    """Ends a script early."""


class Left(Exception):
    """The client let go of the connection."""


class Server(Protocol):
    """What an answer needs of its server."""

    closing: threading.Event

    def gate(self, name: str) -> threading.Event:
        """The gate of that name."""
        ...

    def new_id(self, prefix: str) -> str:
        """An id that nothing else has."""
        ...


class Answer:
    """One answer on its way, in the state that the acts left it in."""

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self.server = server
        self._connection = connection
        self._sent_headers = False
        self._is_chunked = True
        self._began = False
        self._block: str | None = None
        self._index = -1
        self._is_over = False
        self.stop_reason = "end_turn"
        self.usage: dict[str, int] = {"input_tokens": 10}
        self.must_close = False

    def headers(self, status: int, headers: dict[str, str], *, is_chunked: bool = True) -> None:
        """Send the answer's headers."""
        self._sent_headers = True
        self._is_chunked = is_chunked
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        if is_chunked:
            lines.append("transfer-encoding: chunked")
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, data: bytes) -> None:
        """Send bytes as they are; raises ``Left``."""
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise Left from error

    def write(self, data: bytes) -> None:
        """Send a piece of the body, and the headers before the first."""
        if not self._sent_headers:
            self.headers(200, {"content-type": "text/event-stream"})
        self.send(b"%x\r\n%s\r\n" % (len(data), data) if self._is_chunked else data)

    def event(self, data: Any, name: str | None = None) -> None:
        """Send an event of the stream."""
        kind = data.get("type") if isinstance(data, dict) else None
        self._began = self._began or kind == "message_start"
        self._is_over = self._is_over or kind == "message_stop"
        name = kind if name is None else name
        self.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def begin(self) -> None:
        """Send ``message_start``, once."""
        if self._began:
            return
        self._began = True
        message = {
            "id": self.server.new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**self.usage, "output_tokens": 1},
        }
        self.event({"type": "message_start", "message": message})

    def into(self, kind: str, start: dict[str, Any]) -> None:
        """Go on in the open block of that kind, or begin one."""
        self.begin()
        if kind and self._block == kind:
            return
        self._stop_block()
        self._index += 1
        self._block = kind
        self.event({"type": "content_block_start", "index": self._index, "content_block": start})

    def delta(self, delta: dict[str, Any]) -> None:
        """Send a delta of the open block."""
        self.event({"type": "content_block_delta", "index": self._index, "delta": delta})

    def stop(self, reason: str | None, output_tokens: int = 7) -> None:
        """Send the end of the message."""
        self.begin()
        self._stop_block()
        delta = {"stop_reason": reason, "stop_sequence": None}
        usage = {"output_tokens": output_tokens}
        self.event({"type": "message_delta", "delta": delta, "usage": usage})
        self.event({"type": "message_stop"})
        self._is_over = True

    def finish(self) -> None:
        """Add what a reply ends with, where the script did not."""
        if not self._is_over:
            self.stop(self.stop_reason)
        self.end_body()

    def end_body(self) -> None:
        """End the body cleanly."""
        if self._is_chunked:
            self.send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Break the connection off with a reset."""
        linger = struct.pack("ii", 1, 0)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.must_close = True

    def wait(self, event: threading.Event, seconds: float = GATE_SECONDS) -> None:
        """Wait for *event*; raises ``Left`` when the client goes meanwhile."""
        deadline = time.monotonic() + seconds
        while not event.wait(0.005):
            if select.select([self._connection], [], [], 0)[0]:
                raise Left
            if time.monotonic() > deadline:
                raise TimeoutError

    def _stop_block(self) -> None:
        if self._block is not None:
            self.event({"type": "content_block_stop", "index": self._index})
        self._block = None
