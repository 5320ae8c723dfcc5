"""Sends requests with the SDK and reads the replies. No other module uses the SDK.

Slow to import (1 to 1.5 seconds, 60 MB, all of it the SDK): only a process that asks models imports
it, on first use (``jenny.agent.provider``).
"""

import contextlib
import functools
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import anthropic
import httpcore2
import httpx2
from anthropic.resources import Messages

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled, Malformed
from jenny.agent.limits import Limits
from jenny.agent.transport import Exchange, Transport

# Exceptions of a connection beside the SDK's own errors.
_CONNECTION_ERRORS = (
    anthropic.APIConnectionError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpx2.HTTPError,
    httpx2.StreamError,
    Cancelled,
)

# At their debug level, which ANTHROPIC_LOG turns on, these write requests into the log.
for _name in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_transport = Transport()
_http = httpx2.Client(transport=_transport, trust_env=False, follow_redirects=False, timeout=None)


def prepare() -> None:
    """Do now what the first request would wait for."""
    _transport.prepare()
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

    All its methods raise ``Broken`` when the connection fails, which also happens when the run is
    cancelled: check the token first.
    """

    def __init__(self, base_url: str, key: str, watch: CancellationToken, limits: Limits) -> None:
        self.watch = watch
        self._exchange = Exchange(watch, limits)
        self._response: httpx2.Response | None = None
        self._events: Iterator[Any] = iter(())
        # The body of an answer that is no stream.
        self.text = ""
        self._base_url = base_url
        self._headers: dict[str, Any] = {
            "Authorization": f"Bearer {key}" if key else anthropic.Omit()
        }

    def open(self, body: dict[str, Any]) -> None:
        """Request a reply; returns when its headers have arrived. Raises ``Refused``.

        The reply is streamed, or, with ``stream`` false in *body*, in one piece.
        """
        extra = dict(body.get("extra_body") or {})
        if body.get("stream") is False:
            # The SDK treats it as a stream too, so that it leaves the body to us.
            extra["stream"] = anthropic.Omit()
        fields = {name: body[name] for name in body if name not in ("stream", "extra_body")}
        with self._answered():
            stream = self._messages().create(
                **fields, stream=True, extra_headers=self._headers, extra_body=extra or None
            )
            self._response = stream.response
            if self.is_stream:
                self._events = anthropic.Stream.raw_events(stream.response)

    def count(self, body: dict[str, Any]) -> int:
        """Let the provider count a request's tokens. Raises ``Refused`` and ``Malformed``."""
        with self._answered():
            counted = self._messages().count_tokens(**body, extra_headers=self._headers)
        # The SDK checks no types, and some servers answer anything with 200.
        if not isinstance(getattr(counted, "input_tokens", None), int):
            raise Malformed
        return counted.input_tokens

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the reply's events as they arrive. Raises ``Malformed`` for unreadable ones.

        These are the raw events of ``create(stream=True)``: ``messages.stream()`` parses a call's
        arguments again at every delta, and builds a model of each event and a snapshot of the
        whole, of which nothing is used here; it also skips events without a name.
        """
        try:
            if not self.is_stream:
                yield from self._whole()
                return
            for event in self._events:
                if event.data and event.event != "ping":
                    yield _parsed(event.data)
        except UnicodeDecodeError as error:
            raise Malformed from error
        except _CONNECTION_ERRORS as error:
            raise Broken from error

    def _whole(self) -> Iterator[dict[str, Any]]:
        """Yield a reply in one piece as the events of a stream; nothing when it is none."""
        if self._response is None:
            return
        self.text = self._response.read().decode(errors="replace")
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
        """Read the rest after a complete reply, so that the connection can be reused.

        The connection is closed when the server does not end the body.
        """
        if not self.is_stream:
            return
        self._exchange.enter("closing")
        with contextlib.suppress(Broken, Malformed):
            for _ in self.events():
                pass

    def close(self) -> None:
        if self._response is not None:
            self._response.close()

    @property
    def is_stream(self) -> bool:
        kind = self._response.headers.get("content-type", "") if self._response else ""
        return "event-stream" in kind

    @property
    def fault(self) -> str:
        """Return the kind of fault (of ``FAULTS``) that broke the connection."""
        if self._exchange.fault:
            return self._exchange.fault
        return "unreachable" if self._exchange.stage == "connecting" else "dropped"

    @property
    def seconds(self) -> float:
        return self._exchange.seconds

    def _messages(self) -> Messages:
        if not self._base_url:
            raise httpx2.InvalidURL(self._base_url)
        return _client(self._base_url).messages

    @contextlib.contextmanager
    def _answered(self) -> Iterator[None]:
        try:
            with self._exchange.bound():
                yield
        except anthropic.APIStatusError as error:
            raise Refused(error.status_code, error.response.headers, error.body) from error
        except httpx2.InvalidURL as error:
            self._exchange.fault = "bad_address"
            raise Broken from error
        except _CONNECTION_ERRORS as error:
            raise Broken from error


@functools.lru_cache(maxsize=64)
def _client(base_url: str) -> anthropic.Anthropic:
    """Return the SDK's client for an address, over the shared connections.

    It has no key, as keys are sent with each request; ``api_key=""`` also keeps the SDK from
    searching for one in the environment and in files. Redirects are not followed, so a key cannot
    leave for another origin.
    """
    return anthropic.Anthropic(
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
