"""Builds a reply from its stream, and defines the events of a reply in their order.

Accepts inexact implementations of the API: events without a start, calls whose arguments come whole
or not at all, missing counts.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jenny.agent.errors import Malformed
from jenny.agent.messages import Part, Text, Thinking, ToolUse, clean, clean_value
from jenny.agent.tokens import Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    message: str


@dataclass(frozen=True, slots=True)
class Counted:
    """The reply's tokens so far by the provider's count: they cost, however it ends."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class StepEnd:
    """The reply is complete.

    *stop_reason* is the API's own word (``end_turn``, ``tool_use``, …).
    """

    parts: tuple[Part, ...]
    stop_reason: str
    usage: Usage


type Event = TextDelta | ThinkingDelta | Note | Counted | StepEnd


# Levels of a call's arguments; no tool takes more than three.
_DEEPEST = 64
# A larger count is invalid, and fits no column.
_MOST_TOKENS = 10**12
# Stop reasons of other APIs, which some servers pass on.
_STOPS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "content_filtered": "refusal",
    "safety": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "sensitive": "refusal",
    "guardrail_intervened": "refusal",
}
_NOT_JSON = (
    "The arguments of this call were not a valid JSON object, so nothing was done. "
    "Call it again with valid arguments."
)


class _Words:
    """Text that arrives in pieces; half a surrogate pair waits for its other half."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Add a piece; return the text that can be shown now."""
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        shown = clean(piece)
        self._pieces.append(shown)
        return shown

    def whole(self) -> str:
        return "".join(self._pieces) + clean(self._half)


@dataclass(slots=True)
class _Block:
    kind: str
    start: dict[str, Any]
    words: _Words = field(default_factory=_Words)
    # Pieces of a call's arguments, as JSON.
    pieces: list[str] = field(default_factory=list)
    signature: str = ""


class Reply:
    """One reply as it arrives. ``feed`` raises ``Malformed``."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self.stop_reason = ""
        self.is_over = False

    def feed(self, data: dict[str, Any]) -> Iterator[Event]:
        match data.get("type"):
            case "message_start":
                yield self._count(_mapping(data, "message").get("usage"))
            case "content_block_start":
                yield from self._start(_index(data), _mapping(data, "content_block"))
            case "content_block_delta":
                yield from self._delta(_index(data), _mapping(data, "delta"))
            case "message_delta":
                yield self._count(data.get("usage"))
                reason = _mapping(data, "delta").get("stop_reason")
                if isinstance(reason, str):
                    self.stop_reason = _STOPS.get(reason.lower(), reason)
            case "message_stop":
                self.is_over = True
            case str():
                # The API adds kinds of events now and then; "ping" has no content.
                return
            case _:
                raise Malformed

    def end(self) -> StepEnd | None:
        """Return the whole reply, or ``None`` when it is incomplete.

        A cleanly cut stream ends like a complete one, but has no stop reason.
        """
        if not self.stop_reason:
            return None
        was_cut = self.stop_reason in {"max_tokens", "model_context_window_exceeded"}
        parts = [
            part
            for _, block in sorted(self._blocks.items())
            for part in _parts(block, was_cut=was_cut)
        ]
        return StepEnd(tuple(parts), self.stop_reason, self._usage())

    def _count(self, usage: Any) -> Counted:
        """Add counts; they are cumulative, so the last one of each kind counts."""
        if isinstance(usage, dict):
            self._counts.update(
                (name, count)
                for name, count in usage.items()
                if isinstance(count, int) and 0 <= count <= _MOST_TOKENS
            )
        return Counted(self._usage())

    def _usage(self) -> Usage:
        return Usage(
            input=self._counts.get("input_tokens", 0),
            output=self._counts.get("output_tokens", 0),
            cache_read=self._counts.get("cache_read_input_tokens", 0),
            cache_write=self._counts.get("cache_creation_input_tokens", 0),
        )

    def _start(self, index: int, start: dict[str, Any]) -> Iterator[Event]:
        block = self._blocks[index] = _Block(_string(start, "type"), start)
        if block.kind == "thinking":
            block.signature = str(start.get("signature") or "")
        for name in ("text", "thinking"):
            if block.kind == name and start.get(name):
                yield from self._delta(index, {"type": f"{name}_delta", name: start[name]})

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Event]:
        kind = _string(delta, "type")
        name = kind.removesuffix("_delta")
        block = self._blocks.setdefault(index, _Block(name, {}))
        match kind:
            case "text_delta":
                if shown := block.words.add(_string(delta, "text")):
                    yield TextDelta(shown)
            case "thinking_delta":
                if shown := block.words.add(_string(delta, "thinking")):
                    yield ThinkingDelta(shown)
            case "signature_delta":
                block.signature += _string(delta, "signature")
            case "input_json_delta":
                block.pieces.append(_string(delta, "partial_json"))


def _parts(block: _Block, *, was_cut: bool) -> Iterator[Part]:
    match block.kind:
        case "text":
            if (text := block.words.whole()).strip():
                yield Text(text)
        case "thinking":
            yield Thinking(block.words.whole(), block.signature)
        case "redacted_thinking":
            yield Thinking("", redacted=str(block.start.get("data") or ""))
        case "tool_use":
            # A call in a reply that was cut may lack half of its arguments.
            if not was_cut:
                yield _call(block)


def _call(block: _Block) -> ToolUse:
    id_, name = str(block.start.get("id") or ""), clean(str(block.start.get("name") or ""))
    given = block.start.get("input")
    text = "".join(block.pieces)
    try:
        # A call without arguments sends an empty text; NaN and the like are no JSON and could not
        # be sent back.
        arguments = (
            json.loads(text, parse_constant=_no_constant, parse_float=_finite)
            if text.strip()
            else given or {}
        )
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict) or _is_deeper(arguments, _DEEPEST):
        return ToolUse(id_, name, {}, problem=_NOT_JSON)
    return ToolUse(id_, name, clean_value(arguments))


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _finite(digits: str) -> float:
    """Parse a number; refuses numbers beyond the range of a float, such as ``1e999``."""
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number


def _is_deeper(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return False
    return any(isinstance(inner, dict | list) for inner in layer)


def _mapping(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    if not isinstance(value, dict):
        raise Malformed(name)
    return value


def _string(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise Malformed(name)
    return value


def _index(data: dict[str, Any]) -> int:
    value = data.get("index", 0)
    if not isinstance(value, int):
        raise Malformed(value)
    return value
