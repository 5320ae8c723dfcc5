"""A model at an endpoint of the Messages API: builds requests and retries refused ones."""

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from jenny.agent import provider_errors
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Malformed, ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import Message, to_wire
from jenny.agent.preset import Endpoint, Preset
from jenny.agent.provider_errors import Refusal
from jenny.agent.reply import Counted, Event, Note, Reply, StepEnd
from jenny.agent.tokens import Usage

if TYPE_CHECKING:
    from jenny.agent.client import Call

# Parts that may be left out when a model refuses them, and the words for it.
OPTIONAL = {
    "temperature": "“{model}” takes no temperature; it was asked without one.",
    "cache_control": "{host} knows no prompt cache; it was asked without it.",
    "thinking": "“{model}” does not take the thinking setting; it was asked without it.",
    "tools": "“{model}” cannot use tools; it was asked without them.",
    "system": "“{model}” takes no system prompt; it went out as the first message instead.",
    "images": "“{model}” takes no pictures; their names and paths were sent instead.",
    "lists": "{host} takes messages only as plain text; they were sent that way.",
    "stream": "{host} does not stream; the reply comes in one piece.",
}
# A server that takes plain text alone takes no pictures either.
_NO_PICTURES = frozenset({"images", "lists"})
_SHORTER = "“{model}” writes at most {tokens} tokens at once; the limit was lowered to that."


@dataclass(frozen=True, slots=True)
class Without:
    """Parts of requests that a model refuses, and its known limits."""

    parameters: frozenset[str] = frozenset()
    most_tokens: int | None = None
    # The tokens that it reads at once, when it named them.
    window: int | None = None

    def after(self, refusal: Refusal, body: dict[str, Any]) -> Self | None:
        """Return what to leave out now, or ``None`` when the refusal is about nothing optional."""
        most = refusal.most_tokens
        if most is not None and 0 < most < body["max_tokens"]:
            return replace(self, most_tokens=most)
        if refusal.kind == "context_overflow":
            # A reply that may fill most of the window leaves no room for the request.
            if refusal.window and body["max_tokens"] > refusal.window // 2:
                most = refusal.window // 4
                return replace(self, most_tokens=most, window=refusal.window)
            return None
        for parameter in OPTIONAL:
            sent = parameter not in self.parameters and _has_block(body, parameter)
            if sent and refusal.refuses(parameter):
                return replace(self, parameters=self.parameters | {parameter})
        return None

    def said(self, before: Self, *, host: str, model: str) -> str:
        """Return the sentence on what is left out here but not in *before*."""
        for parameter in self.parameters - before.parameters:
            return OPTIONAL[parameter].format(host=host, model=model)
        return _SHORTER.format(model=model, tokens=self.most_tokens)


def build_request(
    preset: Preset,
    *,
    system: list[dict[str, Any]],
    messages: Sequence[Message],
    tools: list[dict[str, Any]],
    max_tokens: int,
    without: Without,
) -> dict[str, Any]:
    """Return the request's fields, for a reply of at most *max_tokens*."""
    most = min(max_tokens, without.most_tokens or max_tokens)
    body: dict[str, Any] = {
        "model": preset.model,
        "max_tokens": most,
        "system": system,
        "messages": to_wire(
            messages,
            thinking="thinking" not in without.parameters,
            images=preset.takes_pictures and not without.parameters & _NO_PICTURES,
        ),
    }
    if tools and "tools" not in without.parameters:
        body["tools"] = tools
    thinking = _thinking(preset.thinking, most)
    if thinking and "thinking" not in without.parameters:
        body["thinking"] = thinking
    if preset.temperature is not None and "temperature" not in without.parameters:
        # The SDK has no parameter for it any more; local servers have.
        body["extra_body"] = {"temperature": preset.temperature}
    _adapt(body, without)
    return body


def _adapt(body: dict[str, Any], without: Without) -> None:
    if "cache_control" in without.parameters:
        for name in ("system", "tools"):
            if name in body:
                body[name] = [_without_mark(block) for block in body[name]]
        for message in body["messages"]:
            message["content"] = [_without_mark(block) for block in message["content"]]
    if not body["system"]:
        del body["system"]
    elif "system" in without.parameters:
        _move_system(body)
    if "lists" in without.parameters:
        _flatten(body)
    if "stream" in without.parameters:
        body["stream"] = False


def _move_system(body: dict[str, Any]) -> None:
    system, messages = body.pop("system"), body["messages"]
    if messages and messages[0]["role"] == "user":
        messages[0]["content"] = [*system, *messages[0]["content"]]
    else:
        messages.insert(0, {"role": "user", "content": system})


def _flatten(body: dict[str, Any]) -> None:
    for place, name in ((body, "system"), *((message, "content") for message in body["messages"])):
        blocks = place.get(name)
        if blocks and all(block["type"] == "text" for block in blocks):
            place[name] = "\n\n".join(block["text"] for block in blocks)


def _thinking(setting: str, max_tokens: int) -> dict[str, Any] | None:
    if not setting:
        return None
    if setting == "off":
        return {"type": "disabled"}
    if setting.isdecimal():
        # A budget that leaves nothing for the reply is refused.
        budget = int(setting)
        return {"type": "enabled", "budget_tokens": budget} if budget < max_tokens else None
    return {"type": "adaptive"}


def _without_mark(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _has_block(body: dict[str, Any], parameter: str) -> bool:
    if parameter == "temperature":
        return "extra_body" in body
    if parameter == "thinking":
        # A provider also refuses the thinking of another model in the history.
        return parameter in body or any(
            "thinking" in block["type"]
            for message in body["messages"]
            for block in message["content"]
        )
    if parameter == "images":
        return any(
            block["type"] == "image" for message in body["messages"] for block in message["content"]
        )
    if parameter == "stream":
        return "stream" not in body
    return parameter in ("cache_control", "lists") or parameter in body


__all__ = ["Endpoint", "Preset", "Provider", "warm"]

logger = logging.getLogger(__name__)

# A refused parameter is remembered for this time; a local server may be replaced.
_REMEMBER_SECONDS = 3600.0
_NOTHING = Without()


class Provider:
    """A model at an endpoint. Cheap to create; the process shares the connections."""

    def __init__(self, endpoint: Endpoint, preset: Preset) -> None:
        self.endpoint = endpoint
        self.preset = preset

    def stream(
        self,
        *,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: CancellationToken,
        limits: Limits,
    ) -> Generator[Event, None, None]:
        """Request one reply and yield its events as they arrive; ``StepEnd`` comes last.

        A parameter that the model refuses is left out, with a ``Note``. Raises ``ProviderFault``,
        or ``Cancelled`` when the token says so; close the iterator when it is left early.
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
            # Counted tokens cost, also when the request fails.
            if counted is not None and self.endpoint.meter is not None:
                self.endpoint.meter.count(self.preset, counted)

    def counted_as(self, kind: str) -> "Provider":
        meter = self.endpoint.meter
        if meter is None:
            return self
        return Provider(replace(self.endpoint, meter=meter.of(kind)), self.preset)

    def _streamed(
        self,
        system: list[dict[str, Any]],
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        watch: CancellationToken,
        limits: Limits,
    ) -> Generator[Event, None, None]:
        while True:
            without = _refused.get(self._name)
            body = build_request(
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
        watch: CancellationToken,
        limits: Limits,
    ) -> int | None:
        """Return a request's tokens by the provider's count. Raises ``Cancelled``.

        ``None`` when it does not count (many local servers) or does not answer.
        """
        self._heed(watch)
        watch.check()
        without = _refused.get(self._name)
        body = build_request(
            self.preset,
            system=system,
            messages=messages,
            tools=tools,
            max_tokens=self.preset.max_tokens,
            without=without,
        )
        for name in ("max_tokens", "extra_body", "stream"):
            body.pop(name, None)
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

    def _heed(self, watch: CancellationToken) -> None:
        if self.endpoint.stops is not None:
            watch.add_check(self.endpoint.stops)

    def _open(self, call: "Call", body: dict[str, Any], without: Without) -> Without | None:
        """Send the request; return what to leave out when something optional is refused."""
        sdk = _sdk()
        try:
            call.open(body)
        except sdk.Refused as refused:
            refusal = provider_errors.read_refusal(refused.status, refused.headers, refused.body)
            if less := without.after(refusal, body):
                return less
            if refusal.kind == "context_overflow" and refusal.window:
                _refused.put(self._name, replace(without, window=refusal.window))
            # ``from None``: the causes quote the request, which must not be logged.
            raise self._fault(refusal.kind, refusal=refusal) from None
        except sdk.Broken:
            call.watch.check()
            raise self._broken(call) from None
        return None

    def _read(self, call: "Call", watch: CancellationToken) -> Iterator[Event]:
        sdk = _sdk()
        reply = Reply()
        try:
            for data in call.events():
                watch.check()
                if data.get("type") == "error":
                    refusal = provider_errors.read_error_event(data)
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
        if end is None and not call.is_stream:
            refusal = provider_errors.read_refusal(0, {}, call.text)
            kind = refusal.kind if refusal.type or refusal.kind == "context_overflow" else ""
            raise self._fault(kind or "not_the_api", refusal=refusal)
        if end is None:
            raise self._fault("cut_off")
        yield end
        call.drain()

    def _broken(self, call: "Call") -> ProviderFault:
        return self._fault(call.fault, seconds=call.seconds)

    def _fault(
        self, kind: str, *, seconds: float = 0.0, refusal: provider_errors.Refusal | None = None
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
            words=refusal.words(self.endpoint.key) if refusal else "",
            window=refusal.window if refusal else None,
        )
        if refusal and refusal.should_retry is not None:
            fault.retryable = refusal.should_retry
        return fault

    @property
    def window(self) -> int | None:
        """Return the tokens that the model reads at once, when its server named them lately."""
        return _refused.get(self._name).window

    @property
    def takes_pictures(self) -> bool:
        """False when the preset says so, or the model refused one lately."""
        refused = _refused.get(self._name).parameters
        return self.preset.takes_pictures and not refused & _NO_PICTURES

    @property
    def host(self) -> str:
        return "The demo model" if self.endpoint.is_demo else self.endpoint.host

    @property
    def _name(self) -> tuple[str, str]:
        return self.endpoint.url, self.preset.model


class _Refusals:
    """Parameters that models refused in this process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[float, Without]] = {}
        self._lock = threading.Lock()

    def get(self, name: tuple[str, str]) -> Without:
        since, without = self._known.get(name, (0.0, _NOTHING))
        return without if time.monotonic() - since < _REMEMBER_SECONDS else _NOTHING

    def put(self, name: tuple[str, str], without: Without) -> None:
        with self._lock:
            self._known[name] = (time.monotonic(), without)


_refused = _Refusals()


@functools.cache
def _sdk() -> ModuleType:
    """Import the SDK module on first use.

    It takes more than a second and 60 MB, which the web process and every command would waste.
    """
    from jenny.agent import client  # noqa: PLC0415 - see above

    return client


def warm() -> None:
    """Import the SDK and read the certificates before a worker's first turn (1 to 1.5 seconds)."""
    _sdk().prepare()
