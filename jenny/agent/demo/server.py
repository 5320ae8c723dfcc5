"""The demo model's server: the Messages API on loopback, in a thread of the process."""

import http.server
import json
import math
import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, override

from jenny.agent.demo import rules
from jenny.agent.demo.request import (
    BadRequest,
    Call,
    DemoRequest,
    Piece,
    Say,
    Think,
    parse_request,
)

# Seconds between two words: about as fast as one reads.
PACE = 0.012
_MAX_REQUEST_BYTES = 64 * 1024 * 1024
_IDLE_SECONDS = 300.0
_MODEL = "demo"


@dataclass(frozen=True, slots=True)
class DemoServer:
    url: str
    _http: http.server.ThreadingHTTPServer

    def close(self) -> None:
        """Stop answering; unfinished replies are cut off when the process ends."""
        self._http.shutdown()
        self._http.server_close()


def serve(*, pace: float = PACE) -> DemoServer:
    """Start a server on a free port of loopback; *pace* is in seconds per word."""
    server = _Server(pace)
    threading.Thread(target=server.serve_forever, daemon=True, name="demo model").start()
    return DemoServer(f"http://127.0.0.1:{server.server_address[1]}", server)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pace: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pace = pace
        # Set when it closes; replies wait on it between words.
        self.closing = threading.Event()

    @override
    def server_close(self) -> None:
        self.closing.set()
        super().server_close()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect during a reply: this is how a person stops one."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: _Server

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if size > _MAX_REQUEST_BYTES:
            self.close_connection = True
            self._json(413, _error("request_too_large", "The request is too large."))
            return
        try:
            body = self.rfile.read(size)
            asked = parse_request(body)
        except (BadRequest, KeyError, TypeError, AttributeError, IndexError) as error:
            message = str(error) if isinstance(error, BadRequest) else "The request is malformed."
            self._json(400, _error("invalid_request_error", message))
            return
        tokens = _tokens(body.decode(errors="replace"))
        if self.path.partition("?")[0] == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": tokens})
        elif self.path.partition("?")[0] == "/v1/messages":
            self._stream(asked, tokens)
        else:
            self._json(404, _error("not_found_error", "There is nothing at this address."))

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Do not log: the client logs its requests."""

    def _json(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, asked: DemoRequest, tokens: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in _events(rules.answer(asked), tokens):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if event["type"] == "content_block_delta" and self.server.pace:
                self.server.closing.wait(self.server.pace)
        self.wfile.write(b"0\r\n\r\n")


def _events(pieces: list[Piece], tokens: int) -> Iterator[dict[str, Any]]:
    message: dict[str, Any] = {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    written = 0
    for index, (start, deltas) in enumerate(_blocks(pieces)):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            written += _tokens(json.dumps(delta))
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any(isinstance(piece, Call) for piece in pieces) else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": written},
    }
    yield {"type": "message_stop"}


def _blocks(pieces: list[Piece]) -> Iterator[tuple[dict[str, Any], Iterator[dict[str, Any]]]]:
    """Yield each block's start and its deltas; adjacent texts are one block."""
    text = ""
    for piece in [*pieces, None]:
        if isinstance(piece, Say):
            text += piece.text
            continue
        if text:
            words = ({"type": "text_delta", "text": word} for word in _words(text))
            yield {"type": "text", "text": ""}, words
            text = ""
        if isinstance(piece, Think):
            yield {"type": "thinking", "thinking": "", "signature": ""}, _thinking(piece)
        elif isinstance(piece, Call):
            id_ = f"toolu_{secrets.token_hex(12)}"
            start = {"type": "tool_use", "id": id_, "name": piece.name, "input": {}}
            json_text = json.dumps(piece.arguments)
            yield start, iter([{"type": "input_json_delta", "partial_json": json_text}])


def _thinking(piece: Think) -> Iterator[dict[str, Any]]:
    for word in _words(piece.text):
        yield {"type": "thinking_delta", "thinking": word}
    yield {"type": "signature_delta", "signature": secrets.token_hex(16)}


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*?(?=\s|\Z)|\s+\Z", text)


def _tokens(text: str) -> int:
    return math.ceil(len(text) / 4)


def _error(type_: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type_, "message": message}}
