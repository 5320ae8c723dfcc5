"""Sends requests with the SDK and reads the replies. No other module uses the SDK.

All requests of a process run as tasks of one event loop, in a thread of its own. The thread of a
run waits for its task through its ``CancellationToken``, and cancels the task when it leaves.

Slow to import (1 to 1.5 seconds, 60 MB, all of it the SDK): only a process that asks models imports
it, on first use (``jenny.agent.provider``).
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import json
import logging
import ssl
import threading
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from typing import Any

import anthropic
import httpcore2
import httpx2
from anthropic.resources import AsyncMessages

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled, Malformed
from jenny.agent.limits import Limits
from jenny.agent.transport import Deadline, RefusedAddress, TooLong, Transport

# Exceptions of a connection beside the SDK's own errors.
_CONNECTION_ERRORS = (
    anthropic.APIConnectionError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,  # of the name look-up, TLS and the time limits
    RefusedAddress,
    TooLong,
)
# The kind of fault (of FAULTS) by an error in the chain of causes; the first row counts.
_FAULTS: tuple[tuple[type[BaseException], str], ...] = (
    (httpx2.InvalidURL, "bad_address"),
    (RefusedAddress, "refused_address"),
    (TooLong, "too_long"),
    (ssl.SSLCertVerificationError, "insecure"),
    (httpcore2.ConnectError, "unreachable"),
    (httpcore2.ConnectTimeout, "unreachable"),
    (TimeoutError, "silent"),
)
# A server sends the end together with the last event, or keeps the connection open.
_CLOSING_SECONDS = 0.25

# At their debug level, which ANTHROPIC_LOG turns on, these write requests into the log.
for _name in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_transport = Transport()
_http = httpx2.AsyncClient(
    transport=_transport, trust_env=False, follow_redirects=False, timeout=None
)


_loop_lock = threading.Lock()


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the process's loop. There is only one, as the connections belong to it."""
    with _loop_lock:
        return _new_event_loop()


@functools.cache
def _new_event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="models").start()
    return loop


def prepare() -> None:
    """Do now what the first request would wait for."""
    _event_loop().call_soon_threadsafe(_transport.pool, "")
    _ = _client("http://127.0.0.1").messages


class Broken(Exception):
    """The connection failed; ``Call.fault`` has the kind."""


class Refused(Exception):
    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class Call:
    """One request and its answer.

    Its methods raise ``Broken`` when the connection fails, and ``Cancelled`` when the run should
    end.
    """

    def __init__(self, base_url: str, key: str, watch: CancellationToken, limits: Limits) -> None:
        self.watch = watch
        self.is_stream = False
        # The body of an answer that is no stream.
        self.text = ""
        # The kind of fault (of FAULTS) that broke the connection.
        self.fault = ""
        self._base_url = base_url
        self._deadline = Deadline(limits)
        self._options: dict[str, Any] = {
            "extra_headers": {"Authorization": f"Bearer {key}" if key else anthropic.Omit()},
            "timeout": httpx2.Timeout(None, connect=limits.connect_seconds),
        }
        # Written by the task, read by the run's thread.
        self._task: concurrent.futures.Future[Any] | None = None
        self._is_open = False
        self._data: deque[str] = deque()

    def open(self, body: dict[str, Any]) -> None:
        """Request a reply; returns when its headers have arrived. Raises ``Refused``.

        The reply is streamed, or, with ``stream`` false in *body*, in one piece.
        """
        extra = dict(body.get("extra_body") or {})
        if body.get("stream") is False:
            # The SDK treats it as a stream too, so that it leaves the body to us.
            extra["stream"] = anthropic.Omit()
        fields = {name: body[name] for name in body if name not in ("stream", "extra_body")}
        self._start(self._receive(fields, extra or None))
        self.watch.wait_for(lambda: self._is_open or self._is_over())
        if not self._is_open:
            self._result()

    def count(self, body: dict[str, Any]) -> int:
        """Let the provider count a request's tokens. Raises ``Refused`` and ``Malformed``."""
        self._start(self._count(body))
        self.watch.wait_for(self._is_over)
        counted = self._result()
        # The SDK checks no types, and some servers answer anything with 200.
        if not isinstance(getattr(counted, "input_tokens", None), int):
            raise Malformed
        tokens: int = counted.input_tokens
        return tokens

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the reply's events as they arrive. Raises ``Malformed`` for unreadable ones.

        These are the raw events of ``create(stream=True)``: ``messages.stream()`` parses a call's
        arguments again at every delta, and builds a model of each event and a snapshot of the
        whole, of which nothing is used here; it also skips events without a name.
        """
        while True:
            self.watch.wait_for(lambda: bool(self._data) or self._is_over())
            if not self._data:
                break
            yield _parsed(self._data.popleft())
        self._result()
        if not self.is_stream:
            yield from self._whole()

    def _whole(self) -> Iterator[dict[str, Any]]:
        """Yield a reply in one piece as the events of a stream; nothing when it is none."""
        try:
            message = json.loads(self.text)
        except (ValueError, RecursionError):
            return
        blocks = message.get("content") if isinstance(message, dict) else None
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            return
        yield {"type": "message_start", "message": message}
        for index, block in enumerate(blocks):
            yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": message.get("stop_reason")},
            "usage": message.get("usage"),
        }
        yield {"type": "message_stop"}

    def drain(self) -> None:
        """Wait for the end after a complete reply, so that the connection can be reused.

        The connection is closed when the server does not end the body.
        """
        with contextlib.suppress(Cancelled):
            self.watch.wait_for(self._is_over, _CLOSING_SECONDS)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @property
    def seconds(self) -> float:
        """Return the time limit that held last."""
        return self._deadline.seconds

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        self._task = asyncio.run_coroutine_threadsafe(work, _event_loop())
        self._task.add_done_callback(lambda _: self.watch.notify())

    def _is_over(self) -> bool:
        return self._task is not None and self._task.done()

    def _result(self) -> Any:
        """Return the result of the task, which is over. Raises its error."""
        return self._task.result() if self._task is not None else None

    async def _receive(self, fields: dict[str, Any], extra: dict[str, Any] | None) -> None:
        async with self._answered():
            stream = await self._messages().create(
                **fields, stream=True, extra_body=extra, **self._options
            )
            response = stream.response
            try:
                self.is_stream = "event-stream" in response.headers.get("content-type", "")
                self._is_open = True
                self.watch.notify()
                if not self.is_stream:
                    self.text = (await response.aread()).decode(errors="replace")
                    return
                async for event in anthropic.AsyncStream.raw_events(response):
                    if event.data and event.event != "ping":
                        self._data.append(event.data)
                        self.watch.notify()
            finally:
                await response.aclose()

    async def _count(self, body: dict[str, Any]) -> Any:
        async with self._answered():
            return await self._messages().count_tokens(**body, **self._options)

    def _messages(self) -> AsyncMessages:
        if not self._base_url:
            raise httpx2.InvalidURL(self._base_url)
        return _client(self._base_url).messages

    @contextlib.asynccontextmanager
    async def _answered(self) -> AsyncIterator[None]:
        try:
            async with self._deadline.held():
                yield
        except anthropic.APIStatusError as error:
            raise Refused(error.status_code, error.response.headers, error.body) from error
        except UnicodeDecodeError as error:
            raise Malformed from error
        except (httpx2.InvalidURL, *_CONNECTION_ERRORS) as error:
            self.fault = _fault_of(error)
            raise Broken from error


def _fault_of(error: BaseException) -> str:
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for kind, fault in _FAULTS:
        if any(isinstance(cause, kind) for cause in causes):
            return fault
    return "dropped"


@functools.lru_cache(maxsize=64)
def _client(base_url: str) -> anthropic.AsyncAnthropic:
    """Return the SDK's client for an address, over the shared connections.

    It has no key, as keys are sent with each request; ``api_key=""`` also keeps the SDK from
    searching for one in the environment and in files. Redirects are not followed, so a key cannot
    leave for another origin.
    """
    return anthropic.AsyncAnthropic(
        api_key="",
        base_url=base_url,
        http_client=_http,
        max_retries=0,
        open_telemetry=False,
        # A compressed stream would arrive in bursts.
        default_headers={"Accept-Encoding": "identity"},
    )


def _parsed(data: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(value, dict):
        raise Malformed
    return value
