"""What a request asks, as the rules see it."""

import json
import re
from dataclasses import dataclass
from typing import Any

# Paragraphs at a message's end that are marked as not the person's own words.
_CONTEXT = re.compile(r"\n\n(?:\[[^\]]*\]|\([^)]*\)|<(\w+)[^>]*>.*</\1>)\s*\Z", re.DOTALL)
# The rules look at no more than this, since their patterns are not made for books.
_SAID_CHARS = 8000
_CONTEXT_CHARS = 2000


class BadRequest(ValueError):
    """The request breaks the API's rules; the message says which one."""


@dataclass(frozen=True, slots=True)
class Say:
    """Text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


type Piece = Say | Think | Call


@dataclass(frozen=True, slots=True)
class Done:
    """A call that was made, and what it gave."""

    call: Call
    result: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, taken apart.

    *said* is what the person wrote last, *context* what stood behind it for the model alone,
    *earlier* what was written before, *done* the calls made since, in order.
    """

    system: str
    said: str
    context: str
    earlier: tuple[str, ...]
    done: tuple[Done, ...]
    tools: frozenset[str]
    # What the person wrote last, and before, whole: for rules that read line by line.
    whole: str = ""

    @property
    def words(self) -> str:
        """What was said last, in small letters, on one line."""
        return " ".join(self.said.lower().split())


def read(body: bytes) -> Asked:
    """Take a request's body apart. Raises ``BadRequest``."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("The request body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise BadRequest("The request body must be an object.")
    for name in ("model", "messages"):
        if not data.get(name):
            raise BadRequest(f"{name}: Field required")
    messages = [(message["role"], _blocks(message["content"])) for message in data["messages"]]
    _check(messages)
    spoken = [
        (index, text)
        for index, (role, blocks) in enumerate(messages)
        if role == "user" and (text := _text(blocks))
    ]
    last, text = spoken[-1] if spoken else (0, "")
    said, context = _without_context(text)
    said = said[:_SAID_CHARS]
    return Asked(
        system=_text(_blocks(data.get("system") or [])),
        said=said,
        context=context,
        earlier=tuple(_without_context(text)[0] for _, text in spoken[:-1]),
        done=tuple(_done(messages[last + 1 :])),
        tools=frozenset(tool["name"] for tool in data.get("tools") or []),
        whole="\n\n".join(text for _, text in spoken),
    )


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(blocks: list[dict[str, Any]]) -> str:
    return "\n\n".join(block["text"] for block in blocks if block["type"] == "text")


def _without_context(text: str) -> tuple[str, str]:
    found = _CONTEXT.search(text, max(len(text) - _CONTEXT_CHARS, 0))
    return (text[: found.start()], text[found.start() :].strip()) if found else (text, "")


def _check(messages: list[tuple[str, list[dict[str, Any]]]]) -> None:
    """What a provider refuses is refused here too, so that it shows before one is asked."""
    if messages[0][0] != "user":
        raise BadRequest("messages: first message must use the “user” role")
    waiting: set[str] = set()
    used: set[str] = set()
    for role, blocks in messages:
        if not blocks:
            raise BadRequest("messages: all messages must have non-empty content")
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != waiting:
            raise BadRequest("messages: each tool_use must have its tool_result right after it")
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) < len(calls) or used & set(calls) or (calls and role == "user"):
            raise BadRequest("messages: tool_use ids must be unique")
        waiting = set(calls)
        used |= waiting
    if waiting:
        raise BadRequest("messages: each tool_use must have its tool_result right after it")


def _done(messages: list[tuple[str, list[dict[str, Any]]]]) -> list[Done]:
    """The calls in these messages, with their results."""
    blocks = [block for _, blocks in messages for block in blocks]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    return [
        Done(
            Call(block["name"], block["input"]),
            _text(_blocks(results[block["id"]].get("content") or "")),
            not results[block["id"]].get("is_error"),
        )
        for block in blocks
        if block["type"] == "tool_use"
    ]
