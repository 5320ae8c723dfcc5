"""A model at an endpoint that speaks the Messages API."""

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jenny.agent import faults, request
from jenny.agent.errors import Malformed, ProviderFault
from jenny.agent.events import Counted, Event, Note, StepEnd
from jenny.agent.limits import Limits
from jenny.agent.messages import Message
from jenny.agent.preset import Endpoint, Preset
from jenny.agent.reply import Reply
from jenny.agent.tokens import Usage
from jenny.agent.watch import Watch

if TYPE_CHECKING:
    from jenny.agent.client import Call

__all__ = ["Endpoint", "Preset", "Provider", "warm"]

logger = logging.getLogger(__name__)

# How long it is remembered that a model refuses a parameter; a local server may be replaced.
_REMEMBER_SECONDS = 3600.0
_NOTHING = request.Without()


class Provider:
    """A model at an endpoint. Cheap to make; connections are the process's."""

    def __init__(self, endpoint: Endpoint, preset: Preset) -> None:
        self.endpoint = endpoint
        self.preset = preset

    def stream(
        self,
        *,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: Watch,
        limits: Limits,
    ) -> Generator[Event, None, None]:
        """Ask for one reply and tell it as it comes in; ``StepEnd`` comes last.

        A parameter that the model refuses is left out, with a ``Note``. Raises
        ``ProviderFault``, or ``Cancelled`` when the watch says so; close the iterator when it
        is left early.
        """
        self._heed(watch)
        if self.endpoint.meter is not None and self.endpoint.meter.is_spent():
            watch.cancel("spent")
        counted: Usage | None = None
        try:
            for event in self._streamed(system, messages, tools, watch, limits):
                if isinstance(event, Counted | StepEnd):
                    counted = event.usage
                yield event
        finally:
            # What was counted costs, also when nothing comes of it.
            if counted is not None and self.endpoint.meter is not None:
                self.endpoint.meter.count(self.preset, counted)

    def counted_as(self, kind: str) -> "Provider":
        """The same model, asked in another kind of run."""
        meter = self.endpoint.meter
        if meter is None:
            return self
        return Provider(replace(self.endpoint, meter=meter.of(kind)), self.preset)

    def _streamed(
        self,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: Watch,
        limits: Limits,
    ) -> Generator[Event, None, None]:
        while True:
            without = _refused.get(self._name)
            body = request.build(
                self.preset,
                system=system,
                messages=messages,
                tools=tools,
                max_tokens=limits.reply_tokens(self.preset.max_tokens),
                without=without,
            )
            watch.check()
            call = _sdk().Call(self.endpoint.url, self.endpoint.key, watch, limits)
            with contextlib.closing(call):
                less = self._open(call, body, without)
                if less is None:
                    yield from self._read(call, watch)
                    return
            _refused.put(self._name, less)
            yield Note(less.said(without, host=self.host, model=self.preset.model))

    def count_tokens(
        self,
        *,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: Watch,
        limits: Limits,
    ) -> int | None:
        """How many tokens a request is, by the provider's count; ``None`` when it does not
        count (many local servers) or does not answer. Raises ``Cancelled``.
        """
        self._heed(watch)
        watch.check()
        without = _refused.get(self._name)
        body = request.build(
            self.preset,
            system=system,
            messages=messages,
            tools=tools,
            max_tokens=self.preset.max_tokens,
            without=without,
        )
        del body["max_tokens"]
        body.pop("extra_body", None)
        sdk = _sdk()
        with contextlib.closing(
            sdk.Call(self.endpoint.url, self.endpoint.key, watch, limits)
        ) as call:
            try:
                counted: int = call.count(body)
            except (sdk.Refused, sdk.Broken, Malformed):
                watch.check()
                return None
        return counted

    def _heed(self, watch: Watch) -> None:
        if self.endpoint.stops is not None:
            watch.heed(self.endpoint.stops)

    def _open(
        self, call: "Call", body: dict[str, Any], without: request.Without
    ) -> request.Without | None:
        """Send the request; gives what to leave out when something optional is refused."""
        sdk = _sdk()
        try:
            call.open(body)
        except sdk.Refused as refused:
            refusal = faults.read(refused.status, refused.headers, refused.body)
            if less := without.after(refusal, body):
                return less
            # The chain ends here: what lies beyond quotes the request, and is logged by nobody.
            raise self._fault(refusal.kind, refusal=refusal) from None
        except sdk.Broken:
            call.watch.check()
            raise self._broken(call) from None
        return None

    def _read(self, call: "Call", watch: Watch) -> Iterator[Event]:
        sdk = _sdk()
        reply = Reply()
        try:
            for data in call.events():
                watch.check()
                if data.get("type") == "error":
                    refusal = faults.read_event(data)
                    raise self._fault(refusal.kind, refusal=refusal)
                yield from reply.feed(data)
                if reply.is_over:
                    break
            watch.check()
        except sdk.Broken:
            watch.check()
            raise self._broken(call) from None
        except Malformed:
            raise self._fault("malformed") from None
        end = reply.end()
        if end is None:
            raise self._fault("cut_off" if call.is_stream else "not_the_api")
        yield end
        call.drain()

    def _broken(self, call: "Call") -> ProviderFault:
        return self._fault(call.fault, seconds=call.seconds)

    def _fault(
        self, kind: str, *, seconds: float = 0.0, refusal: faults.Refusal | None = None
    ) -> ProviderFault:
        if kind == "key_refused" and not self.endpoint.key:
            kind = "no_key"
        logger.warning(
            "model request failed: %s, status %s, %s at %s",
            kind,
            refusal.status if refusal else "-",
            self.preset.model,
            self.endpoint.host,
        )
        fault = ProviderFault(
            kind,
            host=self.host,
            model=self.preset.model,
            seconds=seconds,
            retry_after=refusal.retry_after if refusal else None,
        )
        if refusal and refusal.should_retry is not None:
            fault.retryable = refusal.should_retry
        return fault

    @property
    def host(self) -> str:
        """What the endpoint is called in sentences."""
        return "The demo model" if self.endpoint.is_demo else self.endpoint.host

    @property
    def _name(self) -> tuple[str, str]:
        return self.endpoint.url, self.preset.model


class _Refusals:
    """What models of this process are known to refuse."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[float, request.Without]] = {}
        self._lock = threading.Lock()

    def get(self, name: tuple[str, str]) -> request.Without:
        since, without = self._known.get(name, (0.0, _NOTHING))
        return without if time.monotonic() - since < _REMEMBER_SECONDS else _NOTHING

    def put(self, name: tuple[str, str], without: request.Without) -> None:
        with self._lock:
            self._known[name] = (time.monotonic(), without)


_refused = _Refusals()


@functools.cache
def _sdk() -> ModuleType:
    """The module that uses the SDK. Its import takes more than a second and 60 MB, which the
    web process and every command would pay for nothing.
    """
    from jenny.agent import client  # noqa: PLC0415 - see above

    return client


def warm() -> None:
    """Import the SDK and read the certificates now, so that a worker's first turn does not
    wait for it (1 to 1.5 seconds)."""
    _sdk().prepare()
