"""The one place that uses the SDK: sends a request, and reads what comes back.

Costly to import (1 to 1.5 seconds, 60 MB, all of it the SDK): only a process that asks models
imports it, on first use (``jenny.agent.provider``).
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

from jenny.agent.errors import Cancelled, Malformed
from jenny.agent.exchange import Exchange
from jenny.agent.limits import Limits
from jenny.agent.transport import Transport
from jenny.agent.watch import Watch

# What can come out of a connection beside the SDK's own errors.
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
    """The connection failed; ``Call.fault`` says how."""


class Refused(Exception):
    """The server answered with a status that is no success."""

    def __init__(self, status: int, headers: Mapping[str, str], body: object) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class Call:
    """One request and its answer. All its methods raise ``Broken`` when the connection fails,
    which is also how a cancelled run shows: ask the watch first.
    """

    def __init__(self, base_url: str, key: str, watch: Watch, limits: Limits) -> None:
        self.watch = watch
        self._exchange = Exchange(watch, limits)
        self._response: httpx2.Response | None = None
        self._events: Iterator[Any] = iter(())
        self._base_url = base_url
        self._headers: dict[str, Any] = {
            "Authorization": f"Bearer {key}" if key else anthropic.Omit()
        }

    def open(self, body: dict[str, Any]) -> None:
        """Ask for a streamed reply; returns when its headers are there. Raises ``Refused``."""
        with self._answered():
            stream = self._messages().create(**body, stream=True, extra_headers=self._headers)
            self._response = stream.response
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
        """The reply's events as they come. Raises ``Malformed`` for what cannot be read.

        These are the raw events of ``create(stream=True)``: ``messages.stream()`` parses a
        call's arguments anew at every delta, and builds a model of each event and a snapshot of
        the whole, of which nothing is used here; it also skips events without a name.
        """
        try:
            for event in self._events:
                if event.data and event.event != "ping":
                    yield _parsed(event.data)
        except UnicodeDecodeError as error:
            raise Malformed from error
        except _CONNECTION_ERRORS as error:
            raise Broken from error

    def drain(self) -> None:
        """Take in what follows a reply that is over, so that the connection can serve again;
        a server that keeps it open has its connection closed instead.
        """
        self._exchange.enter("closing")
        with contextlib.suppress(Broken, Malformed):
            for _ in self.events():
                pass

    def close(self) -> None:
        """Let go of the connection."""
        if self._response is not None:
            self._response.close()

    @property
    def is_stream(self) -> bool:
        """Whether the answer says it is a stream of events."""
        kind = self._response.headers.get("content-type", "") if self._response else ""
        return "event-stream" in kind

    @property
    def fault(self) -> str:
        """The kind of fault (of ``FAULTS``) that broke the connection."""
        if self._exchange.fault:
            return self._exchange.fault
        return "unreachable" if self._exchange.stage == "connecting" else "dropped"

    @property
    def seconds(self) -> float:
        """The time limit of the stage that it is in."""
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
    """The SDK's client for an address, over the shared connections.

    It is given no key, as keys go with each request. Saying so with ``api_key=""`` also keeps
    the SDK from looking for one in the environment and in files. Redirects are not followed,
    so a key cannot leave for another origin.
    """
    return anthropic.Anthropic(
        api_key="",
        base_url=base_url,
        http_client=_http,
        max_retries=0,
        open_telemetry=False,
        # A compressed stream would come in gusts.
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
