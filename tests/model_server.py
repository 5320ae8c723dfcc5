"""A model's server for tests: the Messages API over real HTTP on loopback, by script.

    with ModelServer() as server:
        server.script(Say("Hello "), Gate("more"), Say("there."))   # answers one request
        …                                                           # drive the product
        server.open("more")                                         # in place of sleeping
        assert server.requests[0].json["model"] == "m"

A script is a list of acts, played in order. The answer's headers, ``message_start`` and the
end are added by themselves: a script that neither fails nor ends otherwise stops with
``end_turn`` (``tool_use`` after a call). Several scripts answer several requests in turn;
``when`` binds one to the requests that it is meant for, and ``always`` one for as long as the
server lives. A request that nobody has a script for is answered with "ok".
"""

import contextlib
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from tests.model_acts import (
    Act,
    Call,
    Cut,
    Drop,
    Event,
    Fail,
    Gate,
    Headers,
    Pause,
    Raw,
    Say,
    Silence,
    Stop,
    Think,
    Usage,
)
from tests.model_answer import Answer, Left, Over, Request

__all__ = [
    "Act",
    "Call",
    "Cut",
    "Drop",
    "Event",
    "Fail",
    "Gate",
    "Headers",
    "ModelServer",
    "Pause",
    "Raw",
    "Request",
    "Say",
    "Silence",
    "Stop",
    "Think",
    "Usage",
]

type Rule = Callable[[Request], bool]
type Script = Sequence[Act]


class ModelServer:
    """The server; a context manager. *tls*: a context to speak TLS with."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.closing = threading.Event()
        # What ``count_tokens`` answers; ``None``: the server cannot count.
        self.token_count: int | None = None
        self._scripts: list[tuple[Rule | None, Script]] = []
        self._rules: list[tuple[Rule, Script]] = []
        self._gates: dict[str, threading.Event] = {}
        self._changed = threading.Condition()
        self._ids = 0
        self._http = _Http(self)
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True, name="model server"
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def script(self, *acts: Act | str, when: Rule | None = None) -> None:
        """Answer one more request; with *when*, one that it says yes to."""
        with self._changed:
            self._scripts.append((when, _script(acts)))

    def always(self, when: Rule, *acts: Act | str) -> None:
        """Answer every request that *when* says yes to, and leave the other scripts alone."""
        with self._changed:
            self._rules.append((when, _script(acts)))

    def open(self, name: str) -> None:
        """Open a gate."""
        self.gate(name).set()

    def gate(self, name: str) -> threading.Event:
        """The gate of that name."""
        with self._changed:
            return self._gates.setdefault(name, threading.Event())

    def wait_for(self, count: int, seconds: float = 60.0) -> list[Request]:
        """The requests, as soon as there are *count*."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, seconds), (
                f"{len(self.requests)} requests came in, not {count}"
            )
            return list(self.requests)

    def connections(self) -> int:
        """How many connections were made to it."""
        return self._http.count

    def hang_up(self) -> None:
        """Close the connections that wait for a further request."""
        self._http.hang_up()

    def new_id(self, prefix: str) -> str:
        """An id that this server gave to nothing else."""
        with self._changed:
            self._ids += 1
            return f"{prefix}_{self._ids:04}"

    def take(self, request: Request) -> Script:
        """Record a request, and take the script that answers it."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            for rule, script in self._rules:
                if rule(request):
                    return script
            for index, (rule_or_none, script) in enumerate(self._scripts):
                if rule_or_none is None or rule_or_none(request):
                    del self._scripts[index]
                    return script
        return [Say("ok")]


def _script(acts: Iterable[Act | str]) -> Script:
    return [Say(act) if isinstance(act, str) else act for act in acts]


class _Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, model: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.count = 0
        self._open: list[Any] = []

    def get_request(self) -> tuple[Any, Any]:
        """Take a connection, and count it."""
        self.count += 1
        connection, address = super().get_request()
        self._open.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """Close all connections."""
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that break off are what is tested."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        """Answer by script."""
        model = self.server.model
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        answer = Answer(model, self.connection)
        try:
            if self.path.endswith("/count_tokens"):
                self._count(answer)
                return
            for act in model.take(request):
                act.play(answer)
            answer.finish()
        except Over:
            pass
        except Left:
            request.left.set()
            answer.must_close = True
        finally:
            request.answered.set()
            self.close_connection = self.close_connection or answer.must_close

    def do_GET(self) -> None:
        """Nothing is to be had by GET; it is recorded."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.model.requests.append(Request("GET", self.path, headers, b""))
        self.send_error(404)

    def log_message(self, *args: Any) -> None:
        """Keep the tests' output clean."""

    def _count(self, answer: Answer) -> None:
        if self.server.model.token_count is None:
            Fail(404, "not_found_error").play(answer)
        body = json.dumps({"input_tokens": self.server.model.token_count}).encode()
        answer.headers(200, {"content-length": str(len(body))}, is_chunked=False)
        answer.send(body)
